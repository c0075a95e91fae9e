"""Tiny models of two layers with interpreted kernels; `test_interpreted` runs it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.attention.tree_decode.interpreter import right_rounding  # noqa: F401
from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.models.fused.test_fused_adapters import load_adapters, plan_sequences
from tests.models.zoo_models import executor_of, fuse
from yaie.base.settings import EngineConfig
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.fused.launch import TritonOperations
from yaie.models.fused.plain import PlainOperations
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import TOLERANCE_OF_EXPERTS, comparison_plan

KINDS = [kind.split(":") for kind in os.environ.get("FUSED_KINDS", "qwen3:bfloat16").split(",")]


def small_executor(name: str, folder: Path, **settings: str) -> TransformersExecutor:
    case = next(case for case in CASES if case.name == name)
    settings_of_two = {**case.settings, "num_hidden_layers": 2}
    if "layer_types" in case.settings:
        first, *_, last = case.settings["layer_types"]
        settings_of_two["layer_types"] = [first, last]
    case = replace(case, settings=settings_of_two)
    save(case, case.build(), folder)
    return executor_of(load_model(EngineConfig(model=str(folder), num_slots=64, **settings)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_equals_transformers(name: str, dtype: str, tmp_path: Path) -> None:
    executor = small_executor(name, tmp_path, dtype=dtype)
    plan = comparison_plan(executor.loaded)
    expected = executor.execute(plan)
    pool = [tensor[plan.slots].float() for tensor in executor.pool.tensors()]
    fuse(executor, TritonOperations())
    assert executor.name == "fused"
    for tensor in executor.pool.tensors():  # the kernels fill it again
        tensor.fill_(torch.nan)
    found = executor.execute(plan)
    error = float((found - expected).norm() / expected.norm())
    has_experts = any("experts" in part for part, _ in executor.loaded.model.named_modules())
    # A rounding may send a row to another expert; float32 shows the arithmetic.
    rounded = TOLERANCE_OF_EXPERTS if has_experts else 0.05
    bound = 1e-5 if dtype == "float32" else rounded
    assert error < bound
    for mine, original in zip(executor.pool.tensors(), pool, strict=True):
        assert float((mine[plan.slots].float() - original).norm() / original.norm()) < bound


@pytest.mark.parametrize("name", sorted({name for name, _ in KINDS}))
def test_adapters_equal_their_twin(name: str, tmp_path: Path) -> None:
    """Products by kernels and by torch, in decoders whose other operations are torch's."""
    found = []
    for operations in (TritonOperations(), PlainOperations()):
        executor = small_executor(name, tmp_path / operations.name, dtype="float32")
        fuse(executor, PlainOperations(), adapter_pages=3)
        pools: Any = executor.adapted
        pools._add = operations.add_low_rank
        numbers = load_adapters(executor, tmp_path / operations.name)
        plan = plan_sequences(numbers, executor.loaded.vocab_size)
        found.append(executor.execute(plan))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
