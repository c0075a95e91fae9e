"""The device's memory in the statistics: on the double of a device, and absent on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import config_of, device_executor
from tests.engine.asking import ask, tokens_of
from tests.server.conftest import applications
from tests.server.scripted_client import ScriptedClient
from yaie.base.stats import EngineStats
from yaie.base.types import EngineState
from yaie.device.queue import DeviceMemory
from yaie.engine.core import EngineCore
from yaie.engine.execution.memory import INTERVAL_S, DeviceMemoryGauge
from yaie.server.metrics.prometheus import Metrics, Snapshot
from yaie.text.tokenizer import load_tokenizer

GIB = 2**30
MEMORY = DeviceMemory(used=61 * GIB, total=80 * GIB, reserved=57 * GIB)
FIELDS = ("device_used_bytes", "device_total_bytes", "device_reserved_bytes")


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> DelayedQueue:
    """The queue of the double of a device."""
    queue = DelayedQueue()
    queue.memory_now = MEMORY
    for module in ("execution.executor_choice", "execution.memory"):
        monkeypatch.setattr(f"yaie.engine.{module}.make_queue", lambda _: queue)
    return queue


def memory_of(stats: EngineStats) -> tuple[int | None, ...]:
    return tuple(getattr(stats, name) for name in FIELDS)


def finish(core: EngineCore, name: str) -> int:
    """Run a request and read the statistics after each step, as clients do; count the steps."""
    core.add(ask(name, tokens_of(1, 6), max_tokens=8))
    steps = 0
    while core.has_work:
        core.step()
        assert core.stats.device_total_bytes == MEMORY.total
        steps += 1
    return steps


def test_an_engine_tells_its_devices_memory(tiny_model_dir: Path, queue: DelayedQueue) -> None:
    config = config_of(tiny_model_dir)
    core = EngineCore(config, device_executor(config, queue))
    assert memory_of(core.stats) == (MEMORY.used, MEMORY.total, MEMORY.reserved)
    tokenizer = load_tokenizer(tiny_model_dir)
    client = ScriptedClient([5])
    client.stats = core.stats
    with applications(tiny_model_dir, tokenizer) as make_app:
        http, _ = make_app(client)
        text, answer = http.get("/metrics").text, http.get("/stats").json()
        series = http.get("/metrics", headers={"Accept": "application/json"}).json()
    assert [answer["stats"][name] for name in FIELDS] == [61 * GIB, 80 * GIB, 57 * GIB]
    assert [series[f"yaie_{name}"] for name in FIELDS] == [61 * GIB, 80 * GIB, 57 * GIB]
    assert "# TYPE yaie_device_used_bytes gauge\nyaie_device_used_bytes 6.5498251264e+10\n" in text


def test_steps_and_frequent_readers_cost_no_measurement(
    tiny_model_dir: Path, queue: DelayedQueue
) -> None:
    now = [100.0]
    core = EngineCore(config_of(tiny_model_dir))
    core._memory = DeviceMemoryGauge(queue.device, clock=lambda: now[0])
    assert finish(core, "a") > 4
    assert queue.num_measurements == 1
    now[0] += INTERVAL_S
    assert finish(core, "b") > 4
    assert queue.num_measurements == 2
    now[0] += 60 * INTERVAL_S
    core.add(ask("c", tokens_of(2, 6), max_tokens=8))
    while core.has_work:
        core.step()
    assert queue.num_measurements == 2  # steps alone measure no memory


def test_a_measurement_is_kept_for_a_second(queue: DelayedQueue) -> None:
    now = [100.0]
    gauge = DeviceMemoryGauge(queue.device, clock=lambda: now[0])
    assert queue.num_measurements == 0
    gauge.report(first := EngineStats())
    queue.memory_now = DeviceMemory(used=2, total=3, reserved=1)
    now[0] += INTERVAL_S - 0.01
    gauge.report(second := EngineStats())
    assert memory_of(first) == memory_of(second) == (61 * GIB, 80 * GIB, 57 * GIB)
    now[0] += 0.01
    gauge.report(third := EngineStats())
    assert memory_of(third) == (2, 3, 1)


def test_a_cpu_has_none(tiny_model_dir: Path) -> None:
    stats = EngineCore(config_of(tiny_model_dir)).stats
    assert memory_of(stats) == (None, None, None)
    metrics = Metrics(lambda: {"tiny": Snapshot(EngineState.READY, None, stats)})
    assert b"yaie_num_free_slots" in metrics.text()
    assert b"yaie_device_" not in metrics.text()


def test_of_several_models_those_on_a_device_have_series() -> None:
    on_cpu = Snapshot(EngineState.READY, None, EngineStats())
    on_device = Snapshot(EngineState.READY, None, EngineStats(device_used_bytes=7))
    values = Metrics(lambda: {"a": on_cpu, "b": on_device}).values()
    found = {name: value for name, value in values.items() if name.startswith("yaie_device_")}
    assert found == {'yaie_device_used_bytes{model="b"}': 7.0}


def test_a_cuda_queue_asks_the_driver_and_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two calls of torch are replaced: they need a driver."""
    from yaie.device.cuda import CudaQueue

    device = torch.device("cuda", 1)
    free = {device: (19 * GIB, 80 * GIB)}
    monkeypatch.setattr(torch.cuda, "mem_get_info", free.__getitem__)
    monkeypatch.setattr(torch.cuda, "memory_reserved", {device: 57 * GIB}.__getitem__)
    assert CudaQueue(device).memory() == MEMORY
