"""Pooled hidden rows: requests that end after their prompt, beside others that generate."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.embedding_model import plain_states
from tests.engine.fake_model import Bench, prompt_of_pooled
from tests.engine.fake_model import make_prompt as prompt
from tests.tiny_model import VOCAB_SIZE
from yaie.base.embedding_info import Pooling
from yaie.base.settings import AttentionBackendName, EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.engine.core import EngineCore
from yaie.engine.request import PooledPass

TOLERANCE = 1e-4


@pytest.mark.parametrize("seed", range(12))
def test_any_schedule_pools_the_right_rows(seed: int) -> None:
    """Chunks, shared prefixes and company change no row that is pooled."""
    rng = random.Random(seed)
    bench = Bench(
        max_step_rows=rng.choice([5, 32]),
        max_running=rng.choice([3, 16]),
        num_slots=70 if seed % 2 else 400,
    )
    for number in range(14):
        pooling: Pooling | None = rng.choice(["last", "mean", None])
        length = rng.randint(1, 30)
        tokens = prompt(rng.randrange(4), length, shared=rng.randint(0, length))
        logprobs = rng.choice([None, None, 0])
        bench.add(f"r{number}", tokens, pooling=pooling, prompt_logprobs=logprobs)
        for _ in range(rng.choice([0, 1, 3])):
            bench.step()
    bench.run()
    for name, request in bench.requests.items():
        answer = bench.answers[(name, 0)]
        assert answer.last is not None
        if request.pooling is None:
            bench.expect(name, "length")
            continue
        assert answer.last.finish_reason == "stop"
        assert not answer.tokens
        assert np.frombuffer(answer.last.pooled, "<f4") == pytest.approx(prompt_of_pooled(request))
    assert bench.tree.num_live == 0


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_preempted_pass_pools_the_right_rows(pooling: Pooling) -> None:
    """Answers that outgrow the pool take the slots of a pass that has some of its rows."""
    bench = Bench(max_step_rows=2, max_running=8, num_slots=84)
    bench.add("text", prompt(0, 4), max_new=75)
    bench.step()
    bench.add("pooled", prompt(9, 45), pooling=pooling)  # one row a step beside the answer
    begun = False
    while bench.step() is not None:
        for sequence in bench.scheduler.suspended:
            assert isinstance(sequence, PooledPass)
            assert sequence.cursor is None
            begun |= bench.scheduler.stats.rows_computed > 40
    assert bench.scheduler.stats.num_preemptions
    assert begun
    for name, request in bench.requests.items():
        last = bench.answers[(name, 0)].last
        assert last is not None
        if request.pooling is None:
            bench.expect(name, "length")
        else:
            assert np.frombuffer(last.pooled, "<f4") == pytest.approx(prompt_of_pooled(request))


def test_a_cached_prompt_costs_one_row_by_its_last_token_and_all_rows_by_the_mean() -> None:
    bench = Bench(num_slots=400)
    tokens = prompt(1, 30)
    bench.add("first", tokens, pooling="last")
    bench.run()
    rows = bench.scheduler.stats.rows_computed
    assert rows == 30
    bench.add("again", tokens, pooling="last")
    bench.run()
    last = bench.answers[("again", 0)].last
    assert last is not None
    assert bench.scheduler.stats.rows_computed == rows + 1
    assert last.num_cached_tokens == 29
    bench.add("mean", tokens, pooling="mean")
    bench.run()
    mean = bench.answers[("mean", 0)].last
    assert mean is not None
    assert bench.scheduler.stats.rows_computed == rows + 1 + 30
    assert mean.num_cached_tokens == 0


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_rows_are_those_of_transformers(
    tiny_model_dir: Path, backend: AttentionBackendName
) -> None:
    """In both executors, in chunks, cold and warm, beside requests that generate."""
    config = EngineConfig(
        model=str(tiny_model_dir),
        dtype="float32",
        attention_backend=backend,
        num_slots=300,
        max_step_rows=24,
        max_running=6,
        max_model_len=100,
        weights_cache="off",
        audit=True,
    )
    core = EngineCore(config)
    assert core.info.execution == ("native" if backend == "auto" else "transformers")
    states = plain_states(tiny_model_dir)
    rng = random.Random(3)
    bases = [tuple(rng.randrange(3, VOCAB_SIZE) for _ in range(30)) for _ in range(2)]
    ended: dict[str, TokenDelta] = {}
    asked: dict[str, GenerationRequest] = {}
    for number in range(30):
        own = tuple(rng.randrange(3, VOCAB_SIZE) for _ in range(rng.randint(1, 30)))
        request = GenerationRequest(
            request_id=f"r{number}",
            prompt_token_ids=bases[number % 2][: rng.randint(0, 30)] + own,
            sampling=SamplingParams(max_tokens=5),
            pooling=rng.choice(["last", "mean", None]),
        )
        asked[request.request_id] = request
        core.add(request)
        for _ in range(rng.choice([0, 1, 2])):
            ended |= {each.request_id: each for each in core.step() if each.finish_reason}
    while core.has_work:
        ended |= {each.request_id: each for each in core.step() if each.finish_reason}
    for name, request in asked.items():
        assert ended[name].error is None
        if request.pooling is not None:
            rows = states(request.prompt_token_ids)
            wanted = rows[-1] if request.pooling == "last" else rows.mean(axis=0)
            assert np.abs(np.frombuffer(ended[name].pooled, "<f4") - wanted).max() < TOLERANCE
    core.close()
