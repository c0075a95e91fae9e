"""Tiny checkpoints in fp8 and mxfp4, with twins in bfloat16 that hold value times scale.

Written from the formats' definitions, element by element, independently of YAIE's widening.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case, save

E4M3_MOST = 448.0
LEVELS = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
_LAYER = re.compile(r"(layers|blocks)\.\d+\..*(_proj(\.weight)?|\.w[123]\.weight)$")


@dataclass(frozen=True)
class Float8:
    """A form of fp8 checkpoints. `block`: outputs and inputs of a scale; whole: one for all."""

    name: str
    block: tuple[int, int] | None  # of the scales; None: one scale
    config: dict[str, Any]
    scale_name: str = "_scale_inv"
    scale_kind: str = "F32"
    flat: bool = False  # scales of outputs as a vector; a single scale as a number
    also: tuple[str, ...] = field(default=())  # scales of activations

    def __str__(self) -> str:
        return self.name

    def scales(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the scales of a matrix as a grid."""
        outputs, inputs = weight.shape
        rows, columns = self.block or (outputs, inputs)
        rows, columns = rows or outputs, columns or inputs
        grid = torch.empty(-(-outputs // rows), -(-inputs // columns))
        for y in range(grid.shape[0]):
            for x in range(grid.shape[1]):
                part = weight[y * rows : (y + 1) * rows, x * columns : (x + 1) * columns]
                grid[y, x] = part.abs().max() / E4M3_MOST
        if self.scale_kind in ("F8_E8M0", "U8"):
            grid = torch.exp2(torch.ceil(torch.log2(grid)))
        return grid.bfloat16().float() if self.scale_kind == "BF16" else grid

    def write(self, name: str, weight: torch.Tensor) -> tuple[dict[str, torch.Tensor], Any]:
        """Return the tensors of a weight, and the same weight in bfloat16."""
        if weight.dim() == 3:
            parts = [self._matrix(matrix) for matrix in weight]
            values, grids, wide = (torch.stack(each) for each in zip(*parts, strict=True))
        else:
            values, grids, wide = self._matrix(weight)
        tensors = {name: values, f"{name}{self.scale_name}": self._stored(grids)}
        owner = name.removesuffix(".weight")
        tensors |= {f"{owner}.{part}": torch.tensor(0.01) for part in self.also}
        return tensors, wide

    def _matrix(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        grid = self.scales(weight)
        outputs, inputs = weight.shape
        rows, columns = self.block or (outputs, inputs)
        y = torch.arange(outputs) // (rows or outputs)
        x = torch.arange(inputs) // (columns or inputs)
        factors = grid[y][:, x]
        values = (weight / factors).to(torch.float8_e4m3fn)
        return values, grid, (values.float() * factors).bfloat16()

    def _stored(self, grid: torch.Tensor) -> torch.Tensor:
        if self.flat:
            grid = grid.squeeze(-1)
            grid = grid.squeeze(-1) if self.block is None else grid
        if self.scale_kind == "U8":
            return (torch.log2(grid) + 127).to(torch.uint8)
        kinds = {"F8_E8M0": torch.float8_e8m0fnu, "BF16": torch.bfloat16, "F32": torch.float32}
        return grid.to(kinds[self.scale_kind])


def compressed(
    strategy: str, targets: tuple[str, ...] = ("Linear",), **weights: Any
) -> dict[str, Any]:
    """Return a compressed-tensors config of weights in fp8."""
    settings = {"num_bits": 8, "type": "float", "strategy": strategy, "dynamic": False, **weights}
    activations = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
    group = {"targets": list(targets), "weights": settings, "input_activations": activations}
    return {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
    }


def blocks_of(rows: int, columns: int, scheme: str = "dynamic") -> dict[str, Any]:
    """Return the config of block-scaled fp8."""
    return {
        "quant_method": "fp8",
        "activation_scheme": scheme,
        "weight_block_size": [rows, columns],
        "modules_to_not_convert": ["lm_head"],
    }


STATIC = {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}

BLOCK = Float8("blocks of 128", (128, 128), blocks_of(128, 128))
UNEVEN = Float8("uneven blocks", (40, 24), blocks_of(40, 24))
FORMS = (
    BLOCK,
    UNEVEN,
    Float8("exponents", (128, 128), blocks_of(128, 128), scale_kind="F8_E8M0"),
    Float8("exponents as bytes", (1, 32), blocks_of(1, 32), scale_kind="U8"),
    Float8("blocks in bfloat16", (128, 128), blocks_of(128, 128), scale_kind="BF16"),
    Float8("static", None, STATIC, flat=True, also=("activation_scale",)),
    Float8("static, older", None, STATIC, "_scale", flat=True, also=("input_scale",)),
    Float8("channel", (1, 0), compressed("channel"), "_scale", "BF16"),
    Float8("channel as vector", (1, 0), compressed("channel"), "_scale", flat=True),
    Float8("tensor", None, compressed("tensor"), "_scale"),
    Float8("block", (32, 32), compressed("block", block_structure=[32, 32]), "_scale"),
    Float8("modelopt", None, MODELOPT, "_scale", flat=True, also=("input_scale",)),
)


def write_mxfp4(name: str, weight: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return blocks and scales of experts [experts, inputs, outputs], and their bfloat16 twin."""
    grouped = weight.transpose(1, 2).reshape(weight.shape[0], weight.shape[2], -1, 32)
    exponents = torch.floor(torch.log2(grouped.abs().amax(-1).clamp_min(1e-6))) - 2
    scaled = grouped / torch.exp2(exponents)[..., None]
    index = (scaled.abs()[..., None] - LEVELS).abs().argmin(-1)
    nibbles = index + 8 * (scaled < 0)
    packed = (nibbles[..., 0::2] + 16 * nibbles[..., 1::2]).to(torch.uint8)
    values = torch.where(scaled < 0, -LEVELS[index], LEVELS[index])
    wide = (values * torch.exp2(exponents)[..., None]).reshape(*grouped.shape[:2], -1)
    tensors = {f"{name}_blocks": packed, f"{name}_scales": (exponents + 127).to(torch.uint8)}
    return tensors, wide.transpose(1, 2).contiguous().bfloat16()


Writer = Callable[[str, torch.Tensor], tuple[dict[str, torch.Tensor], Any]]


def write_twins(
    case: Case, write: Writer, settings: dict[str, Any], root: Path, only: str = ""
) -> tuple[Path, Path]:
    """Write a checkpoint and its bfloat16 twin: (stored, wide). `only`: part of the names."""
    plain = root / "plain"
    save(case, case.build(), plain)
    stored: dict[str, torch.Tensor] = {}
    wide: dict[str, torch.Tensor] = {}
    for name, tensor in load_file(plain / "model.safetensors").items():
        if tensor.dim() < 2 or not _LAYER.search(name) or only not in name:
            stored[name] = wide[name] = tensor.bfloat16()
            continue
        tensors, wide[name] = write(name, tensor)
        stored |= {each: part.contiguous() for each, part in tensors.items()}
    config = json.loads((plain / "config.json").read_text()) | {"dtype": "bfloat16"}
    for folder, tensors, extra in (
        (root / "stored", stored, {"quantization_config": settings}),
        (root / "wide", wide, {}),
    ):
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config | extra))
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return root / "stored", root / "wide"
