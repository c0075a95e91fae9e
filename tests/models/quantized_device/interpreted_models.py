"""Whole models with interpreted product kernels; `test_interpreted` runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from tests.attention.tree_decode.interpreter import right_rounding  # noqa: F401
from tests.models.float_files import FORMS, Float8, write_twins
from tests.models.quantized import LLAMA, Kind, write_pair
from tests.models.quantized_device.test_models import as_on_a_gpu, load  # noqa: F401
from tests.models.zoo_models import executor_of, fuse
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.fused.launch import TritonOperations
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.device import packer
from yaie.models.quantization.device.launch import TritonProducts
from yaie.models.quantization.device.linear import DeviceLinear

KINDS: dict[str, Kind | Float8] = {
    "int4": Kind("awq", 4, 32, symmetric=False),
    "int8": Kind("int-quantized", 8),
    "int8 in groups": Kind("gptq", 8, 32),
    "fp8": FORMS[10],
}


@pytest.mark.parametrize("dtype", os.environ.get("PRODUCTS_DTYPES", "float32").split(","))
@pytest.mark.parametrize("name", os.environ.get("PRODUCTS_KINDS", "int4").split(","))
def test_logits_are_those_of_torch(
    name: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32 they equal torch's; in bfloat16 they are about as near to these as torch's are."""
    kind = KINDS[name]
    if isinstance(kind, Kind):
        folder, _ = write_pair(LLAMA, kind, tmp_path, dtype=torch.float16)
    else:
        folder, _ = write_twins(LLAMA, kind.write, kind.config, tmp_path)
    exact = logits_of(load(folder, dtype="float32"))
    bound = 1e-5
    if dtype == "bfloat16":
        bound = 1.2 * error_of(logits_of(load(folder, dtype=dtype)), exact)
    # The packer compares both on its way.
    monkeypatch.setattr(packer, "choose_products", lambda _: TritonProducts())
    monkeypatch.setattr(packer, "_CHECKED_ROWS", (1, 20))
    loaded = load(folder, dtype=dtype)
    executor = executor_of(loaded)
    before = executor.execute(comparison_plan(loaded))
    fuse(executor, TritonOperations())
    assert executor.name == "fused"
    assert products_of(loaded) == {"triton"}
    assert error_of(before, exact) < bound
    assert error_of(executor.execute(comparison_plan(loaded)), exact) < bound


def logits_of(loaded: LoadedModel) -> torch.Tensor:
    return executor_of(loaded).execute(comparison_plan(loaded))


def error_of(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def products_of(loaded: LoadedModel) -> set[str]:
    assert loaded.model is not None
    return {m.products.name for m in loaded.model.modules() if isinstance(m, DeviceLinear)}
