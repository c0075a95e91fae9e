"""Packed experts: a layer's mixture of experts in the kernel library.

transformers computes a mixture by joined three-dimensional weights. Here each expert's two layers
are packed on their own, so that a model is packed expert by expert, and a step reads the experts
that its rows chose and no others. The router stays in the model.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from yaie.kernels.decoder_structures import GATED_OF_EXPERTS, Experts, ExpertsCall, Linear
from yaie.kernels.library import Library
from yaie.models.native.packing import Packer
from yaie.models.native.saved_structures import SavedTensors, restore
from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantized_weights import QuantizedModule, QuantizedWeight

_PROBE_WIDTH = 96
_TOLERANCE = 0.05  # of a result's norm: rows are rounded to bytes


class UnknownExperts(Exception):
    """Experts that the kernels do not compute; the message names the difference."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gated activation: its name, and the numbers of `clamped`."""

    name: str  # a key of GATED_OF_EXPERTS
    factor: float = 0.0
    limit: float = 0.0

    def apply(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Return the gated values."""
        if self.name == "silu":
            return nn.functional.silu(gate) * value
        if self.name == "gelu":
            return nn.functional.gelu(gate, approximate="tanh") * value
        gate, value = gate.clamp(max=self.limit), value.clamp(-self.limit, self.limit)
        return gate * torch.sigmoid(gate * self.factor) * (value + 1)


@dataclass(frozen=True, slots=True)
class ExpertsLayout:
    """The layout of a transformers module of experts."""

    num_experts: int
    hidden: int
    inner: int
    gate: Gate
    is_transposed: bool  # weights [inputs, outputs]
    is_interleaved: bool  # outputs: gate 0, value 0, gate 1, ...
    has_bias: bool

    def matrix(self, joined: torch.Tensor, *, is_gated: bool) -> torch.Tensor:
        """Return an expert's weights [outputs, inputs], or bias [outputs], gates first."""
        if joined.dim() == 2 and self.is_transposed:
            joined = joined.T
        if is_gated and self.is_interleaved:
            joined = torch.cat((joined[::2], joined[1::2]))
        return joined.contiguous()


def read_layout(module: nn.Module) -> ExpertsLayout:
    """Describe a transformers module of experts; on the meta device too.

    Raises `UnknownExperts`.
    """
    experts: Any = module
    if not experts.has_gate or getattr(experts, "has_post_expert_norm", False):
        raise UnknownExperts("its experts have no gate, or a norm after the products")
    is_transposed, has_bias = bool(experts.is_transposed), bool(experts.has_bias)
    names = {"gate_up_proj", "down_proj"}
    if has_bias:
        names |= {"gate_up_proj_bias", "down_proj_bias"}
    if {name for name, _ in experts.named_parameters()} != names:
        raise UnknownExperts("its experts have other weights than gate_up_proj and down_proj")
    num_experts, *sizes = experts.down_proj.shape
    hidden, inner = sizes[::-1] if is_transposed else sizes
    is_interleaved = not experts.is_concatenated
    gate = _find_gate(experts, is_interleaved)
    return ExpertsLayout(num_experts, hidden, inner, gate, is_transposed, is_interleaved, has_bias)


def _find_gate(experts: Any, is_interleaved: bool) -> Gate:
    """Return the activation of experts, found by evaluating it."""
    known = [Gate("silu"), Gate("gelu")]
    factor, limit = (getattr(experts, name, None) for name in ("alpha", "limit"))
    if factor and limit:
        known.insert(0, Gate("clamped", float(factor), float(limit)))
    gate = torch.linspace(-12, 12, _PROBE_WIDTH)
    value = torch.linspace(9, -11, _PROBE_WIDTH)
    both = torch.stack((gate, value), 1).flatten() if is_interleaved else torch.cat((gate, value))
    found = experts._apply_gate(both[None])[0]
    for each in known:
        if found.shape == gate.shape and torch.allclose(found, each.apply(gate, value), atol=1e-5):
            return each
    raise UnknownExperts("its activation is neither silu nor gelu nor gpt-oss's")


@dataclass(frozen=True, slots=True)
class Expert:
    """One expert's layers: weights [outputs, inputs], gates first, quantized or plain."""

    gate_up: QuantizedWeight | BlockWeight | torch.Tensor
    down: QuantizedWeight | BlockWeight | torch.Tensor
    gate_up_bias: torch.Tensor | None = None
    down_bias: torch.Tensor | None = None


class PackedExperts(QuantizedModule):
    """The experts of one layer, which are packed one after another."""

    def __init__(self, layout: ExpertsLayout, library: Library, packer: Packer) -> None:
        super().__init__()
        self.layout = layout
        # transformers' interface of experts has these.
        self.num_experts, self.has_gate, self.is_transposed = layout.num_experts, True, False
        self._kind: str | None = None
        self._nbytes = 0
        self._library = library
        self._packer = packer  # owns the memory
        self._gate_up = (Linear * layout.num_experts)()
        self._down = (Linear * layout.num_experts)()
        self.structure = Experts(
            num_experts=layout.num_experts,
            hidden=layout.hidden,
            gate_up=ctypes.addressof(self._gate_up),
            down=ctypes.addressof(self._down),
            activation=GATED_OF_EXPERTS[layout.gate.name],
            factor=layout.gate.factor,
            limit=layout.gate.limit,
        )
        packer.keep((self._gate_up, self._down))

    @property
    def kind(self) -> str | None:
        """See `QuantizedModule.kind`."""
        return self._kind

    def nbytes(self, *, packed: bool) -> int:
        """Return the bytes, which are always packed."""
        return self._nbytes

    @property
    def num_weights(self) -> int:
        """Number of weights and biases of all experts."""
        layout = self.layout
        biases = 2 * layout.inner + layout.hidden if layout.has_bias else 0
        return layout.num_experts * (3 * layout.hidden * layout.inner + biases)

    def pack(self, index: int, expert: Expert) -> None:
        """Pack one expert."""
        before = self._packer.num_packed
        self._gate_up[index] = self._packer.pack_weight(
            expert.gate_up, expert.gate_up_bias, gated=True
        )
        self._down[index] = self._packer.pack_weight(expert.down, expert.down_bias)
        # How many rows of a step choose an expert changes no row.
        self._gate_up[index].exact = self._down[index].exact = True
        biases = [each for each in (expert.gate_up_bias, expert.down_bias) if each is not None]
        self._nbytes += self._packer.num_packed - before + sum(4 * len(each) for each in biases)
        weights = (expert.gate_up, expert.down)
        kinds = {each.kind for each in weights if not isinstance(each, torch.Tensor)}
        self._kind = "+".join(sorted(kinds)) or None

    @property
    def held(self) -> list[object]:
        """The owners of the packed memory, which layers share."""
        return self._packer.held

    def describe(self, tensors: SavedTensors) -> dict[str, Any]:
        """Return what `restore` needs besides the data. Raises `NotSavable`."""
        pairs = zip(self._gate_up, self._down, strict=True)
        experts = [[tensors.describe(each) for each in pair] for pair in pairs]
        return {"kind": self._kind, "nbytes": self._nbytes, "experts": experts}

    def restore(self, described: dict[str, Any], data: torch.Tensor) -> None:
        """Take packed experts out of a file's data, uint8.

        Raises `KeyError`, `TypeError` or `ValueError` for a description of other experts.
        """
        layout = self.layout
        sizes = [(layout.hidden, 2 * layout.inner), (layout.inner, layout.hidden)]
        for index, pair in zip(range(self.num_experts), described["experts"], strict=True):
            layers = [restore(Linear, each, data.data_ptr()) for each in pair]
            if [(each.num_inputs, each.num_outputs) for each in layers] != sizes:
                raise ValueError("experts of other sizes")
            self._gate_up[index], self._down[index] = layers
        self._kind, self._nbytes = described["kind"], described["nbytes"]
        self._packer.keep(data)

    def check(self, index: int, expert: Expert) -> None:
        """Compare a packed expert with its weights. Raises `UnknownExperts` if they differ."""
        rows = torch.randn(2, self.layout.hidden, generator=torch.Generator().manual_seed(index))
        ids = torch.full((2, 1), index)
        found = self(rows, ids, torch.ones(2, 1))
        gate, value = _product(rows, expert.gate_up, expert.gate_up_bias).chunk(2, -1)
        inner = self.layout.gate.apply(gate, value)
        expected = _product(inner, expert.down, expert.down_bias)
        if not bool((found - expected).norm() <= _TOLERANCE * expected.norm()):
            raise UnknownExperts("its packed experts compute something else")

    def forward(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """Return the weighted sums of the chosen experts' outputs for rows [..., hidden]."""
        rows = hidden_states.reshape(-1, self.layout.hidden).float().contiguous()
        ids = top_k_index.reshape(len(rows), -1).long().contiguous()
        weights = top_k_weights.reshape(ids.shape).float().contiguous()
        y = torch.empty_like(rows)
        call = ExpertsCall(
            rows.data_ptr(), ids.data_ptr(), weights.data_ptr(), y.data_ptr(), *ids.shape
        )
        self._library.experts(self.structure, call)
        return y.to(hidden_states.dtype).view_as(hidden_states)


def _product(
    rows: torch.Tensor,
    weight: QuantizedWeight | BlockWeight | torch.Tensor,
    bias: torch.Tensor | None,
) -> torch.Tensor:
    wide = weight if isinstance(weight, torch.Tensor) else weight.dequantize(torch.float32)
    return nn.functional.linear(rows, wide.float(), None if bias is None else bias.float())
