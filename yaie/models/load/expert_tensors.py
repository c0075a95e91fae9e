"""Expert tensors: the tensors of a checkpoint that make up each expert, read expert by expert.

transformers joins the experts of a layer in three-dimensional parameters. Joined weights in
bfloat16 are several times as large as the packed ones, so transformers' loader omits experts,
and its own conversions are applied to one expert's tensors at a time. Files are read, not
mapped: mapped pages count as memory. Called by the loader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import nn

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.moe import experts_of
from yaie.models.files.checkpoint import DTYPES, ELEMENT_BYTES, StoredTensor
from yaie.models.native.packed_experts import ExpertsLayout, UnknownExperts, read_layout
from yaie.models.quantization.float_formats import BLOCKS
from yaie.models.quantization.quantized_weights import QuantizedWeight
from yaie.models.quantization.tensor_shapes import damage_error

_NUMBERS = re.compile(r"(\d+)")
_DTYPES = {**DTYPES, "U8": "uint8"}
# mxfp4 exponents in float32: 255 is not a number, and 0 is 2^-127, which is subnormal.
_NOT_A_NUMBER = 255
_MANTISSA_BITS = 23
_LEAST_POWER = 0x00400000


@dataclass(frozen=True, slots=True, eq=False)
class JoinedParameter:
    """A parameter of a module of experts, and the tensors that transformers joins in it."""

    shape: tuple[int, ...]  # [experts, ...]
    # By the converter's source pattern, in the order of experts; a tensor may hold all experts.
    tensors: Mapping[str, tuple[StoredTensor, ...]]
    converter: Any  # transformers' WeightConverter; None: the tensor is the parameter

    def read(self, index: int, *, on_meta: bool = False) -> torch.Tensor:
        """Return one expert's part. Raises `UnknownExperts` if the tensors do not make it up."""
        parts = {
            pattern: [_read_expert(tensors, index, self.shape[0], on_meta=on_meta)]
            for pattern, tensors in self.tensors.items()
        }
        found: Any = parts
        if self.converter is not None:
            for operation in self.converter.operations:
                found = operation.convert(
                    found,
                    source_patterns=self.converter.source_patterns,
                    target_patterns=self.converter.target_patterns,
                    full_layer_name="",
                    model=None,
                    config=None,
                    missing_keys=None,
                )
        (joined,) = found.values()
        joined = joined[0] if isinstance(joined, list) else joined
        if joined.shape != (1, *self.shape[1:]):
            raise UnknownExperts("its experts are stored in another way")
        part: torch.Tensor = joined[0]
        return part


@dataclass(frozen=True, slots=True, eq=False)
class Mxfp4Parameter:
    """All experts' weights in mxfp4, as gpt-oss publishes them."""

    blocks: StoredTensor  # uint8 [experts, outputs, groups, 16], the first of two codes below
    exponents: StoredTensor  # uint8 [experts, outputs, groups]

    def read(self, index: int) -> QuantizedWeight:
        """Return one expert's weights [outputs, inputs]. Raises `ModelUnsupported` for NaN."""
        pairs, exponents = (_read(each, index)[0] for each in (self.blocks, self.exponents))
        if bool((exponents == _NOT_A_NUMBER).any()):
            raise damage_error(self.blocks.name.removesuffix(BLOCKS), "its scales are not finite")
        codes = torch.stack((pairs & 0xF, pairs >> 4), dim=-1).view(len(pairs), -1)
        bits = exponents.int() << _MANTISSA_BITS
        powers = torch.where(bits == 0, _LEAST_POWER, bits).view(torch.float32)
        return QuantizedWeight(4, codes, powers, None)


@dataclass(frozen=True, slots=True, eq=False)
class ExpertSource:
    """The experts of one layer."""

    name: str  # the module of experts in the model
    layout: ExpertsLayout
    parameters: Mapping[str, JoinedParameter | Mxfp4Parameter]

    @property
    def kind(self) -> str | None:
        """The type of weights that stay as they are stored; None for plain weights."""
        is_mxfp4 = isinstance(self.parameters["down_proj"], Mxfp4Parameter)
        return "mxfp4" if is_mxfp4 else None

    def read(self, index: int, part: str) -> torch.Tensor | QuantizedWeight:
        """Return an expert's weights [outputs, inputs], gates first.

        Raises `ModelUnsupported` for numbers that are not finite.
        """
        parameter = self.parameters[part]
        if isinstance(parameter, JoinedParameter):
            return self._read_plain(index, part, parameter)
        weight = parameter.read(index)
        if not (part.startswith("gate_up") and self.layout.is_interleaved):
            return weight
        values, scales = (
            torch.cat((rows[::2], rows[1::2])) for rows in (weight.values, weight.scales)
        )
        return QuantizedWeight(4, values, scales, None)

    def read_bias(self, index: int, part: str) -> torch.Tensor | None:
        """Return an expert's bias [outputs], gates first; None if it has none."""
        parameter = self.parameters.get(part)
        if not isinstance(parameter, JoinedParameter):
            return None
        return self._read_plain(index, part, parameter)

    def _read_plain(self, index: int, part: str, parameter: JoinedParameter) -> torch.Tensor:
        found = parameter.read(index)
        if not bool(torch.isfinite(found.sum(dtype=torch.float32))):
            raise ModelUnsupported(
                f"the weights of {self.name}.{part} are damaged: expert {index} contains "
                f"non-finite numbers; save the model again from finite weights, or use another "
                f"checkpoint",
                code="model_damaged",
            )
        return self.layout.matrix(found, is_gated=part.startswith("gate_up"))

    @property
    def names(self) -> set[str]:
        """The checkpoint's names of all tensors."""
        found = set()
        for each in self.parameters.values():
            if isinstance(each, Mxfp4Parameter):
                found |= {each.blocks.name, each.exponents.name}
            else:
                found |= {tensor.name for group in each.tensors.values() for tensor in group}
        return found


def find_experts(model: Any, tensors: Mapping[str, StoredTensor]) -> list[ExpertSource]:
    """Return the experts of a model on the meta device. Raises `UnknownExperts`."""
    modules = experts_of(model)
    if not modules:
        return []
    try:
        joined = _join(model, tensors)
    except (AttributeError, ImportError, TypeError) as error:
        raise UnknownExperts(f"transformers converts weights in another way: {error}") from error
    return [_source(name, module, joined) for name, module in modules.items()]


def _source(name: str, module: nn.Module, joined: Mapping[str, dict[str, Any]]) -> ExpertSource:
    layout = read_layout(module)
    parameters: dict[str, JoinedParameter | Mxfp4Parameter] = {}
    for part, parameter in module.named_parameters():
        found, blocks = joined.get(f"{name}.{part}"), joined.get(f"{name}.{part}{BLOCKS}")
        if found is None and blocks is not None:
            parameters[part] = _mxfp4_parameter(blocks, joined.get(f"{name}.{part}_scales"))
            continue
        if found is None:
            raise UnknownExperts("its experts are stored in another way")
        each = JoinedParameter(tuple(parameter.shape), found["tensors"], found["converter"])
        if any(tensor.kind not in DTYPES for group in each.tensors.values() for tensor in group):
            raise UnknownExperts("its experts are quantized")
        try:
            each.read(0, on_meta=True)
        except (RuntimeError, ValueError, KeyError, IndexError) as error:
            raise UnknownExperts("its experts are stored in another way") from error
        parameters[part] = each
    return ExpertSource(name, layout, parameters)


def _mxfp4_parameter(blocks: dict[str, Any], scales: dict[str, Any] | None) -> Mxfp4Parameter:
    """Return a parameter by tensors whose shapes `find_mxfp4` has checked."""
    (values,), (exponents,) = (
        next(iter(each["tensors"].values())) for each in (blocks, scales or {"tensors": {"": ()}})
    )
    return Mxfp4Parameter(values, exponents)


def _join(model: Any, tensors: Mapping[str, StoredTensor]) -> dict[str, dict[str, Any]]:
    """Return the tensors of each parameter under an experts module, as transformers joins them."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, WeightRenaming

    transforms = get_model_conversion_mapping(model)
    renamings = [each for each in transforms if isinstance(each, WeightRenaming)]
    converters = [each for each in transforms if isinstance(each, WeightConverter)]
    wanted = {name for name, _ in model.named_parameters()}
    prefix = f"{model.base_model_prefix}."
    joined: dict[str, dict[str, Any]] = {}
    for name in sorted(tensors, key=_natural_key):
        target, converter, pattern = name, None, name
        for renaming in renamings:
            target, _ = renaming.rename_source_key(target)
        for each in converters:
            target, found = each.rename_source_key(target)
            if found is not None:
                converter, pattern = each, found
                break
        if target not in wanted:
            others = (prefix + target, target.removeprefix(prefix))
            target = next((each for each in others if each in wanted), target)
        place = joined.setdefault(target, {"tensors": {}, "converter": converter})
        place["tensors"].setdefault(pattern, []).append(tensors[name])
    return joined


def _natural_key(name: str) -> list[tuple[int, str]]:
    parts = _NUMBERS.split(name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _read_expert(
    tensors: Iterable[StoredTensor], index: int, num_experts: int, *, on_meta: bool
) -> torch.Tensor:
    """Return an expert's own tensor, or its slice [1, ...] of one with all experts."""
    listed = list(tensors)
    if len(listed) == num_experts and num_experts > 1:
        return _read(listed[index], None, on_meta=on_meta)
    if len(listed) == 1 and listed[0].shape[:1] == (num_experts,):
        return _read(listed[0], index, on_meta=on_meta)
    raise UnknownExperts(f"{len(listed)} tensors are stored for {num_experts} experts")


def _read(tensor: StoredTensor, index: int | None, *, on_meta: bool = False) -> torch.Tensor:
    """Return a tensor, or one slice [1, ...] of it, in new memory."""
    if tensor.is_changed:
        raise UnknownExperts("its experts are changed when they are read")
    shape = tensor.shape if index is None else (1, *tensor.shape[1:])
    dtype: torch.dtype = getattr(torch, _DTYPES[tensor.kind])
    if on_meta:
        return torch.empty(shape, dtype=dtype, device="meta")
    found = torch.empty(shape, dtype=dtype)
    first = tensor.first_byte + (index or 0) * prod(shape) * ELEMENT_BYTES[tensor.kind]
    memory = found.flatten().view(torch.uint8).numpy().data
    with tensor.file.open("rb", buffering=0) as file:
        done = 0
        while done < len(memory):
            count = os.preadv(file.fileno(), [memory[done:]], first + done)
            if not count:
                raise ModelUnsupported(
                    f"{tensor.file} was truncated while it was read; download it again",
                    code="model_damaged",
                )
            done += count
    return found
