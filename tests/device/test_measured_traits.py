"""The figures of a device that attention is chosen by: measured, reported, and used."""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import CONTEXT_LEN, config_of, on_device
from tests.device.padded_backend import PaddedBackend
from tests.device.test_device_info import shown
from yaie.attention import measure_traits as measuring
from yaie.attention.auto_backend import AutoBackend
from yaie.attention.cost_model import DeviceTraits
from yaie.attention.measure_traits import measure_traits
from yaie.device.cuda import CudaQueue
from yaie.device.queue import PlainQueue
from yaie.engine.core import EngineCore
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.load.loader import load_model

MIB = 1024**2
COPY_BYTES = 4096


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> DelayedQueue:
    """The queue of a device that copies 4 KiB four times in a millisecond."""
    monkeypatch.setattr(measuring, "_COPY_BYTES", COPY_BYTES)
    queue = DelayedQueue()
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    queue.seconds_now, queue.cache_now = 1e-3, 50 * MIB
    return queue


def test_bandwidth_is_that_of_copies(queue: DelayedQueue, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    traits = measure_traits(queue)
    assert traits.bytes_per_s == pytest.approx(2 * 4 * COPY_BYTES / 1e-3)  # read and written
    assert traits.cache_bytes == 50 * MIB
    assert traits.uncaptured_layer_s == DeviceTraits().uncaptured_layer_s
    assert "0.00 TB/s of memory and 50 MiB of cache" in caplog.text


def test_the_best_of_several_trials_counts(
    queue: DelayedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([1e-6, 5e-3, 2e-3, 4e-3])  # of the clock's own trial first
    monkeypatch.setattr(DelayedQueue, "device_seconds", lambda queue, run: next(answers))
    assert measure_traits(queue).bytes_per_s == pytest.approx(2 * 4 * COPY_BYTES / 2e-3)


def test_a_cache_is_as_fast_as_the_memory_behind_it(queue: DelayedQueue) -> None:
    queue.seconds_now = 1e-10
    traits = measure_traits(queue)
    assert traits.cached_bytes_per_s == traits.bytes_per_s > DeviceTraits().cached_bytes_per_s


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_without_a_clock_the_figures_are_the_defaults(
    queue: DelayedQueue, seconds: float | None
) -> None:
    queue.seconds_now = seconds
    assert measure_traits(queue) == DeviceTraits()


def test_a_cpu_is_not_measured() -> None:
    assert measure_traits(PlainQueue(torch.device("cpu"))) == DeviceTraits()


def test_without_memory_the_figures_are_the_defaults(
    queue: DelayedQueue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def zeros(*arguments: object, **options: object) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch, "zeros", zeros)
    assert measure_traits(queue) == DeviceTraits()
    assert "was not measured: CUDA out of memory" in caplog.text


def core_of(folder: Path, backend: AutoBackend) -> EngineCore:
    loaded = on_device(load_model(config_of(folder), may_pack=False))
    backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
    executor = TransformersExecutor(loaded, backend, PoolMemory(loaded, None, "NHD"))
    return EngineCore(config_of(folder), executor)


def test_an_engine_measures_its_device_and_tells(tiny_model_dir: Path, queue: DelayedQueue) -> None:
    backends = {"cascade": PaddedBackend(queue, CONTEXT_LEN)}
    measured = measure_traits(queue)
    core = core_of(tiny_model_dir, AutoBackend(backends, queue=queue))  # type: ignore[arg-type]
    assert core.executor.attention_traits == measured != DeviceTraits()
    in_stats, _ = shown(tiny_model_dir, core.info)
    assert in_stats["attention_traits"] == asdict(measured)
    assert in_stats["attention_backend"] == "reference"


def test_given_figures_are_kept(tiny_model_dir: Path, queue: DelayedQueue) -> None:
    backends = {"cascade": PaddedBackend(queue, CONTEXT_LEN)}
    given = DeviceTraits(bytes_per_s=1e9)
    core = core_of(tiny_model_dir, AutoBackend(backends, given, queue=queue))  # type: ignore[arg-type]
    assert core.executor.attention_traits is given


def test_without_a_choice_there_are_no_figures(tiny_model_dir: Path) -> None:
    assert EngineCore(config_of(tiny_model_dir)).info.attention_traits == {}


class _Event:
    """Stand-in for `torch.cuda.Event`, on a stream whose operations take a second each."""

    now = 0.0
    num_waits = 0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing

    def record(self, stream: str) -> None:
        assert stream == "current"
        self._at = _Event.now

    def synchronize(self) -> None:
        _Event.num_waits += 1

    def elapsed_time(self, end: _Event) -> float:
        assert _Event.num_waits == 1
        return 1000 * (end._at - self._at)  # milliseconds, as torch's


def test_a_cuda_queue_times_by_events_and_asks_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cuda", 1)
    monkeypatch.setattr(torch.cuda, "Event", _Event)
    monkeypatch.setattr(torch.cuda, "current_stream", {device: "current"}.__getitem__)
    properties = {device: SimpleNamespace(L2_cache_size=40 * MIB)}
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties.__getitem__)

    def run() -> None:
        _Event.now += 3

    assert CudaQueue(device).device_seconds(run) == 3
    assert CudaQueue(device).cache_bytes() == 40 * MIB
