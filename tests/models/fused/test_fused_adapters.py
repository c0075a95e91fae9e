"""Adapters in the fused decoder, in float32: each row is the one of merged weights."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tests.adapters import merge, write_adapter
from tests.models.zoo_models import executor_of, fuse, load_case
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import Segment
from yaie.base.errors import NotEnoughMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.adapters.adapter import read_adapter
from yaie.models.fused import fused_decoder
from yaie.models.fused.adapter_pools import AdapterPools, count_pages
from yaie.models.fused.fused_decoder import build_fused_decoder
from yaie.models.fused.plain import PlainOperations
from yaie.models.load import loader, weight_sizes
from yaie.models.quantization.device.linear import DeviceLinear

RANKS = {"a": 5, "b": 24}
LENGTHS = {"": 4, "a": 9, "b": 20}  # rows of one sequence each


def plan_sequences(numbers: dict[str, int], vocab_size: int) -> StepPlan:
    """Return one prompt for each adapter, by name."""
    rows = np.arange(sum(LENGTHS[name] for name in numbers))
    segments, positions, adapters, first = [], [], [], 0
    for name, number in numbers.items():
        end = first + LENGTHS[name]
        segments.append(Segment(rows[first:end], 0, first, end, level=0))
        positions.append(np.arange(end - first))
        adapters.append(np.full(end - first, number))
        first = end
    return StepPlan(
        token_ids=3 + rows * 31 % (vocab_size - 3),
        positions=np.concatenate(positions),
        slots=rows,
        written_rows=rows,
        logit_rows=rows,
        segments=tuple(segments),
        kv_tokens_read=len(rows),
        kv_tokens_unshared=len(rows),
        adapters=np.concatenate(adapters),
    )


def load_adapters(executor: TransformersExecutor, folder: Path) -> dict[str, int]:
    """Write and load adapters for all layers that take them; return their numbers by name."""
    adapted: Any = executor.adapted
    numbers = {"": 0}
    for seed, (name, rank) in enumerate(RANKS.items()):
        path = write_adapter(
            folder / name,
            executor.loaded.model,  # type: ignore[arg-type]
            seed=seed,
            rank=rank,
            layers=tuple(adapted.shapes) if name == "a" else ("_proj", "c_fc", "input_linear"),
            size=0.03,
        )
        adapter = read_adapter(name, path, adapted)
        adapted.add(adapter)
        numbers[name] = adapter.number
    return numbers


@pytest.mark.parametrize(
    "name",
    [
        "qwen3",
        *(
            pytest.param(each, marks=pytest.mark.integration)
            for each in ("phi3", "gemma2", "cohere2", "starcoder2", "qwen2", "granite-moe-shared")
        ),
    ],
)
def test_rows_equal_merged_weights(name: str, tmp_path: Path) -> None:
    loaded = load_case(name, tmp_path)
    originals = {each: copy.deepcopy(loaded.model) for each in LENGTHS}
    executor = executor_of(loaded)
    fuse(executor, PlainOperations(), adapter_pages=3)
    assert executor.name == "fused" and isinstance(executor.adapted, AdapterPools)
    numbers = load_adapters(executor, tmp_path)
    plan = plan_sequences(numbers, executor.loaded.vocab_size)
    found = executor.execute(plan)
    alone = executor.execute(plan_sequences(dict.fromkeys(numbers, 0), executor.loaded.vocab_size))
    for each, number in numbers.items():
        if each:
            merge(originals[each], tmp_path / each, 2.0)  # type: ignore[arg-type]
        expected = executor_of(replace(loaded, model=originals[each])).execute(plan)
        own = plan.adapters == number
        torch.testing.assert_close(found[own], expected[own], atol=1e-4, rtol=1e-4)
        assert torch.equal(found[own], alone[own]) is not bool(each)


@pytest.mark.parametrize("kind", ["int8", pytest.param("int4", marks=pytest.mark.integration)])
def test_quantized_layers_take_products(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (loader, weight_sizes):
        monkeypatch.setattr(module, "is_gpu", lambda _: True)
    found = []
    for fuses in (True, False):
        executor = executor_of(load_case("llama", tmp_path, quantization=kind, calibrate="none"))
        assert any(isinstance(each, DeviceLinear) for each in executor.loaded.model.modules())  # type: ignore[union-attr]
        if fuses:
            fuse(executor, PlainOperations(), adapter_pages=3)
            assert executor.name == "fused"
        else:
            executor.accept_adapters()
        numbers = load_adapters(executor, tmp_path / executor.name)
        found.append(executor.execute(plan_sequences(numbers, executor.loaded.vocab_size)))
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("owner", "name", "most_calls"), [(torch, "empty", 3), (fused_decoder, "_merge_linears", 1)]
)
def test_pools_without_memory_name_their_setting(
    owner: ModuleType,
    name: str,
    most_calls: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first pools leave no memory for a later one, or for a later layer's merged weights."""
    loaded = load_case("qwen3", tmp_path)
    real, calls = getattr(owner, name), itertools.count(1)

    def run_out(*arguments: Any, **options: Any) -> Any:
        if next(calls) > most_calls:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, run_out)
    with pytest.raises(NotEnoughMemory, match=r"3 pages .* a smaller --max-loras") as refused:
        build_fused_decoder(loaded, PlainOperations(), adapter_pages=3)
    assert refused.value.param == "max_loras"


def test_pages_have_room_for_the_largest_rank(tmp_path: Path) -> None:
    model = load_case("qwen3", tmp_path / "model").model
    assert model is not None
    assert count_pages(",", None) == 4
    for seed, rank in enumerate((4, 33)):
        write_adapter(tmp_path / "all" / str(rank), model, seed=seed, rank=rank, layers=("q_proj",))
    assert count_pages(str(tmp_path / "all"), None) == 4 * 3
    assert count_pages(str(tmp_path / "all" / "4"), 7) == 7
    assert count_pages(str(tmp_path / "all"), 2) == 2 * 3
