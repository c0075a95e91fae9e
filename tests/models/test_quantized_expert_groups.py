"""Experts with 8 bits whose scales or zero points have no kernel: only their numbers tell."""

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


def scales_name(stored: Tensors, module: str) -> str:
    return next(
        f"{module}.{end}" for end in ("scales", "weight_scale") if f"{module}.{end}" in stored
    )


def scales_of(stored: Tensors, module: str) -> torch.Tensor:
    """Return an expert's scales [outputs, groups]."""
    name = scales_name(stored, module)
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


@pytest.mark.parametrize(
    ("form", "factor"), [(GROUPS, 2.0**-9), (PACKED, 2.0**30), second(GROUPS, 2.0**-30)]
)
def test_scales_beyond_float16_are_served(
    form: Kind, factor: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def scale(stored: Tensors, wide: Tensors) -> None:
        stored[scales_name(stored, EXPERT)] *= factor
        wide[f"{EXPERT}.weight"] *= factor

    stored, wide = change(tmp_path, form, scale)
    check_dequantized(stored, wide)
    assert "(8 bits in groups with scales beyond float16)" in caplog.text


def test_small_scales_that_float16_holds_stay(tmp_path: Path) -> None:
    """Scales below 2^-14 with few bits, such as bfloat16's."""

    def scale(stored: Tensors, wide: Tensors) -> None:
        for index in range(4):
            module = f"{MODULE}.{index}.up_proj"
            weight, scales = wide[f"{module}.weight"], scales_of(stored, module)
            each = scales.repeat_interleave(weight.shape[1] // scales.shape[1], 1)
            wide[f"{module}.weight"] = (weight / each).round() * 2.0**-20
            stored[scales_name(stored, module)].fill_(2.0**-20)

    stored, wide = change(tmp_path, GROUPS, scale)
    loaded, twin = start(stored), start(wide, may_pack=False)
    experts = experts_of(twin.model)  # type: ignore[arg-type]
    assert len(find_packed(loaded)) == len(experts)
    assert error_of_experts(modules_of(loaded)[MODULE], experts[MODULE].float()) < 0.04
