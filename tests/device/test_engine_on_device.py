"""A whole engine on the strict device answers as the engine on the CPU, under random schedules."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import CONTEXT_LEN, config_of, device_executor
from tests.engine.asking import Answers, ask, tokens_of
from yaie.base.types import GenerationRequest, Grammar
from yaie.engine.core import EngineCore

NUM_SCHEDULES = 12


def random_request(draw: random.Random, name: str) -> GenerationRequest:
    """Return a request that shares its first tokens with others, with rules at random."""
    shared = tokens_of(draw.choice((1, 2)), draw.choice((0, 8, 20)))
    prompt = (*shared, *tokens_of(draw.randrange(100), draw.randint(1, 8)))
    sampling: dict[str, object] = {"seed": draw.randrange(1000), "n": draw.choice((1, 1, 2))}
    for field, value in (
        ("temperature", draw.choice((0.0, 0.7, 1.0))),
        ("top_p", 0.9),
        ("top_k", 12),
        ("min_p", 0.02),
        ("repetition_penalty", 1.2),
        ("frequency_penalty", 0.5),
        ("logit_bias", {7: 3.0, 9: -5.0}),
        ("allowed_token_ids", tuple(range(5, 300))),
        ("bad_words_token_ids", ((11,), (20, 21))),
        ("logprobs", draw.choice((0, 3))),
        ("prompt_logprobs", 1),
    ):
        if draw.random() < 0.25:
            sampling[field] = value
    if draw.random() < 0.2:
        # Forced tokens would come in steps of their own; a choice leaves some to sample.
        grammar = Grammar.regex("[a-f]{4,12}")
        sampling.pop("allowed_token_ids", None)
        request = ask(name, prompt, max_tokens=14, **{**sampling, "ignore_eos": False})
        return GenerationRequest(
            request_id=name,
            prompt_token_ids=prompt,
            sampling=request.sampling,
            grammar=grammar,
        )
    return ask(name, prompt, max_tokens=draw.randint(1, 16), **sampling)


def run_schedule(core: EngineCore, seed: int) -> Answers:
    """Add requests between steps, and abort some; the schedule is a function of the seed."""
    draw, answers, number = random.Random(seed), Answers(), 0
    while core.has_work or number < 14:
        while number < 14 and (not core.has_work or draw.random() < 0.5):
            core.add(random_request(draw, f"r{number}"))
            number += 1
        answers.take(core.step())
    return answers


@pytest.mark.parametrize(
    "seed",
    [0, *(pytest.param(seed, marks=pytest.mark.integration) for seed in range(1, NUM_SCHEDULES))],
)
def test_answers_are_those_of_the_cpu(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The pool is small, so that paths are evicted."""
    hesitation = random.Random(seed)
    queue = DelayedQueue(hesitate=lambda: hesitation.choice((0, 1, 5, 50, 500)))
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    config = config_of(tiny_model_dir, num_slots=2 * CONTEXT_LEN, max_running=6, max_step_rows=32)
    on_device = EngineCore(config, device_executor(config, queue, max_rows=4))
    expected = run_schedule(EngineCore(config), seed)
    found = run_schedule(on_device, seed)
    assert found.deltas.keys() == expected.deltas.keys()
    for name, index in expected.deltas:
        assert found.tokens(name, index) == expected.tokens(name, index)
        mine, other = found.last(name, index), expected.last(name, index)
        assert (mine.finish_reason, mine.stop_token_id) == (
            other.finish_reason,
            other.stop_token_id,
        )
    assert on_device.stats.num_replayed_steps > 5
    assert on_device.stats.num_failed == 0 < on_device.stats.num_evicted_nodes
    on_device.check()
