"""Captured decode steps on the strict device: a whole model replays the plan of the moment."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import CONTEXT_LEN, config_of, device_executor
from tests.device.strict import device, on_host
from tests.engine.asking import Answers, ask, run, tokens_of
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import Segment
from yaie.engine.core import EngineCore


def decode_plan(seed: int, lengths: list[int], num_slots: int = 256) -> StepPlan:
    """Return one row for each sequence of some length, over slots at random."""
    rng = np.random.default_rng(seed)
    slots = rng.permutation(num_slots)
    segments, own, first = [], [], 0
    for row, length in enumerate(lengths):
        path = slots[first : first + length].astype(np.int64)
        segments.append(Segment(path, 0, row, row + 1, 0))
        own.append(path[-1])
        first += length
    rows = np.arange(len(lengths))
    return StepPlan(
        token_ids=rng.integers(3, 400, len(lengths)),
        positions=np.array(lengths) - 1,
        slots=np.array(own),
        written_rows=rows,
        logit_rows=rows,
        segments=tuple(segments),
        kv_tokens_read=sum(lengths),
        kv_tokens_unshared=sum(lengths),
    )


def test_a_replayed_step_is_the_eager_one(tiny_model_dir: Path) -> None:
    """Of any number of rows and any plan, with the pool as earlier steps left it."""
    queue = DelayedQueue()
    config = config_of(tiny_model_dir)
    captured = device_executor(config, queue)
    eager = device_executor(config, queue, max_rows=0)
    assert captured.graphs is not None and captured.graphs.report.sizes == (1, 2, 4)
    assert eager.graphs is None
    for seed, lengths in enumerate([[5], [3, 9], [7, 1, 4], [2, 8, 30, 6], [11, 3, 2], [40]]):
        plan = decode_plan(seed, lengths)
        with device.forbid_waits():
            launched = captured.execute(plan)
        found, expected = on_host(launched), on_host(eager.execute(plan))
        assert found.shape == expected.shape == (len(lengths), 420)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        for mine, other in zip(captured.pool.tensors(), eager.pool.tensors(), strict=True):
            torch.testing.assert_close(on_host(mine)[:-1], on_host(other)[:-1])
    assert captured.graphs is not None and captured.graphs.num_replayed == 6


def test_other_steps_run_eagerly(tiny_model_dir: Path) -> None:
    executor = device_executor(config_of(tiny_model_dir), DelayedQueue())
    assert executor.graphs is not None
    for plan in (
        decode_plan(1, [3, 4, 5, 6, 7]),  # more rows than the largest graph
        decode_plan(2, [CONTEXT_LEN + 1]),  # more keys than the backend's buffers
    ):
        assert executor.execute(plan).shape[0] == plan.num_rows
    prefill = decode_plan(3, [4, 4])
    fields = {name: getattr(prefill, name) for name in StepPlan.__slots__}
    one_logit = StepPlan(**{**fields, "logit_rows": prefill.logit_rows[1:]})
    assert executor.execute(one_logit).shape[0] == 1
    assert executor.graphs.num_replayed == 0


def test_a_plan_baked_into_a_graph_is_caught(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The double itself under a mutation: positions taken from the host at capture."""
    from tests.device import padded_backend

    config = config_of(tiny_model_dir)
    eager = device_executor(config, DelayedQueue(), max_rows=0)
    real = padded_backend.PaddedStep.refill

    def refill(step: padded_backend.PaddedStep, plan: StepPlan) -> None:
        real(step, plan)
        step.longest = int(plan.positions.max())  # type: ignore[attr-defined]

    def attend(step, spec, queries, keys, *others):
        values = others[0]
        visible = torch.arange(CONTEXT_LEN, device=queries.device) <= step.longest
        slots = step._inputs.device["slots"]
        scores = torch.einsum(
            "rhgd,rkhd->rhgk",
            (queries * spec.scale).unflatten(1, (spec.num_kv_heads, -1)),
            keys[slots],
        ).masked_fill(~visible, -torch.inf)
        return torch.einsum("rhgk,rkhd->rhgd", scores.softmax(-1), values[slots]).flatten(1, 2)

    monkeypatch.setattr(padded_backend.PaddedStep, "refill", refill)
    monkeypatch.setattr(padded_backend.PaddedStep, "attend", attend)
    queue = DelayedQueue()
    captured = device_executor(config, queue, max_rows=1)
    plan = decode_plan(1, [9])
    assert not torch.allclose(on_host(captured.execute(plan)), on_host(eager.execute(plan)))


@pytest.fixture
def engines(tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch):
    """Return an engine on the CPU and one on the strict device."""
    hesitation = random.Random(1)
    queue = DelayedQueue(hesitate=lambda: hesitation.choice((0, 1, 5, 50, 500)))
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    config = config_of(tiny_model_dir)
    return EngineCore(config), EngineCore(config, device_executor(config, queue, max_rows=8))


REQUESTS = [
    ask("greedy", tokens_of(1, 20)),
    ask("random", tokens_of(1, 24), temperature=1.0, seed=4, n=2),
    ask("truncated", tokens_of(2, 9), temperature=0.8, top_p=0.9, top_k=30, seed=9, logprobs=2),
    ask("penalties", tokens_of(3, 5), presence_penalty=1.5, repetition_penalty=1.3),
    ask("biased", tokens_of(1, 12), logit_bias={5: 4.0}, temperature=1.3, seed=2),
]


def test_an_engine_on_the_device_answers_as_one_on_the_cpu(engines) -> None:
    """Prefill, captured decode steps, sampling with every kind of rule, and a cached prefix."""
    on_cpu, on_device = engines
    for _ in range(2):  # the second time from the cache
        expected: Answers = run(on_cpu, *REQUESTS)
        found = run(on_device, *REQUESTS)
        for name, index in expected.deltas:
            assert found.tokens(name, index) == expected.tokens(name, index)
    assert on_device.stats.num_replayed_steps > 10
    assert on_device.stats.num_failed == 0


def test_sizes_without_memory_run_eagerly(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DelayedQueue.capture
    sizes = iter([4, 2, 1])

    def capture(queue: DelayedQueue, program):
        if next(sizes) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(queue, program)

    monkeypatch.setattr(DelayedQueue, "capture", capture)
    executor = device_executor(config_of(tiny_model_dir), DelayedQueue())
    assert executor.graphs is not None and executor.graphs.report.sizes == (1, 2)
    assert executor.execute(decode_plan(1, [3, 4, 5])).shape[0] == 3
    assert executor.execute(decode_plan(1, [3, 4])).shape[0] == 2
    assert executor.graphs is not None and executor.graphs.num_replayed == 1


def test_a_model_that_waits_for_the_device_is_not_captured(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Model that counts tokens on the host, as a mixture of experts may."""
    from tests.device import padded_backend

    real = padded_backend.PaddedStep.attend

    def attend(step, spec, queries, *others):
        assert queries.abs().max().item() > 0
        return real(step, spec, queries, *others)

    monkeypatch.setattr(padded_backend.PaddedStep, "attend", attend)
    executor = device_executor(config_of(tiny_model_dir), DelayedQueue())
    assert executor.graphs is not None and executor.graphs.report.sizes == ()
    assert "cannot be captured" in caplog.text and "waits for the device" in caplog.text
    eager = device_executor(config_of(tiny_model_dir), DelayedQueue(), max_rows=0)
    plan = decode_plan(1, [3, 4])
    torch.testing.assert_close(on_host(executor.execute(plan)), on_host(eager.execute(plan)))
