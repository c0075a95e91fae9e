"""Writer of quantized checkpoints: saves a quantized model in the compressed-tensors format.

Every layer is `pack-quantized`: words of 32 bits with 4 or 8 bits a weight, as vLLM, SGLang and
`yaie.models.quantization.readers` read them. Called by `yaie quantize`.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn

from yaie.models.quantization.quantize import is_sensitive, quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight

_WORD_BITS = 32
_SHARD = "5GB"
# Suffixes of files that are not copied: weights, their index, and code.
_LEFT = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx", ".index.json")
_EXPERTS, _EXPERTS_PATTERN = ".experts.", r"re:.*\.experts\..*"
_Format = tuple[int, int | None, bool]  # bits, inputs per scale (None: all), is symmetric


def write_checkpoint(model: Any, source: Path, folder: Path) -> None:
    """Write a quantized model's config and weights, and the other files of its source folder.

    model: a transformers model with `QuantizedLinear` layers, on the CPU. folder: exists.
    """
    weights = _find_quantized_weights(model)
    state = dict(model.state_dict())
    for name, weight in weights.items():
        state |= {f"{name}.{part}": tensor for part, tensor in pack_weight(weight).items()}
    head = model.get_output_embeddings()
    model.config.quantization_config = describe_quantization(
        weights,
        head=next((name for name, module in model.named_modules() if module is head), None),
        plain=[name for name, module in model.named_modules() if isinstance(module, nn.Linear)],
        has_experts=any(_EXPERTS in name for name in state),
    )
    packed = {f"{name}.weight_packed" for name in weights}
    # transformers writes the names of the first checkpoints of an architecture, which other engines
    # expect. Readers of quantized layers find them by their names in the model.
    model.save_pretrained(folder, state_dict=state, max_shard_size=_SHARD)
    if not packed <= _list_stored_names(folder):
        model.save_pretrained(
            folder, state_dict=state, max_shard_size=_SHARD, save_original_format=False
        )
    for file in source.iterdir():
        is_written = file.name == "config.json" or file.name.endswith((*_LEFT, ".py"))
        if file.is_file() and not is_written:
            shutil.copyfile(file, folder / file.name)


def _list_stored_names(folder: Path) -> set[str]:
    names: set[str] = set()
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="pt") as opened:
            names |= set(opened.keys())
    return names


def make_uniform(model: nn.Module) -> int:
    """Round value projections to 4 bits like their neighbours; return their number.

    Engines that fuse query, key and value projections read one format for the three.
    """
    found = [(name, m) for name, m in model.named_modules() if isinstance(m, QuantizedLinear)]
    number = 0
    for name, linear in found:
        if is_sensitive(name) and linear.quantized is not None:
            linear.quantized = quantize_weight(linear.quantized.dequantize(torch.float32), "int4")
            number += 1
    return number


def describe_quantization(
    weights: dict[str, QuantizedWeight],
    *,
    head: str | None,
    plain: list[str],
    has_experts: bool,
) -> dict[str, Any]:
    """Return the `quantization_config` of a config.json.

    The most frequent format has all linear layers as its target, other formats have names. The head
    is named in any case: engines quantize it only then. plain: names of unquantized linear layers.
    """
    formats = {name: _format_of(weight) for name, weight in weights.items()}
    groups = {}
    for index, (found, _) in enumerate(Counter(formats.values()).most_common()):
        names = [name for name, each in formats.items() if each == found]
        if index == 0:
            names = ["Linear", *(name for name in names if name == head)]
        groups[f"group_{index}"] = _describe_group(found, names)
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": [*plain, *([_EXPERTS_PATTERN] if has_experts else [])],
        "kv_cache_scheme": None,
    }


def _describe_group(found: _Format, targets: list[str]) -> dict[str, Any]:
    bits, group_size, is_symmetric = found
    return {
        "targets": targets,
        "weights": {
            "num_bits": bits,
            "type": "int",
            "symmetric": is_symmetric,
            "strategy": "channel" if group_size is None else "group",
            "group_size": group_size,
            "dynamic": False,
        },
        "input_activations": None,
        "output_activations": None,
    }


def _format_of(weight: QuantizedWeight) -> _Format:
    group_size = None if weight.scales.shape[1] == 1 else weight.group_size
    return weight.bits, group_size, weight.zero_points is None


def _find_quantized_weights(model: nn.Module) -> dict[str, QuantizedWeight]:
    return {
        name: module.quantized
        for name, module in model.named_modules()
        if isinstance(module, QuantizedLinear) and isinstance(module.quantized, QuantizedWeight)
    }


def pack_weight(weight: QuantizedWeight) -> dict[str, torch.Tensor]:
    """Return the tensors of a layer by the last part of their names.

    Scales are bfloat16 where that is exact, as it is for weights of `--quantization int4`.
    """
    short = weight.scales.bfloat16()
    is_exact = bool((short.float() == weight.scales).all())
    tensors = {
        "weight_packed": _pack(weight.values, weight.bits),
        "weight_scale": short if is_exact else weight.scales,
        "weight_shape": torch.tensor(weight.values.shape),
    }
    if weight.zero_points is not None:  # packed along the outputs
        tensors["weight_zero_point"] = _pack(weight.zero_points.T, weight.bits).T.contiguous()
    return tensors


def _pack(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Pack int8 [rows, columns] to int32 [rows, words], the first value in the lowest bits."""
    unsigned = (values.to(torch.int16) + (1 << (bits - 1))).to(torch.uint8)
    padded = nn.functional.pad(unsigned, (0, -unsigned.shape[1] % (_WORD_BITS // bits)))
    if bits == 4:
        padded = padded[:, ::2] | (padded[:, 1::2] << 4)
    return padded.clone(memory_format=torch.contiguous_format).view(torch.int32)
