"""Native mixtures: routers and experts of a packed decoder, and their place in a cache file."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import nn

from yaie.kernels.decoder_structures import SCORES, Experts, Linear, Mixture
from yaie.kernels.library import Library
from yaie.models.native.mixture_structure import MixtureParts
from yaie.models.native.packed_experts import Expert, PackedExperts, read_layout
from yaie.models.native.packing import Packer
from yaie.models.native.saved_structures import SavedTensors, restore


def pack_mixture(packer: Packer, library: Library, parts: MixtureParts) -> Mixture:
    """Pack a mixture without its shared expert; experts that are packed stay as they are."""
    experts = parts.experts
    if not isinstance(experts, PackedExperts):
        experts = _pack_experts(packer, library, experts)
    elif all(each is not experts.held[0] for each in packer.held):
        packer.held.extend(experts.held)
    router, has_groups = parts.router, parts.router.num_groups > 1
    linear = packer.pack_weight(router.weight.float(), router.bias)
    linear.exact = True
    mixture = Mixture(
        experts=experts.structure,
        router=linear,
        choice_bias=None if router.choice_bias is None else packer.floats(router.choice_bias),
        shared_gate=None if parts.shared_gate is None else packer.floats(parts.shared_gate),
        num_chosen=router.num_chosen,
        scores=SCORES[router.scores],
        normalises=router.normalises,
        num_groups=router.num_groups if has_groups else 1,
        chosen_groups=router.chosen_groups if has_groups else 1,
        factor=router.factor,
    )
    packer.keep(mixture)
    return mixture


def describe_mixture(address: int | None, tensors: SavedTensors) -> dict[str, Any] | None:
    """Return what `restore_mixture` needs besides the data. Raises `NotSavable`."""
    if address is None:
        return None
    mixture = Mixture.from_address(address)
    pairs = zip(*_layers_of(mixture.experts), strict=True)
    return {
        "mixture": tensors.describe(mixture),
        "experts": [[tensors.describe(each) for each in pair] for pair in pairs],
    }


def restore_mixture(described: dict[str, Any], base: int) -> tuple[Mixture, list[object]]:
    """Return a mixture, for data at an address, and the objects that must outlive it.

    Raises `KeyError`, `TypeError` or `ValueError` for another description.
    """
    mixture: Mixture = restore(Mixture, described["mixture"], base)
    experts = mixture.experts
    if len(described["experts"]) != experts.num_experts:
        raise ValueError("another number of experts")
    gate_up, down = ((Linear * experts.num_experts)() for _ in range(2))
    for index, (first, last) in enumerate(described["experts"]):
        gate_up[index], down[index] = restore(Linear, first, base), restore(Linear, last, base)
    experts.gate_up, experts.down = ctypes.addressof(gate_up), ctypes.addressof(down)
    return mixture, [mixture, gate_up, down]


def _layers_of(experts: Experts) -> tuple[ctypes.Array[Linear], ctypes.Array[Linear]]:
    kind = Linear * experts.num_experts
    return kind.from_address(experts.gate_up), kind.from_address(experts.down)


def _pack_experts(packer: Packer, library: Library, module: nn.Module) -> PackedExperts:
    """Pack the experts of transformers, and free them."""
    layout = read_layout(module)
    packed = PackedExperts(layout, library, packer)

    def part(name: str, index: int) -> torch.Tensor:
        joined: torch.Tensor = getattr(module, name)[index].detach()
        return layout.matrix(joined, is_gated=name.startswith("gate_up"))

    for index in range(layout.num_experts):
        biases = ("gate_up_proj_bias", "down_proj_bias") if layout.has_bias else ()
        names = ("gate_up_proj", "down_proj", *biases)
        packed.pack(index, Expert(*(part(name, index) for name in names)))
    for parameter in module.parameters():
        parameter.data = torch.empty(0, dtype=parameter.dtype)
    return packed
