"""Tiny models in the formats of quantized checkpoints, with their dequantized twins.

The packing follows the formats' definitions, independently of YAIE's unpacking: one value after
another, shifted into place. `tests/models/test_unpacking.py` compares it with words that the
formats' own libraries packed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case, save
from tests.conformance.zoo import CASES

AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # of the outputs in a word
_QUANTIZED = re.compile(r"(layers|h)\.\d+\..*\.weight$")
_TRANSPOSED = ("c_attn", "c_proj", "c_fc")  # GPT-2's [inputs, outputs]
_ROUTER = ".gate.weight"


@dataclass(frozen=True)
class Kind:
    """A quantization and its storage. `group`: inputs; None: one scale for each output."""

    layout: str  # as LayerFormat.layout
    bits: int
    group: int | None = None
    symmetric: bool = True
    ordered: bool = False  # inputs ordered by activation

    def __str__(self) -> str:
        group = "channel" if self.group is None else f"groups of {self.group}"
        zeros = "" if self.symmetric else ", zero points"
        return f"{self.layout} {self.bits} bits, {group}{zeros}{', act-order' * self.ordered}"

    def config(self) -> dict[str, Any]:
        """Return its entry in `config.json`."""
        if self.layout in ("int-quantized", "pack-quantized"):
            return self._compressed_tensors()
        group = -1 if self.group is None else self.group
        if self.layout == "awq":
            return {
                "quant_method": "awq",
                "bits": self.bits,
                "group_size": group,
                "version": "gemm",
                "zero_point": not self.symmetric,
                "modules_to_not_convert": None,
            }
        return {
            "quant_method": "gptq",
            "bits": self.bits,
            "group_size": group,
            "desc_act": self.ordered,
            "sym": self.symmetric,
            "checkpoint_format": self.layout,
        }

    def _compressed_tensors(self) -> dict[str, Any]:
        weights = {
            "num_bits": self.bits,
            "type": "int",
            "symmetric": self.symmetric,
            "strategy": "channel" if self.group is None else "group",
            "group_size": self.group,
            "dynamic": False,
            "actorder": "group" if self.ordered else None,
        }
        activations = {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True}
        if self.layout == "pack-quantized":
            activations = None  # type: ignore[assignment]
        group = {"targets": ["Linear"], "weights": weights, "input_activations": activations}
        return {
            "quant_method": "compressed-tensors",
            "format": self.layout,
            "config_groups": {"group_0": group},
            "ignore": ["lm_head"],
            "quantization_status": "compressed",
        }


LLAMA = {case.name: case for case in CASES}["llama"]
CT = Kind("pack-quantized", 4, 32, symmetric=False)
GPTQ = Kind("gptq", 4, 32)
AWQ = Kind("awq", 4, 32, symmetric=False)
INT8 = Kind("int-quantized", 8)


def with_group(kind: Kind, **changes: Any) -> dict[str, Any]:
    """Return a compressed-tensors config with changed weights, or other keys of its group."""
    config = kind.config()
    group = config["config_groups"]["group_0"]
    for key, value in changes.items():
        if key in group["weights"]:
            group["weights"][key] = value
        else:
            group[key] = value
    return config


@dataclass(frozen=True)
class Integers:
    """A quantized weight matrix: (values - zeros[group]) * scales[group], values from 0."""

    values: np.ndarray  # uint32 [outputs, inputs]
    zeros: np.ndarray  # uint32 [outputs, groups]
    scales: np.ndarray  # float32 [outputs, groups]
    group_of_input: np.ndarray  # [inputs]

    def dequantize(self) -> torch.Tensor:
        group = self.group_of_input
        numbers = self.values.astype(np.float32) - self.zeros.astype(np.float32)[:, group]
        return torch.from_numpy(numbers * self.scales[:, group])


def quantize(weight: torch.Tensor, kind: Kind, seed: int = 0) -> Integers:
    """Quantize a matrix [outputs, inputs]; zero points of 0 and of all ones occur."""
    numbers = weight.float().numpy()
    outputs, inputs = numbers.shape
    size = kind.group or inputs
    group_of_input = np.arange(inputs) // size
    if kind.ordered:
        group_of_input = np.random.default_rng(seed).permutation(group_of_input)
    groups = group_of_input.max() + 1
    top = (1 << kind.bits) - 1
    middle = 1 << (kind.bits - 1)
    values = np.empty((outputs, inputs), np.uint32)
    scales = np.empty((outputs, groups), np.float32)
    zeros = np.full((outputs, groups), middle, np.uint32)
    for group in range(groups):
        columns = group_of_input == group
        part = numbers[:, columns]
        low, high = part.min(1), part.max(1)
        if kind.symmetric:
            scale = np.abs(part).max(1) / (middle - 1)
        else:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
            # Some outputs have one sign only, so that zero points at both ends occur.
            low[::5], high[1::5] = 0, 0
            scale = (high - low) / top
        scale = np.maximum(scale, 1e-4).astype(np.float16).astype(np.float32)
        if not kind.symmetric:
            zeros[:, group] = np.clip(np.round(-low / scale), 0, top).astype(np.uint32)
        shifted = np.round(part / scale[:, None]) + zeros[:, group, None]
        values[:, columns] = np.clip(shifted, 0, top).astype(np.uint32)
        scales[:, group] = scale
    return Integers(values, zeros, scales, group_of_input)


def pack(values: np.ndarray, bits: int) -> np.ndarray:
    """Pack uint32 [rows, n] to words [rows, ceil(n * bits / 32)], first value lowest."""
    rows, count = values.shape
    per_word = 32 // bits
    words = np.zeros((rows, -(-count // per_word)), np.uint32)
    for index in range(count):
        words[:, index // per_word] |= values[:, index] << np.uint32(bits * (index % per_word))
    return words


def stored(integers: Integers, kind: Kind, scale_dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return the tensors of a layer, by the last part of their names."""
    write = {"int-quantized": _int, "pack-quantized": _packed, "awq": _awq}.get(kind.layout, _gptq)
    tensors = write(integers, kind)
    for name in ("weight_scale", "scales"):
        if name in tensors:
            tensors[name] = tensors[name].to(scale_dtype)
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def _int(integers: Integers, kind: Kind) -> dict[str, torch.Tensor]:
    middle = 1 << (kind.bits - 1)
    tensors = {
        "weight": torch.from_numpy(integers.values.astype(np.int32) - middle).to(torch.int8),
        "weight_scale": torch.from_numpy(integers.scales),
    }
    if not kind.symmetric:
        zeros = torch.from_numpy(integers.zeros.astype(np.int32) - middle)
        tensors["weight_zero_point"] = zeros.to(torch.int8)
    if kind.ordered:
        tensors["weight_g_idx"] = torch.from_numpy(integers.group_of_input).int()
    return tensors


def _packed(integers: Integers, kind: Kind) -> dict[str, torch.Tensor]:
    tensors = {
        "weight_packed": _words(pack(integers.values, kind.bits)),
        "weight_scale": torch.from_numpy(integers.scales),
        "weight_shape": torch.tensor(integers.values.shape),
    }
    if not kind.symmetric:
        tensors["weight_zero_point"] = _words(pack(integers.zeros.T, kind.bits)).T
    if kind.ordered:
        tensors["weight_g_idx"] = torch.from_numpy(integers.group_of_input).int()
    return tensors


def _gptq(integers: Integers, kind: Kind) -> dict[str, torch.Tensor]:
    zeros = pack(integers.zeros.T, kind.bits)
    if kind.layout == "gptq":  # one less, subtracted from whole words
        zeros = zeros - np.uint32({4: 0x11111111, 8: 0x01010101}[kind.bits])
    return {
        "qweight": _words(pack(integers.values, kind.bits)).T,
        "qzeros": _words(zeros),
        "scales": torch.from_numpy(integers.scales).T,
        "g_idx": torch.from_numpy(integers.group_of_input).int(),
    }


def _awq(integers: Integers, kind: Kind) -> dict[str, torch.Tensor]:
    return {
        "qweight": _words(pack(_in_awq_order(integers.values.T), 4)),
        "qzeros": _words(pack(_in_awq_order(integers.zeros.T), 4)),
        "scales": torch.from_numpy(integers.scales).T,
    }


def _in_awq_order(values: np.ndarray) -> np.ndarray:
    rows, outputs = values.shape
    return np.ascontiguousarray(values.reshape(rows, -1, 8)[:, :, AWQ_ORDER].reshape(rows, outputs))


def _words(words: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(words.view(np.int32))


def write_pair(
    case: Case,
    kind: Kind,
    root: Path,
    *,
    num_files: int = 1,
    dtype: torch.dtype = torch.float32,
    routers: bool = False,
) -> tuple[Path, Path]:
    """Write a quantized checkpoint and its dequantized twin: (quantized, dequantized).

    dtype: of the plain tensors and the scales of the first.
    routers: whether the routers of mixtures are quantized.
    """
    plain, dequantized, quantized = root / "plain", root / "dequantized", root / "quantized"
    save(case, case.build(), plain)
    tensors = load_file(plain / "model.safetensors")
    numbers: dict[str, torch.Tensor] = {}
    packed: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        if not _is_quantized(name, tensor, routers):
            packed[name] = tensor.to(dtype)
            numbers[name] = packed[name].float()
            continue
        is_transposed = any(part in name for part in _TRANSPOSED)
        integers = quantize(tensor.T if is_transposed else tensor, kind, seed=len(numbers))
        wide = integers.dequantize()
        numbers[name] = wide.T.contiguous() if is_transposed else wide
        module = name.removesuffix(".weight")
        for part, each in stored(integers, kind, dtype).items():
            packed[f"{module}.{part}"] = each
    config = json.loads((plain / "config.json").read_text())
    _write(dequantized, config, numbers, 1)
    _write(quantized, config | {"quantization_config": kind.config()}, packed, num_files)
    return quantized, dequantized


def _is_quantized(name: str, tensor: torch.Tensor, routers: bool) -> bool:
    if name.endswith(_ROUTER) and not routers:
        return False
    return bool(_QUANTIZED.search(name)) and tensor.dim() == 2


def _write(
    folder: Path, config: dict[str, Any], tensors: dict[str, torch.Tensor], num_files: int
) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if num_files == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    files: dict[str, dict[str, torch.Tensor]] = {}
    for index, name in enumerate(sorted(tensors)):  # separates the tensors of a layer
        file = f"model-{index % num_files + 1:05}-of-{num_files:05}.safetensors"
        files.setdefault(file, {})[name] = tensors[name]
    for file, part in files.items():
        save_file(part, folder / file, metadata={"format": "pt"})
    weight_map = {name: file for file, part in files.items() for name in part}
    index_file = folder / "model.safetensors.index.json"
    index_file.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
