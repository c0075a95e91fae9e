"""Adapters in the fused decoder on the strict device: captured steps serve all that are loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.adapters import merge, write_adapter
from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import MAX_ROWS, config_of, device_executor
from tests.device.strict import device, on_host
from tests.device.test_decode_graphs import decode_plan
from tests.engine.asking import ask, run, tokens_of
from tests.models.zoo_models import fuse
from yaie.attention.plan import StepPlan
from yaie.base.errors import InvalidRequest, NotEnoughMemory
from yaie.base.queries import LoadAdapter, UnloadAdapter
from yaie.engine.core import EngineCore
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.adapters.adapter import Adapter, read_adapter
from yaie.models.fused.adapter_pools import AdapterPools
from yaie.models.fused.plain import PlainOperations
from yaie.models.load.loader import load_model

RANKS = {"a": 4, "b": 33, "c": 16}
LENGTHS = [[5], [3, 9], [7, 1, 4], [2, 8, 30, 6]]


@pytest.fixture(scope="module")
def adapters(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    model = plain_model(tiny_model_dir)
    for seed, (name, rank) in enumerate(RANKS.items()):
        layers = {"layers": ("q_proj", "up_proj", "down_proj")} if name == "c" else {}
        write_adapter(folder / name, model, seed=seed, rank=rank, size=0.1, **layers)
    return folder


def plain_model(folder: Path) -> Any:
    return load_model(config_of(folder), may_pack=False).model


@pytest.fixture(scope="module")
def merged(tiny_model_dir: Path, adapters: Path) -> dict[str, TransformersExecutor]:
    """Return executors of the plain models on the device, by adapter."""
    found = {}
    for name in ("", *RANKS):
        executor = device_executor(config_of(tiny_model_dir), DelayedQueue(), max_rows=0)
        if name:
            model = plain_model(tiny_model_dir)
            merge(model, adapters / name, 2.0)
            for mine, other in zip(
                executor.loaded.model.parameters(),  # type: ignore[union-attr]
                model.parameters(),
                strict=True,
            ):
                mine.data.copy_(other.data)
        found[name] = executor
    return found


class Adapted:
    """An executor with fused layers and captured steps, and its adapters by name."""

    def __init__(self, model: Path, folder: Path, num_pages: int) -> None:
        queue = DelayedQueue()
        self.executor = device_executor(config_of(model), queue, max_rows=0)
        fuse(self.executor, PlainOperations(), adapter_pages=num_pages)
        assert self.executor.name == "fused"
        for tensor in self.executor.pool.tensors():
            tensor.zero_()  # a comparison wrote there
        self.executor.capture_decoding(queue, MAX_ROWS)
        assert isinstance(self.executor.adapted, AdapterPools)
        self.pools, self._folder = self.executor.adapted, folder
        self.loaded: dict[str, Adapter] = {}

    def load(self, name: str) -> None:
        adapter = read_adapter(name, self._folder / name, self.pools)
        self.pools.add(adapter)
        self.loaded[name] = adapter

    def unload(self, name: str) -> None:
        self.pools.remove(self.loaded.pop(name).number)

    def plan(self, seed: int, lengths: list[int], names: list[str]) -> StepPlan:
        plan = decode_plan(seed, lengths)
        fields = {name: getattr(plan, name) for name in StepPlan.__slots__}
        numbers = [self.loaded[name].number if name else 0 for name in names]
        return StepPlan(**{**fields, "adapters": np.array(numbers, dtype=np.int64)})

    def run(self, plan: StepPlan) -> torch.Tensor:
        with device.forbid_waits():
            launched = self.executor.execute(plan)
        return on_host(launched)


def check_rows(
    adapted: Adapted, merged: dict[str, TransformersExecutor], seed: int, names: list[str]
) -> None:
    """Each row of a captured step is the merged model's, and rows alone keep their bits."""
    lengths = LENGTHS[len(names) - 1]
    for executor in (adapted.executor, *merged.values()):
        for tensor in executor.pool.tensors():
            tensor.zero_()
    plan = adapted.plan(seed, lengths, names)
    before = adapted.executor.graphs.num_replayed  # type: ignore[union-attr]
    found = adapted.run(plan)
    assert adapted.executor.graphs.num_replayed == before + 1  # type: ignore[union-attr]
    alone = adapted.run(adapted.plan(seed, lengths, [""] * len(names)))
    for row, name in enumerate(names):
        expected = on_host(merged[name].execute(decode_plan(seed, lengths)))[row]
        torch.testing.assert_close(found[row], expected, atol=1e-4, rtol=1e-4)
        assert torch.equal(found[row], alone[row]) is not bool(name)


def test_captured_steps_serve_adapters_that_come_and_go(
    tiny_model_dir: Path, adapters: Path, merged: dict[str, TransformersExecutor]
) -> None:
    adapted = Adapted(tiny_model_dir, adapters, num_pages=5)
    assert adapted.executor.graphs.report.sizes == (1, 2, 4)  # type: ignore[union-attr]
    check_rows(adapted, merged, 0, ["", "", ""])
    adapted.load("a")
    adapted.load("b")  # three pages
    check_rows(adapted, merged, 1, ["a"])
    check_rows(adapted, merged, 2, ["", "a", "b", "b"])
    adapted.load("c")
    check_rows(adapted, merged, 3, ["", "a", "b", "c"])
    adapted.unload("b")
    check_rows(adapted, merged, 4, ["a", "c", "c"])
    adapted.unload("a")
    adapted.load("b")  # in pages of two others, and another order
    check_rows(adapted, merged, 5, ["", "", "b", "c"])
    adapted.load("a")
    check_rows(adapted, merged, 6, ["a", "b"])


def test_an_adapter_without_room_is_refused(tiny_model_dir: Path, adapters: Path) -> None:
    adapted = Adapted(tiny_model_dir, adapters, num_pages=3)
    adapted.load("a")
    with pytest.raises(NotEnoughMemory, match=r"'b' of rank 33 needs 3 of 3 pages .* 2 are free"):
        adapted.load("b")
    adapted.unload("a")
    adapted.load("b")


def test_adapters_that_cannot_be_captured_run_eagerly(
    tiny_model_dir: Path,
    adapters: Path,
    merged: dict[str, TransformersExecutor],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Steps of the model alone keep their graphs."""
    add = PlainOperations.add_low_rank

    def add_slowly(operations: PlainOperations, rows: torch.Tensor, *others: Any) -> None:
        assert rows.abs().max().item() >= 0
        add(operations, rows, *others)

    monkeypatch.setattr(PlainOperations, "add_low_rank", add_slowly)
    adapted = Adapted(tiny_model_dir, adapters, num_pages=1)
    graphs = adapted.executor.graphs
    assert graphs is not None and graphs.report.sizes == (1, 2, 4)
    assert caplog.text.count("steps with adapters cannot be captured") == 1
    assert "waits for the device" in caplog.text
    adapted.load("a")
    lengths, names = LENGTHS[2], ["", "a", "a"]
    found = on_host(adapted.executor.execute(adapted.plan(7, lengths, names)))
    assert graphs.num_replayed == 0
    for row, name in enumerate(names):
        expected = on_host(merged[name].execute(decode_plan(7, lengths)))[row]
        torch.testing.assert_close(found[row], expected, atol=1e-4, rtol=1e-4)
    alone = adapted.run(adapted.plan(7, lengths, [""] * 3))
    assert graphs.num_replayed == 1
    torch.testing.assert_close(alone[0], found[0], atol=1e-5, rtol=1e-5)


def test_an_engine_with_captured_steps_answers_as_one_on_the_cpu(
    tiny_model_dir: Path, adapters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts and decode steps; an adapter is unloaded, and another takes its pages."""
    queue = DelayedQueue()
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    config = config_of(tiny_model_dir, lora=f"a={adapters / 'a'}, b={adapters / 'b'}")
    adapted = Adapted(tiny_model_dir, adapters, num_pages=4)
    engines = EngineCore(config), EngineCore(config, adapted.executor)
    assert engines[1].info.execution == "fused"
    for names in (("", "a", "b", "b"), ("c", "a", "", "a")):
        asked = [
            replace(ask(f"{row}", tokens_of(1, 12 + 3 * row)), adapter=name)
            for row, name in enumerate(names)
        ]
        expected, found = (run(engine, *asked) for engine in engines)
        for name, index in expected.deltas:
            assert found.tokens(name, index) == expected.tokens(name, index)
        if "b" in names:
            with pytest.raises(InvalidRequest, match="'c' of rank 16 needs 1 of 4 pages"):
                engines[1].answer(LoadAdapter("c", str(adapters / "c")))
            for engine in engines:
                engine.answer(UnloadAdapter("b"))
                engine.answer(LoadAdapter("c", str(adapters / "c")))
    assert engines[1].stats.num_replayed_steps > 5
    for engine in engines:
        engine.close()
