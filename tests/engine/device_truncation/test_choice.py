"""The choice of a truncation: by the device, and by its first launch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings

from tests.engine.device_truncation.rows import Rows, check, rows
from tests.engine.sampling import state_of, task
from yaie.base.types import SamplingParams
from yaie.device.queue import DeviceQueue, PlainQueue
from yaie.engine.sampling.device import truncation_choice as choosing
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.sampling.device.device_truncation import Limits, PlainTruncation
from yaie.engine.sampling.device.truncation_choice import check_truncation, choose_truncation
from yaie.engine.scheduled_step import SampleTask

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
LAUNCHES = "yaie.engine.sampling.device.truncation_kernel"


def queue_and_tasks() -> tuple[DeviceQueue, Callable[[int], list[SampleTask]]]:
    """Return a queue, and tasks of a step whose limits depend on its number."""

    def tasks(step: int) -> list[SampleTask]:
        params = [
            SamplingParams(seed=step, top_k=3 + step + i, top_p=0.9 - step / 10, min_p=0.001)
            for i in range(4)
        ]
        return [task(i, state_of(each, vocab_size=50)) for i, each in enumerate(params)]

    return PlainQueue(CPU), tasks


class _TooMany(PlainTruncation):
    """A kernel that keeps one token more."""

    name = "triton"

    def truncate(self, scaled: torch.Tensor, spare: torch.Tensor, limits: Limits) -> None:
        more = Limits(
            limits.least,
            limits.num_kept + 1,
            limits.shares,
            has_min_p=limits.has_min_p,
            has_top_k=limits.has_top_k,
            has_top_p=limits.has_top_p,
        )
        super().truncate(scaled, spare, more)


class _NoCompiler(PlainTruncation):
    name = "triton"

    def truncate(self, scaled: torch.Tensor, spare: torch.Tensor, limits: Limits) -> None:
        raise RuntimeError("no C compiler\nand much more")


class _Overwriting(PlainTruncation):
    """A truncation that uses its spare memory."""

    def truncate(self, scaled: torch.Tensor, spare: torch.Tensor, limits: Limits) -> None:
        assert spare.shape == scaled.shape and spare.data_ptr() != scaled.data_ptr()
        super().truncate(scaled, spare, limits)
        spare.fill_(torch.nan)


@settings(max_examples=30)
@given(rows(most=300))
def test_torch_keeps_the_tokens_of_the_cpus_sampler(batch: Rows) -> None:
    check(batch, PlainTruncation())


def test_a_cpu_truncates_by_torch() -> None:
    assert choose_truncation(CPU, 5000).name == "torch"


@pytest.mark.parametrize(
    ("kernel", "why"),
    [(_TooMany, "keeps other tokens"), (_NoCompiler, "no C compiler")],
)
def test_a_failing_kernel_is_left_out(
    kernel: type[PlainTruncation],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(choosing, "check_triton", lambda: None)
    monkeypatch.setitem(sys.modules, LAUNCHES, SimpleNamespace(TritonTruncation=kernel))
    monkeypatch.setattr(
        choosing, "check_truncation", lambda found, *_: check_truncation(found, CPU, 5000)
    )
    assert choose_truncation(CUDA, 5000).name == "torch"
    assert why in caplog.text and "much more" not in caplog.text


def test_a_working_kernel_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = SimpleNamespace(TritonTruncation=_Overwriting)
    monkeypatch.setattr(choosing, "check_triton", lambda: None)
    monkeypatch.setitem(sys.modules, LAUNCHES, kernel)
    monkeypatch.setattr(
        choosing, "check_truncation", lambda found, *_: check_truncation(found, CPU, 5000)
    )
    assert isinstance(choose_truncation(CUDA, 5000), _Overwriting)


def test_without_triton_torch_truncates(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(choosing, "check_triton", lambda: "Triton is not installed; pip install it")
    assert choose_truncation(CUDA, 5000).name == "torch"
    assert "Triton is not installed" in caplog.text


@pytest.mark.parametrize("more", [{}, {"logit_bias": {3: 2.0}, "logprobs": 3}])
def test_the_spare_memory_of_a_truncation_serves_nothing_else(more) -> None:
    logits = torch.randn(4, 50)
    params = [SamplingParams(seed=i, top_k=9, top_p=0.9, **more) for i in range(4)]
    tasks = [task(i, state_of(each, vocab_size=50)) for i, each in enumerate(params)]
    found, expected = (
        DeviceSampler(50, PlainQueue(CPU), max_tasks=4, truncation=each).sample(logits, tasks)
        for each in (_Overwriting(), PlainTruncation())
    )
    assert found == expected
