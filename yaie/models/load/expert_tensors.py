"""Expert tensors: the tensors of a checkpoint that make up each expert, read expert by expert.

Joined weights in bfloat16 are several times as large as the packed ones, so transformers' loader
omits experts. Files are read, not mapped: mapped pages count as memory. Called by the loader.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.moe import experts_of
from yaie.models.files.checkpoint import StoredTensor
from yaie.models.load.expert_parameters import (
    Conversion,
    PlainParameter,
    find_quantized,
    rounded_nbytes,
)
from yaie.models.native.packed_experts import ExpertsLayout, UnknownExperts, read_layout
from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantized_layers import QuantizedLayer, QuantizedLayout
from yaie.models.quantization.quantized_weights import QuantizedWeight

_NUMBERS = re.compile(r"(\d+)")
_BIAS_BYTES = 4
_Stored = StoredTensor | QuantizedLayer

log = logging.getLogger(__name__)


class StoredParameter(Protocol):
    """A parameter that a file stores quantized, or expert by expert in the order of the kernels."""

    @property
    def names(self) -> set[str]:
        """The checkpoint's names of all tensors."""

    @property
    def kind(self) -> str | None:
        """The type of the weights that stay as they are; None if they are rounded."""

    def nbytes(self, kind: str | None) -> int:
        """Return the bytes of all experts; `kind`: of weights that are rounded."""

    def read(self, index: int) -> torch.Tensor | QuantizedWeight | BlockWeight:
        """Return one expert's weights [outputs, inputs] or bias [outputs], gates first."""


@dataclass(frozen=True, slots=True, eq=False)
class ExpertSource:
    """The experts of one layer."""

    name: str  # the module of experts in the model
    layout: ExpertsLayout
    parameters: Mapping[str, PlainParameter | StoredParameter]

    @property
    def kinds(self) -> set[str]:
        """The types of weights that stay as they are stored."""
        found = (self._kind_of(part) for part in WEIGHTS)
        return {kind for kind in found if kind is not None}

    @property
    def is_rounded(self) -> bool:
        """True if weights are rounded as they are read."""
        return any(self.rounds(part) for part in WEIGHTS)

    def rounds(self, part: str) -> bool:
        """Return True if the weights of a part are rounded as they are read."""
        return self._kind_of(part) is None

    def _kind_of(self, part: str) -> str | None:
        parameter = self.parameters[part]
        return None if isinstance(parameter, PlainParameter) else parameter.kind

    def read(self, index: int, part: str) -> torch.Tensor | QuantizedWeight | BlockWeight:
        """Return an expert's weights [outputs, inputs], gates first.

        Raises `ModelUnsupported` for numbers that are not finite.
        """
        parameter = self.parameters[part]
        if isinstance(parameter, PlainParameter):
            return self._read_plain(index, part, parameter)
        return parameter.read(index)

    def read_bias(self, index: int, part: str) -> torch.Tensor | None:
        """Return an expert's bias [outputs], gates first; None if it has none."""
        if part not in self.parameters:
            return None
        found = self.read(index, part)
        assert isinstance(found, torch.Tensor)
        return found

    def _read_plain(self, index: int, part: str, parameter: PlainParameter) -> torch.Tensor:
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
        return set().union(*(each.names for each in self.parameters.values()))

    @property
    def num_weights(self) -> int:
        """Number of weights, without biases."""
        return 3 * self.layout.num_experts * self.layout.hidden * self.layout.inner

    def nbytes(self, kind: str | None) -> int:
        """Return the packed bytes; `kind`: of weights that are rounded."""
        layout = self.layout
        total = 0
        for part, (outputs, inputs) in self.sizes.items():
            parameter = self.parameters[part]
            if layout.has_bias:
                total += layout.num_experts * outputs * _BIAS_BYTES
            if not isinstance(parameter, PlainParameter):
                total += parameter.nbytes(kind)
                continue
            assert kind is not None
            total += layout.num_experts * rounded_nbytes(outputs, inputs, kind)
        return total

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """The outputs and inputs of an expert's two layers."""
        layout = self.layout
        pairs = ((2 * layout.inner, layout.hidden), (layout.hidden, layout.inner))
        return dict(zip(WEIGHTS, pairs, strict=True))


WEIGHTS = ("gate_up_proj", "down_proj")


def find_experts(
    model: Any,
    tensors: Mapping[str, StoredTensor],
    layout: QuantizedLayout | None = None,
    *,
    rounds: bool = True,
) -> list[ExpertSource]:
    """Return the experts of a model on the meta device that are packed.

    layout: of a quantized checkpoint. rounds: plain weights are rounded; otherwise modules of plain
    experts are not packed. Raises `UnknownExperts` if no module can be.
    """
    modules = experts_of(model)
    if not modules:
        return []
    stored: dict[str, _Stored] = dict(tensors)
    if layout is not None:
        stored = {each.name: each for each in layout.plain}
        stored |= {layer.weight_name: layer for layer in layout.layers}
    try:
        joined = _join(model, stored)
    except (AttributeError, ImportError, TypeError) as error:
        raise UnknownExperts(f"transformers converts weights in another way: {error}") from error

    def make(name: str, module: nn.Module) -> ExpertSource | None:
        if not rounds and not _is_quantized(name, joined):
            return None
        return _source(name, module, joined, rounds=rounds)

    return gather(modules, make)


def gather(
    modules: Mapping[str, nn.Module], make: Callable[[str, nn.Module], ExpertSource | None]
) -> list[ExpertSource]:
    """Return what `make` finds in the modules; log why modules are not packed.

    Raises `UnknownExperts` if `make` does for all modules.
    """
    found, reasons = [], Counter[str]()
    for name, module in modules.items():
        try:
            source = make(name, module)
        except UnknownExperts as reason:
            reasons[str(reason)] += 1
            continue
        if source is not None:
            found.append(source)
    if reasons and not found:
        raise UnknownExperts(next(iter(reasons)))
    for why, count in reasons.items():
        log.warning("the experts of %d layers are not packed: %s", count, why)
    return found


def names_of(experts: Iterable[ExpertSource]) -> set[str]:
    """Return the checkpoint's names of all experts' tensors."""
    return set[str]().union(*(each.names for each in experts))


def _is_quantized(name: str, joined: Mapping[str, _Joined]) -> bool:
    """Return True if both of a module's weights are quantized."""
    parts = (joined.get(f"{name}.{part}") for part in WEIGHTS)
    return all(part is not None and part.is_quantized for part in parts)


def _source(
    name: str, module: nn.Module, joined: Mapping[str, _Joined], *, rounds: bool
) -> ExpertSource:
    layout = read_layout(module)
    parameters: dict[str, PlainParameter | StoredParameter] = {}
    for part, parameter in module.named_parameters():
        found = joined.get(f"{name}.{part}")
        if found is None:
            raise UnknownExperts("its experts are stored in another way")
        try:
            if found.is_quantized:
                parameters[part] = find_quantized(
                    layout,
                    found.layers,
                    Conversion(found.converter),
                    is_gated=part.startswith("gate_up"),
                    rounds=rounds,
                )
            else:
                plain = PlainParameter(
                    tuple(parameter.shape), found.plain, Conversion(found.converter)
                )
                plain.check()
                parameters[part] = plain
        except (RuntimeError, ValueError, KeyError, IndexError) as error:
            raise UnknownExperts("its experts are stored in another way") from error
    return ExpertSource(name, layout, parameters)


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """The stored tensors and layers that transformers joins in a parameter."""

    converter: Any
    stored: dict[str, list[_Stored]]  # by the converter's source pattern

    @property
    def is_quantized(self) -> bool:
        return any(isinstance(each, QuantizedLayer) for each in self._all)

    @property
    def layers(self) -> dict[str, list[QuantizedLayer]]:
        if not all(isinstance(each, QuantizedLayer) for each in self._all):
            raise UnknownExperts("some of its experts are quantized, and others are plain")
        return self.stored  # type: ignore[return-value]

    @property
    def plain(self) -> dict[str, tuple[StoredTensor, ...]]:
        return {
            pattern: tuple(each for each in group if isinstance(each, StoredTensor))
            for pattern, group in self.stored.items()
        }

    @property
    def _all(self) -> list[_Stored]:
        return [each for group in self.stored.values() for each in group]


def _join(model: Any, stored: Mapping[str, _Stored]) -> dict[str, _Joined]:
    """Return what transformers joins in each parameter."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, WeightRenaming

    transforms = get_model_conversion_mapping(model)
    renamings = [each for each in transforms if isinstance(each, WeightRenaming)]
    converters = [each for each in transforms if isinstance(each, WeightConverter)]
    wanted = {name for name, _ in model.named_parameters()}
    prefix = f"{model.base_model_prefix}."
    joined: dict[str, _Joined] = {}
    for name in sorted(stored, key=_natural_key):
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
        place = joined.setdefault(target, _Joined(converter, {}))
        place.stored.setdefault(pattern, []).append(stored[name])
    return joined


def _natural_key(name: str) -> list[tuple[int, str]]:
    parts = _NUMBERS.split(name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
