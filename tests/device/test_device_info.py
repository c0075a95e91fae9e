"""The engine's description on a device: what it measured and chose there, for clients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import config_of, device_executor
from tests.server.conftest import applications
from tests.server.scripted_client import ScriptedClient
from yaie.base.types import EngineInfo
from yaie.engine.core import EngineCore
from yaie.text.tokenizer import load_tokenizer


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> DelayedQueue:
    queue = DelayedQueue()
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    return queue


def shown(folder: Path, info: EngineInfo) -> tuple[dict, str]:
    """Return `info` of `/stats`, and the text of `/metrics`."""
    client = ScriptedClient([5])
    client.info = info
    with applications(folder, load_tokenizer(folder)) as make_app:
        http, _ = make_app(client)
        return http.get("/stats").json()["info"], http.get("/metrics").text


def test_the_truncation_of_a_device_shows(tiny_model_dir: Path, queue: DelayedQueue) -> None:
    """The double has no kernel of it, and so says that torch truncates."""
    config = config_of(tiny_model_dir)
    on_cpu, on_device = EngineCore(config), EngineCore(config, device_executor(config, queue))
    assert on_cpu.info.truncation_kernel is None
    assert on_device.info.truncation_kernel == "torch"
    for info, value, label in (
        (on_cpu.info, None, ""),
        (on_device.info, "torch", "torch"),
        (replace(on_device.info, truncation_kernel="triton"), "triton", "triton"),
    ):
        in_stats, in_metrics = shown(tiny_model_dir, info)
        assert in_stats["truncation_kernel"] == value
        assert f'truncation_kernel="{label}"' in in_metrics
