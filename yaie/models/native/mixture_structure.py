"""Structure of mixtures by their modules, independent of the model's name.

A mixture is a router, experts and perhaps a shared expert. Routers differ in how they turn scores
into weights: the form of a router is found by evaluating it, and a mixture is compared with its
parts.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import torch
from torch import nn

from yaie.models.architecture.moe import is_experts
from yaie.models.native.decoder_structure import (
    GatedMlp,
    LinearParts,
    NotRecognised,
    gated_mlp_of,
)
from yaie.models.native.packed_experts import PackedExperts, UnknownExperts, read_layout
from yaie.models.quantization.quantized_weights import QuantizedLinear

ScoresName = Literal["softmax", "sigmoid"]
_SCORES: tuple[ScoresName, ...] = ("softmax", "sigmoid")

_ROUTERS = ("gate", "router")
_SHARED = ("shared_expert", "shared_experts", "shared_mlp")
_CHOICE_BIASES = ("e_score_correction_bias", "expert_bias")
_FACTORS = ("routed_scaling_factor", "router_scaling_factor")
_PROBE_ROWS = 9
_MIXED_ROWS = 5
# Of a row's weights or results: the original may compute in 16 bits, and then choose other experts
# for a few rows.
_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Router:
    """A router: rows choose the experts with the largest scores, which are their weights too."""

    weight: torch.Tensor  # [experts, hidden]
    bias: torch.Tensor | None  # [experts]
    choice_bias: torch.Tensor | None  # [experts], added to scores for the choice only
    num_chosen: int
    scores: ScoresName
    normalises: bool  # the weights of a row are divided by their sum
    num_groups: int  # rows choose among the experts of the best groups
    chosen_groups: int
    factor: float  # on the weights

    def choose(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the experts [rows, num_chosen] that rows choose, and their weights."""
        bias = None if self.bias is None else self.bias.float()
        logits = nn.functional.linear(rows.float(), self.weight.float(), bias)
        scores = logits.softmax(-1) if self.scores == "softmax" else logits.sigmoid()
        choice = scores if self.choice_bias is None else scores + self.choice_bias.float()
        if self.num_groups > 1:
            groups = choice.view(len(rows), self.num_groups, -1)
            best = groups.topk(min(2, groups.shape[-1]), -1).values.sum(-1)
            kept = torch.zeros_like(best).scatter(-1, best.topk(self.chosen_groups).indices, 1)
            choice = groups.masked_fill(kept[..., None] == 0, -torch.inf).flatten(-2)
        ids = choice.topk(self.num_chosen, -1).indices
        weights = scores.gather(-1, ids)
        if self.normalises:
            weights = weights / weights.sum(-1, keepdim=True)
        return ids, weights * self.factor


@dataclass(frozen=True, slots=True)
class MixtureParts:
    """A layer's mixture of experts."""

    router: Router
    experts: nn.Module  # of transformers, or packed
    shared: GatedMlp | None  # an expert that serves all rows
    shared_gate: torch.Tensor | None  # [hidden]: the shared expert is scaled by sigmoid(gate . x)

    def compute(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the results for rows [rows, hidden]."""
        ids, weights = self.router.choose(rows)
        mixed: torch.Tensor = self.experts(rows, ids, weights.to(rows.dtype)).float()
        if self.shared is None:
            return mixed
        shared = self.shared.compute(rows).float()
        if self.shared_gate is not None:
            shared *= torch.sigmoid(rows.float() @ self.shared_gate.float())[:, None]
        return mixed + shared


def mixture_of(modules: tuple[nn.Module, ...]) -> MixtureParts:
    """Return a mixture by its modules; results of several are added.

    Raises `NotRecognised`.
    """
    block, *others = modules
    children = dict(block.named_children())
    experts, router = children.pop("experts", None), None
    for name in _ROUTERS:
        router = children.pop(name, router)
    if experts is None or router is None or not is_experts(experts):
        raise NotRecognised("the MLP is no gated one, and no mixture of experts")
    shared = [children.pop(name) for name in _SHARED if name in children] + others
    gate = children.pop("shared_expert_gate", None)
    tensors = {name for name, _ in _own_tensors(block)}
    if odd := sorted(set(children) | tensors.difference(_CHOICE_BIASES)):
        raise NotRecognised(f"{type(block).__name__} has {', '.join(odd)}")
    mlp = gated_mlp_of(shared[0]) if len(shared) == 1 else None
    if shared and mlp is None:
        raise NotRecognised(f"{type(block).__name__} has a shared expert of another form")
    if not isinstance(experts, PackedExperts):
        try:
            read_layout(experts)
        except UnknownExperts as reason:
            raise NotRecognised(str(reason)) from None
    return MixtureParts(
        router=_router_of(router, _choice_bias_of(dict(_own_tensors(block)))),
        experts=experts,
        shared=mlp,
        shared_gate=None if gate is None else _gate_of(gate),
    )


def check_mixture(parts: MixtureParts, modules: tuple[nn.Module, ...], dtype: torch.dtype) -> None:
    """Raise `NotRecognised` unless a mixture computes what its parts say.

    `dtype`: the model's, which its router may not share.
    """
    rows = _probe(parts.router.weight, _MIXED_ROWS).to(dtype)
    try:
        with torch.no_grad():
            expected = torch.zeros_like(rows, dtype=torch.float32)
            for module in modules:
                found = module(rows[None])
                expected += (found[0] if isinstance(found, tuple) else found)[0].float()
            difference = (parts.compute(rows) - expected).norm(dim=-1)
    except Exception as error:  # of a forward that takes more, or rows of another dtype
        raise NotRecognised(f"{type(modules[0]).__name__} does not run alone: {error}") from error
    if not bool(difference.median() <= _TOLERANCE * expected.norm(dim=-1).median()):
        raise NotRecognised(f"{type(modules[0]).__name__} computes more than its parts")


def _own_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)


def _choice_bias_of(tensors: dict[str, torch.Tensor]) -> torch.Tensor | None:
    """Take the bias of the choice out of a module's tensors."""
    return next((tensors.pop(name) for name in _CHOICE_BIASES if name in tensors), None)


def _gate_of(module: nn.Module) -> torch.Tensor:
    is_linear = isinstance(module, nn.Linear | QuantizedLinear)
    if not is_linear or module.out_features != 1 or module.bias is not None:
        raise NotRecognised(f"{type(module).__name__} is no plain gate of a shared expert")
    return LinearParts((module,)).weight(torch.float32)[0]


def _probe(weight: torch.Tensor, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randn(count, weight.shape[1], generator=generator).to(weight.dtype)


def _router_of(module: nn.Module, block_bias: torch.Tensor | None) -> Router:
    """Return a router; the form of its scores is found by evaluating it."""
    tensors = {name: each.detach() for name, each in _own_tensors(module)}
    weight, bias = tensors.pop("weight", None), tensors.pop("bias", None)
    choice_bias = _choice_bias_of(tensors)
    if choice_bias is None:
        choice_bias = block_bias
    router: Any = module
    number = getattr(router, "top_k", None)
    unknown = NotRecognised(f"{type(module).__name__} is another router than softmax or sigmoid")
    if weight is None or tensors or list(module.children()) or not isinstance(number, int):
        raise unknown
    rows = _probe(weight, _PROBE_ROWS)
    takes_bias = any(
        name in _CHOICE_BIASES for name in inspect.signature(router.forward).parameters
    )
    try:
        with torch.no_grad():
            _, weights, ids = router(rows, block_bias) if takes_bias else router(rows)
        expected = _spread(ids, weights, len(weight))
    except Exception as error:  # of a forward that takes or returns something else
        raise unknown from error
    factor = next((float(each) for name in _FACTORS if (each := getattr(router, name, None))), 1.0)
    groups = (getattr(router, "num_group", 1), getattr(router, "topk_group", 1))
    for scores, normalises in product(_SCORES, (True, False)):
        found = Router(
            weight, bias, choice_bias, number, scores, normalises, *groups, factor
        )  # fmt: skip
        difference = (_spread(*found.choose(rows), len(weight)) - expected).norm(dim=-1)
        if bool(difference.median() <= _TOLERANCE * expected.norm(dim=-1).median()):
            return found
    raise unknown


def _spread(ids: torch.Tensor, weights: torch.Tensor, count: int) -> torch.Tensor:
    """Return weights [rows, chosen] as [rows, count], 0 for experts that are not chosen."""
    return torch.zeros(len(ids), count).scatter(-1, ids, weights.float())
