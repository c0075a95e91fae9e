"""Quantization config: the quantization in `config.json`, and refusals of unsupported methods.

Torch-free, because clients refuse a model by its config alone. Called by
`yaie.models.architecture.support`, the loader and `yaie models`. Each reader below takes the
settings of one method as its library writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from yaie.base.errors import ModelUnsupported

Layout = Literal[
    "int-quantized", "pack-quantized", "gptq", "gptq_v2", "awq", "float8", "mxfp4", "nvfp4"
]

SERVED = (
    "compressed-tensors (int-quantized with dynamic activations, pack-quantized), GPTQ (gptq, "
    "gptq_v2) and AWQ (gemm), each with weights of 4 or 8 bits; fp8 (fp8, fbgemm_fp8, "
    "compressed-tensors float-quantized, ModelOpt), nvfp4 (compressed-tensors "
    "nvfp4-pack-quantized, ModelOpt) and mxfp4"
)
_BITS = (4, 8)
_REGEX = "re:"
_ALL = "Linear"  # target that means a module class instead of a name


@dataclass(frozen=True, slots=True)
class LayerFormat:
    """The storage format of linear layers' weights."""

    layout: Layout
    bits: int  # 4 or 8
    group_size: int | None  # inputs per scale; None: one scale for each output
    is_symmetric: bool  # all zero points are zero
    needs_order: bool = False  # the order of inputs (g_idx) must be stored with the weights
    block: tuple[int, int] | None = None  # fp8: outputs and inputs per scale

    @property
    def kind(self) -> str:
        """Its short name: int4, int8, fp8, mxfp4 or nvfp4."""
        names = {"float8": "fp8", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}
        return names.get(self.layout, f"int{self.bits}")


@dataclass(frozen=True, slots=True)
class StoredQuantization:
    """A checkpoint's quantization."""

    method: str  # as `quant_method` names it: "compressed-tensors", "gptq", "awq", "fp8", ...
    targets: tuple[tuple[str, LayerFormat], ...]  # name, "re:" and a pattern, or "Linear"
    has_kv_scales: bool = False  # for a quantized KV cache; unused

    def format_of(self, *names: str) -> LayerFormat | None:
        """Return a module's format, the most specific target first.

        names: in the model, and in the file if that differs; a target may have either.
        """
        by_name = [found for target, found in self.targets if target in names]
        by_pattern = [
            found
            for target, found in self.targets
            if target.startswith(_REGEX)
            and any(re.match(target.removeprefix(_REGEX), name) for name in names)
        ]
        by_class = [found for target, found in self.targets if target == _ALL]
        return next(iter(by_name + by_pattern + by_class), None)


def read_quantization(config: Mapping[str, Any]) -> StoredQuantization | None:
    """Return the quantization that a `config.json` describes; None for plain weights.

    Raises `ModelUnsupported` for unsupported settings, with the setting and an alternative.
    """
    settings = config.get("quantization_config") or config.get("compression_config")
    if not settings and _is_of_mlx(config.get("quantization")):
        raise _make_error("packed by MLX, which is not served")
    if not settings:
        return None
    if not isinstance(settings, Mapping):
        raise _unreadable("quantization_config", settings)
    named = settings.get("quant_method")
    if not named:
        hint = " (MLX names none, and is not served)" if "group_size" in settings else ""
        raise _make_error(f"quantization_config names no quant_method{hint}", _IF_PLAIN)
    method = str(named).replace("_", "-")
    read = _METHODS.get(method)
    if read is None:
        hint = " (a GPTQ export of it would be)" if method in _WITH_GPTQ_EXPORT else ""
        raise _make_error(f"the method {method} is not served{hint}", _IF_PLAIN)
    return read(settings)


def _is_of_mlx(settings: object) -> bool:
    return isinstance(settings, Mapping) and ("bits" in settings or "group_size" in settings)


_WITH_GPTQ_EXPORT = ("auto-round", "intel/auto-round", "intel")
# Weights saved after dequantization often keep their old config.
_IF_PLAIN = "; if they are plain by now, remove quantization_config from config.json"


def _read_gptq(settings: Mapping[str, Any]) -> StoredQuantization:
    layout = str(settings.get("checkpoint_format") or settings.get("format") or "gptq").lower()
    if settings.get("is_marlin_format"):
        layout = "marlin"
    if layout not in ("gptq", "gptq_v2"):
        raise _make_error(f"the GPTQ checkpoint format {layout} is packed for another engine")
    _require_words_of_32_bits(settings)
    dynamic = settings.get("dynamic") or {}
    if not isinstance(dynamic, Mapping):
        raise _unreadable("dynamic", dynamic)
    targets = []
    for rule, changes in dynamic.items():
        sign, colon, pattern = str(rule).partition(":")
        if colon and sign == "-":
            continue  # these modules have plain weights, as their tensors show
        pattern = pattern if colon and sign == "+" else str(rule)
        if not isinstance(changes, Mapping):
            raise _unreadable(f"dynamic[{rule!r}]", changes)
        targets.append((_pattern(pattern), _gptq_format(layout, {**settings, **changes})))
    targets.append((_ALL, _gptq_format(layout, settings)))
    return StoredQuantization("gptq", tuple(targets))


def _gptq_format(layout: str, settings: Mapping[str, Any]) -> LayerFormat:
    return LayerFormat(
        layout="gptq_v2" if layout == "gptq_v2" else "gptq",
        bits=_bits(settings.get("bits"), "GPTQ"),
        group_size=_group_size(settings.get("group_size", -1)),
        is_symmetric=bool(settings.get("sym", True)),
        needs_order=bool(settings.get("desc_act")) and not settings.get("static_groups"),
    )


def _read_awq(settings: Mapping[str, Any]) -> StoredQuantization:
    version = str(settings.get("version") or settings.get("format") or "gemm").lower()
    if settings.get("backend") == "llm-awq":
        version = "llm-awq"
    if version != "gemm":
        raise _make_error(f"the AWQ version {version} is not served, only gemm is")
    bits = _bits(settings.get("bits", settings.get("w_bit")), "AWQ")
    if bits != 4:
        raise _make_error(f"AWQ packs 4 bits, not {bits}")
    _require_words_of_32_bits(settings)
    group_size = settings.get("group_size", settings.get("q_group_size", -1))
    is_symmetric = settings.get("zero_point", True) is False
    found = LayerFormat("awq", bits, _group_size(group_size), is_symmetric)
    return StoredQuantization("awq", ((_ALL, found),))


def _read_compressed_tensors(settings: Mapping[str, Any]) -> StoredQuantization | None:
    sparsity = settings.get("sparsity_config") or {}
    if isinstance(sparsity, Mapping) and str(sparsity.get("format") or "dense") != "dense":
        raise _make_error(f"the weights are stored sparse ({sparsity['format']})")
    transforms = settings.get("transform_config") or {}
    if not isinstance(transforms, Mapping) or transforms.get("config_groups"):
        raise _make_error("its transform_config rotates weights and activations")
    groups = settings.get("config_groups")
    has_kv_scales = settings.get("kv_cache_scheme") is not None
    if has_kv_scales and groups in ({}, None):
        return None  # only the KV cache is quantized
    if not isinstance(groups, Mapping) or not groups:
        raise _unreadable("config_groups", groups)
    targets = []
    for name, group in groups.items():
        if not isinstance(group, Mapping) or not isinstance(group.get("targets"), list):
            raise _unreadable(f"config_groups.{name}", group)
        found = _group_format(str(name), group, settings.get("format"))
        targets += [(_target(str(target)), found) for target in group["targets"]]
    return StoredQuantization("compressed-tensors", tuple(targets), has_kv_scales)


def _group_format(name: str, group: Mapping[str, Any], shared: object) -> LayerFormat:
    weights = group.get("weights")
    if not isinstance(weights, Mapping):
        raise _make_error(f"{name} quantizes activations without weights")
    layout = str(group.get("format") or shared)
    if weights.get("type") == "float" and layout in ("float-quantized", "naive-quantized"):
        return _float8_group(name, group, weights)
    if layout == "nvfp4-pack-quantized":
        return _nvfp4_group(name, weights)
    if layout not in ("int-quantized", "pack-quantized"):
        raise _make_error(f"the format {layout} of {name} is not served")
    kind = weights.get("type", "int")
    if kind != "int":
        raise _make_error(f"the weights of {name} are {kind} with {weights.get('num_bits')} bits")
    strategy = weights.get("strategy") or ("group" if weights.get("group_size") else "tensor")
    if strategy == "group" and weights.get("group_size") == -1:
        strategy = "channel"
    if strategy not in ("tensor", "channel", "group"):
        raise _make_error(f"the weights of {name} are scaled by {strategy}")
    if weights.get("dynamic"):
        raise _make_error(f"the weights of {name} are quantized again at run time")
    _check_activations(name, group)
    return LayerFormat(
        layout="int-quantized" if layout == "int-quantized" else "pack-quantized",
        bits=_bits(weights.get("num_bits"), name),
        group_size=_group_size(weights.get("group_size")) if strategy == "group" else None,
        is_symmetric=bool(weights.get("symmetric", True)),
    )


def _float8_group(name: str, group: Mapping[str, Any], weights: Mapping[str, Any]) -> LayerFormat:
    """Return the format for fp8 weights; activations stay in the model's dtype."""
    if group.get("output_activations") is not None:
        raise _make_error(f"{name} quantizes layer outputs")
    if weights.get("num_bits") != 8:
        raise _make_error(f"the weights of {name} are float with {weights.get('num_bits')} bits")
    strategy = weights.get("strategy") or "tensor"
    if strategy == "block":
        return _float8(weights.get("block_structure"))
    if strategy == "group":
        return _float8([1, weights.get("group_size")])
    if strategy not in ("tensor", "channel"):
        raise _make_error(f"the weights of {name} are scaled by {strategy}")
    return _float8(None)


def _nvfp4_group(name: str, weights: Mapping[str, Any]) -> LayerFormat:
    size = weights.get("group_size")
    if size not in (None, _NVFP4.group_size):
        raise _make_error(
            f"nvfp4 of {name} has groups of {size} inputs; only groups of 16 are supported"
        )
    return _NVFP4


def _read_fp8(settings: Mapping[str, Any]) -> StoredQuantization:
    return StoredQuantization("fp8", ((_ALL, _float8(settings.get("weight_block_size"))),))


def _read_fbgemm(_: Mapping[str, Any]) -> StoredQuantization:
    return StoredQuantization("fbgemm_fp8", ((_ALL, _float8(None)),))


def _read_modelopt(settings: Mapping[str, Any]) -> StoredQuantization:
    nested = settings.get("quantization")  # as in hf_quant_config.json
    inner = nested if isinstance(nested, Mapping) else settings
    algorithm = str(inner.get("quant_algo"))
    if algorithm == "MIXED_PRECISION":
        layers = inner.get("quantized_layers")
        if not isinstance(layers, Mapping) or not layers:
            raise _unreadable("quantized_layers", layers)
        targets = tuple((str(name), _of_modelopt(layer)) for name, layer in layers.items())
    else:
        targets = ((_ALL, _of_modelopt(inner)),)
    has_kv_scales = bool(inner.get("kv_cache_quant_algo") or inner.get("kv_cache_scheme"))
    return StoredQuantization("modelopt", targets, has_kv_scales)


def _of_modelopt(settings: object) -> LayerFormat:
    algorithm = str(settings.get("quant_algo") if isinstance(settings, Mapping) else settings)
    found = _OF_MODELOPT.get(algorithm)
    if found is None:
        raise _make_error(f"the ModelOpt algorithm {algorithm} is not served")
    return found


def _read_mxfp4(settings: Mapping[str, Any]) -> StoredQuantization:
    return StoredQuantization("mxfp4", ((_ALL, LayerFormat("mxfp4", 4, 32, True)),))


def _float8(block: object) -> LayerFormat:
    if block is None:
        return LayerFormat("float8", 8, None, True)
    sizes = list(block) if isinstance(block, list | tuple) else []
    if len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise _unreadable("the block of a scale", block)
    return LayerFormat("float8", 8, None, True, block=(sizes[0], sizes[1]))


_NVFP4 = LayerFormat("nvfp4", 4, 16, True)
_OF_MODELOPT = {
    "FP8": _float8(None),
    "FP8_PER_CHANNEL_PER_TOKEN": _float8(None),
    "FP8_PB_WO": _float8([128, 128]),
    "MXFP8": _float8([1, 32]),
    "NVFP4": _NVFP4,
}


def _check_activations(name: str, group: Mapping[str, Any]) -> None:
    if group.get("output_activations") is not None:
        raise _make_error(f"{name} quantizes layer outputs")
    inputs = group.get("input_activations")
    if inputs is None:
        return
    if not isinstance(inputs, Mapping):
        raise _unreadable(f"config_groups.{name}.input_activations", inputs)
    if inputs.get("type", "int") != "int" or inputs.get("num_bits", 8) != 8:
        kind = f"{inputs.get('type')} with {inputs.get('num_bits')} bits"
        raise _make_error(f"the activations of {name} are {kind}; 8-bit integers are served")
    if inputs.get("dynamic") is not True:
        raise _make_error(
            f"the activations of {name} are quantized with scales fixed beforehand (static); "
            f"dynamic activation quantization is served"
        )


_METHODS = {
    "compressed-tensors": _read_compressed_tensors,
    "gptq": _read_gptq,
    "awq": _read_awq,
    "fp8": _read_fp8,
    "fbgemm-fp8": _read_fbgemm,
    "modelopt": _read_modelopt,
    "mxfp4": _read_mxfp4,
}


def _bits(value: object, what: str) -> int:
    if value not in _BITS or isinstance(value, bool) or not isinstance(value, int):
        raise _make_error(f"the weights of {what} have {value} bits")
    return value


def _group_size(value: object) -> int | None:
    if value is None or value == -1:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _unreadable("group_size", value)
    return value


def _require_words_of_32_bits(settings: Mapping[str, Any]) -> None:
    word = str(settings.get("pack_dtype") or "int32").removeprefix("torch.")
    if word != "int32":
        raise _make_error(f"the weights are packed into {word} instead of int32")


def _target(target: str) -> str:
    if target.startswith(_REGEX):
        return _pattern(target.removeprefix(_REGEX))
    if target != _ALL and "." not in target and target[:1].isupper():
        raise _make_error(f"it quantizes modules of class {target}, not only linear layers")
    return target


def _pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise _unreadable(f"the pattern of modules {pattern!r} ({error})", pattern) from None
    return _REGEX + pattern


def _make_error(why: str, or_else: str = "") -> ModelUnsupported:
    return ModelUnsupported(
        f"the weights are quantized, and {why}. Served are {SERVED}; or use a checkpoint in "
        f"bfloat16, float16 or float32{or_else}"
    )


def _unreadable(what: str, value: object) -> ModelUnsupported:
    return ModelUnsupported(
        f"the quantization_config of config.json is damaged: {what} is {str(value)[:80]!r}; "
        f"download the model again",
        code="model_damaged",
    )
