"""Native adapters: the low-rank products that the kernel library adds in a packed decoder.

Their weights are packed in chunks for the instruction set in use; see `csrc/adapters.inl`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch
from torch import nn

from yaie.attention.plan import IntArray, StepPlan
from yaie.kernels.decoder_structures import (
    AdapterLayer,
    AdapterRows,
    Decoder,
    DecoderCall,
    DecoderLayer,
    LowRankPointers,
)
from yaie.models.adapters.adapted_modules import adapter_ranges
from yaie.models.adapters.adapter import Adapter, LowRank, Shapes


@dataclass(frozen=True, slots=True)
class _Place:
    """A module's products in a decoder layer: the inputs, and the outputs of each field."""

    inputs: int
    outputs: dict[str, int]


class NativeAdapters:
    """The adapters of one packed decoder. Implements `Adapted`."""

    def __init__(self, decoder: Decoder, dtype: torch.dtype, chunk: int) -> None:
        """`chunk`: outputs in a panel of the kernel library."""
        self.dtype, self.device = dtype, torch.device("cpu")
        self._chunk = chunk
        layers = ctypes.cast(decoder.layers, ctypes.POINTER(DecoderLayer))
        self._places = {
            f"model.layers.{index}.{name}": (index, place)
            for index in range(decoder.num_layers)
            for name, place in _places_of(layers[index]).items()
        }
        self._num_layers = decoder.num_layers
        self._held: dict[int, tuple[ctypes.Array[AdapterLayer], list[torch.Tensor]]] = {}

    @property
    def shapes(self) -> Shapes:
        """See `Adapted.shapes`."""
        return {
            name: (place.inputs, sum(place.outputs.values()))
            for name, (_, place) in self._places.items()
        }

    def add(self, adapter: Adapter) -> None:
        """See `Adapted.add`."""
        layers = (AdapterLayer * self._num_layers)()
        held: list[torch.Tensor] = []
        for name, low_rank in adapter.layers.items():
            index, place = self._places[name]
            down = self._pack_down(low_rank)
            held.append(down)
            parts = torch.split(low_rank.up, list(place.outputs.values()))
            for field, up in zip(place.outputs, parts, strict=True):
                packed = self._pack_up(up)
                held.append(packed)
                pointers = LowRankPointers(
                    down.data_ptr(),
                    packed.data_ptr(),
                    low_rank.rank,
                    self.dtype is torch.bfloat16,
                )
                setattr(layers[index], field, pointers)
        self._held[adapter.number] = layers, held

    def remove(self, number: int) -> None:
        """See `Adapted.remove`."""
        del self._held[number]

    def enter(self, call: DecoderCall, plan: StepPlan, output_rows: IntArray) -> list[object]:
        """Enter a plan's rows with adapters into its call; return what the call points to."""
        if not len(plan.adapters):
            return []
        rows = self._rows(plan.adapters)
        outputs = self._rows(plan.adapters[output_rows])
        call.num_adapted, call.adapted = len(rows), ctypes.addressof(rows)
        call.num_adapted_outputs, call.adapted_outputs = len(outputs), ctypes.addressof(outputs)
        return [rows, outputs]

    def _rows(self, adapters: IntArray) -> ctypes.Array[AdapterRows]:
        ranges = adapter_ranges(adapters)
        return (AdapterRows * len(ranges))(
            *(
                AdapterRows(first, end, ctypes.addressof(self._held[number][0]))
                for first, end, number in ranges
            )
        )

    def _pack_down(self, low_rank: LowRank) -> torch.Tensor:
        """Return weights [rank, padded inputs]."""
        return self._in_words(_pad(low_rank.down, self._chunk))

    def _pack_up(self, up: torch.Tensor) -> torch.Tensor:
        """Return weights [outputs, rank] as [padded outputs / chunk, rank, chunk]."""
        rows = _pad(up.T, self._chunk)
        return self._in_words(rows.view(len(rows), -1, self._chunk).transpose(0, 1))

    def _in_words(self, rows: torch.Tensor) -> torch.Tensor:
        """Order bf16 rows [..., chunks of elements] as words of the two halves of a chunk."""
        if self.dtype is not torch.bfloat16:
            return rows.contiguous()
        halves = rows.reshape(*rows.shape[:-1], -1, 2, self._chunk // 2)
        return halves.transpose(-1, -2).contiguous()


def _pad(rows: torch.Tensor, multiple: int) -> torch.Tensor:
    return nn.functional.pad(rows, (0, -rows.shape[-1] % multiple)).contiguous()


def _places_of(layer: DecoderLayer) -> dict[str, _Place]:
    """Return the linear layers of a decoder layer by their names in a model, joined or not."""
    attention, inner = layer.attention, layer.down.num_inputs
    hidden = layer.qkv.num_inputs
    qkv = {
        "query": attention.num_heads * attention.key_width,
        "key": attention.num_kv_heads * attention.key_width,
        "value": attention.num_kv_heads * attention.value_width,
    }
    gates = {"gate": inner, "up": inner}
    found = {
        "self_attn.q_proj": _Place(hidden, {"query": qkv["query"]}),
        "self_attn.k_proj": _Place(hidden, {"key": qkv["key"]}),
        "self_attn.v_proj": _Place(hidden, {"value": qkv["value"]}),
        "self_attn.qkv_proj": _Place(hidden, qkv),
        "self_attn.o_proj": _Place(layer.output.num_inputs, {"output": hidden}),
    }
    for mlp in ("mlp", "shared_mlp"):
        found |= {
            f"{mlp}.gate_proj": _Place(hidden, {"gate": inner}),
            f"{mlp}.up_proj": _Place(hidden, {"up": inner}),
            f"{mlp}.gate_up_proj": _Place(hidden, gates),
            f"{mlp}.down_proj": _Place(inner, {"down": hidden}),
        }
    return found
