"""Experts with 8 bits whose zero points the config denies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models.quantized import Kind
from tests.models.test_packed_experts import error_of_experts, find_packed
from tests.models.test_quantized_experts import GROUPS, INT8, modules_of, start, write
from yaie.kernels.library_search import load
from yaie.models.architecture.moe import experts_of

NAME = "qwen3-moe"
MODULE = "model.layers.1.mlp.experts"
EXPERT = f"{MODULE}.2.up_proj"  # the first expert alone is compared with its weights
PACKED = Kind("pack-quantized", 8, 32)
Tensors = dict[str, torch.Tensor]

pytestmark = pytest.mark.skipif(
    load() is None, reason="no kernel library: without a compiler experts are dequantized"
)


def second(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def change(root: Path, form: Kind, how: Callable[[Tensors, Tensors], None]) -> tuple[Path, Path]:
    """Write a pair whose tensors `how` changes: the stored ones, and the twin's."""
    folders = write(NAME, form, root)
    files = [folder / "model.safetensors" for folder in folders]
    stored, wide = (load_file(file) for file in files)
    how(stored, wide)
    for tensors, file in zip((stored, wide), files, strict=True):
        save_file(tensors, file, {"format": "pt"})
    return folders


def scales_of(stored: Tensors, module: str) -> torch.Tensor:
    """Return an expert's scales [outputs, groups]."""
    ends = ("scales", "weight_scale")
    name = next(f"{module}.{end}" for end in ends if f"{module}.{end}" in stored)
    return stored[name].T if name.endswith(".scales") else stored[name]


def shift(stored: Tensors, wide: Tensors) -> None:
    """Give one expert zero points of 3."""
    weight, scales = wide[f"{EXPERT}.weight"], scales_of(stored, EXPERT)
    if f"{EXPERT}.qzeros" in stored:
        stored[f"{EXPERT}.qzeros"] += 0x03030303
    else:
        stored[f"{EXPERT}.weight_zero_point"] = torch.full(scales.shape, 3, dtype=torch.int8)
    weight -= 3 * scales.repeat_interleave(weight.shape[1] // scales.shape[1], 1)


def check_dequantized(stored: Path, wide: Path) -> Any:
    """Compare a start with the twin's: one layer's experts are dequantized; return them."""
    loaded, twin = start(stored), start(wide, may_pack=False)
    experts = experts_of(twin.model)  # type: ignore[arg-type]
    assert len(find_packed(loaded)) == len(experts) - 1
    for part, weight in experts[MODULE].named_parameters():
        assert torch.allclose(getattr(modules_of(loaded)[MODULE], part), weight, atol=0, rtol=1e-5)
    return experts[MODULE]


@pytest.mark.parametrize("form", [INT8, GROUPS, second(PACKED)], ids=str)
def test_zero_points_that_the_config_denies_are_served(
    form: Kind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored, wide = change(tmp_path, form, shift)
    experts = check_dequantized(stored, wide)
    assert (
        "1 layers are not packed: no kernel computes in their weights (8 bits with" in caplog.text
    )
    rounded = start(stored, quantization="int8")
    assert error_of_experts(modules_of(rounded)[MODULE], experts) < 0.03
