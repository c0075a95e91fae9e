"""Fixtures: a tiny model in an engine core, and its oracle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.engine.asking import MAX_NEW, MakeCore
from tests.engine.oracle import Oracle
from tests.engine.watched_executor import Step, WatchedExecutor
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor_loading import load_executor


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_core(tiny_model_dir: Path) -> MakeCore:
    def make(step: Step | None = None, **settings: object) -> EngineCore:
        """Return an engine of the tiny model; `step` observes or breaks its steps."""
        settings = {"num_slots": 4096, "audit": True, "max_step_rows": 8192, **settings}
        config = EngineConfig(model=str(tiny_model_dir), device="cpu", **settings)  # type: ignore[arg-type]
        if step is None:
            return EngineCore(config)
        return EngineCore(config, WatchedExecutor(load_executor(config)[0], step))

    return make


@pytest.fixture(scope="module")
def oracle(tiny_model_dir: Path) -> Oracle:
    return Oracle(tiny_model_dir, MAX_NEW)
