"""Programs of sampling that are captured before any caller waits, on the strict device."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import config_of, device_executor
from tests.device.strict import device, to_device
from tests.engine.asking import ask, run, tokens_of
from tests.engine.sampling import GREEDY, VOCAB, state_of, task
from yaie.base.types import SamplingParams
from yaie.device.buckets import buckets_up_to
from yaie.device.queue import PlainQueue
from yaie.engine.core import EngineCore
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.sampling.device.device_truncation import PlainTruncation
from yaie.engine.sampling.device.program import SamplingProgram

MAX_TASKS = 8


class Skipping(PlainTruncation):
    """A truncation that costs nothing where it is off, as the kernel of a GPU."""

    skips_rows = True


COMMON = [GREEDY, {}, {"temperature": 0.5}]
TRUNCATED = [{"top_p": 0.8}, {"top_k": 20, "top_p": 0.9}, {"min_p": 0.1}, {"top_k": 3}]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("truncation", "kinds"),
    [(PlainTruncation(), COMMON), (Skipping(), [*COMMON, *TRUNCATED])],
)
def test_prepared_programs_serve_common_requests_from_the_first_step_on(truncation, kinds) -> None:
    """Of every number of tasks, without a further program, capture or wait."""
    queue = DelayedQueue()
    sampler = DeviceSampler(VOCAB, queue, max_tasks=MAX_TASKS, truncation=truncation)
    sampler.prepare()
    num_sizes = len(buckets_up_to(MAX_TASKS))
    assert sampler.num_captured == 2 * num_sizes
    for count in range(1, MAX_TASKS + 1):
        for first in range(len(kinds)):
            mixed = [kinds[(first + i) % len(kinds)] for i in range(count)]
            for kws in (mixed, [kinds[first]] * count):
                tasks = [
                    task(i, state_of(SamplingParams(seed=first, **kw), vocab_size=VOCAB, index=i))
                    for i, kw in enumerate(kws)
                ]
                logits = torch.randn(count, VOCAB) * 2
                rows = to_device(logits)
                with device.forbid_waits():
                    launched = sampler.launch(rows, tasks)
                assert launched._on_way is not None and launched._on_way[0].is_captured
                assert launched.results() == CpuSampler(VOCAB).sample(logits, tasks)
    assert (sampler.num_captured, sampler.num_late_captures) == (2 * num_sizes, 0)


def test_prepared_programs_outlast_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.engine.sampling.device.device_sampler._MOST_PROGRAMS", 2)
    sampler = DeviceSampler(VOCAB, DelayedQueue(), max_tasks=4)
    sampler.prepare()
    kinds = [{"logprobs": 1}, {"min_p": 0.1}, {"top_k": 5}, {"top_p": 0.5}, {"logit_bias": {3: 5}}]
    logits = to_device(torch.randn(4, VOCAB))
    for count, kw in product(range(1, 5), [*kinds, GREEDY, {}]):
        state = state_of(SamplingParams(**kw), vocab_size=VOCAB)
        launched = sampler.launch(logits, [task(i, state) for i in range(count)])
        assert launched._on_way is not None
        assert launched._on_way[0].is_captured is (kw in (GREEDY, {}))
        launched.results()
    assert sum(map(len, sampler._idle.values())) == 2 * 3 + 2


def test_a_late_capture_is_counted() -> None:
    sampler = DeviceSampler(VOCAB, DelayedQueue(), max_tasks=2)
    sampler.prepare()
    before, logits = sampler.num_captured, to_device(torch.randn(1, VOCAB))
    for _ in range(20):
        sampler.sample(logits, [task(0, state_of(SamplingParams(logprobs=1), vocab_size=VOCAB))])
    assert (sampler.num_captured - before, sampler.num_late_captures) == (1, 1)


def test_sizes_without_memory_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, calls = SamplingProgram.launch, iter(range(100))

    def launch(program: SamplingProgram, *arguments: object) -> None:
        if next(calls) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        real(program, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(SamplingProgram, "launch", launch)
    sampler = DeviceSampler(VOCAB, DelayedQueue(), max_tasks=MAX_TASKS)
    sampler.prepare()
    assert sampler.num_captured == 3
    assert "sampling of 4 tokens is not captured: CUDA out of memory" in caplog.text
    logits = torch.randn(2, VOCAB)
    tasks = [task(i, state_of(SamplingParams(**GREEDY), vocab_size=VOCAB)) for i in range(2)]
    found = sampler.sample(to_device(logits), tasks)
    assert found == CpuSampler(VOCAB).sample(logits, tasks)


def test_a_cpu_prepares_nothing() -> None:
    sampler = DeviceSampler(VOCAB, PlainQueue(torch.device("cpu")), max_tasks=MAX_TASKS)
    sampler.prepare()
    assert sampler.num_captured == 0


def test_an_engine_prepares_sampling_in_its_warm_up(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late captures are those of requests with rules alone."""
    queue = DelayedQueue()
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    config = config_of(tiny_model_dir, max_running=4)
    core = EngineCore(config, device_executor(config, queue))
    core.warm_up()
    run(
        core,
        *(ask(f"random {i}", tokens_of(i, 5), temperature=1.0, max_tokens=20) for i in range(3)),
        ask("greedy", tokens_of(7, 5), max_tokens=30),
    )
    assert core.stats.num_late_captures == 0
    run(core, ask("biased", tokens_of(3, 5), logit_bias={5: 1.0}, max_tokens=20))
    assert core.stats.num_late_captures == 1
