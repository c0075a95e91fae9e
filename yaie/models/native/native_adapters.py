"""Native adapters: the low-rank products that the kernel library adds in a packed decoder.

Their weights are packed for the instruction set in use: in chunks, see `csrc/adapters.inl`, or in
AMX tiles, see `csrc/adapter_tiles.inl`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch
from torch import nn

from yaie.attention.plan import IntArray, StepPlan
from yaie.kernels.decoder_structures import (
    OUTPUT_GATES,
    AdapterLayer,
    AdapterRows,
    Decoder,
    DecoderCall,
    DecoderLayer,
    LowRankPointers,
)
from yaie.kernels.library import Library
from yaie.kernels.weight_memory import WeightMemory
from yaie.models.adapters.adapted_modules import adapter_ranges, find_adaptable
from yaie.models.adapters.adapter import Adapter, LowRank, Shapes, missing_layers, name_in_model
from yaie.models.native.decoder_structure import (
    DecoderParts,
    LayerParts,
    NotRecognised,
    RecurrentLayerParts,
)
from yaie.models.native.native_structure import feed_forward, mlp_of

_TILE_ROWS, _TILE_DEPTH = 16, 32  # of AMX: rows, and bf16 elements in a row


@dataclass(frozen=True, slots=True)
class _Place:
    """A module's products in a decoder layer: the inputs, and the outputs of each field."""

    inputs: int
    outputs: dict[str, int]


class NativeAdapters:
    """The adapters of one packed decoder. Implements `Adapted`."""

    def __init__(self, decoder: Decoder, dtype: torch.dtype, kernels: Library) -> None:
        self.dtype, self.device = dtype, torch.device("cpu")
        self._kernels = kernels
        self._chunk = kernels.panel_outputs
        self._in_tiles = kernels.instruction_set == "amx" and dtype is torch.bfloat16
        layers = ctypes.cast(decoder.layers, ctypes.POINTER(DecoderLayer))
        self._places = {
            f"model.layers.{index}.{name}": (index, place)
            for index in range(decoder.num_layers)
            for name, place in _places_of(layers[index], decoder.hidden).items()
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
        memory = WeightMemory(self._kernels)
        held: list[torch.Tensor] = []

        def hold(packed: torch.Tensor) -> torch.Tensor:
            flat = packed.view(-1).view(torch.uint8)
            held.append(memory.take(flat.nbytes).copy_(flat))
            return held[-1]

        # In the order in which the decoder reads them.
        for name in filter(adapter.layers.__contains__, self._places):
            low_rank, (index, place) = adapter.layers[name], self._places[name]
            down = hold(self._pack_down(low_rank))
            parts = torch.split(low_rank.up, list(place.outputs.values()))
            for field, up in zip(place.outputs, parts, strict=True):
                packed = hold(self._pack_up(up))
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
        """Return weights [rank, padded inputs], or tiles of them."""
        if self._in_tiles:
            return _tiles_of_down(low_rank.down)
        return self._in_words(_pad(low_rank.down, self._chunk))

    def _pack_up(self, up: torch.Tensor) -> torch.Tensor:
        """Return weights [outputs, rank] as [padded outputs / chunk, rank, chunk], or tiles."""
        if self._in_tiles:
            return _tiles_of_up(up, self._chunk)
        rows = _pad(up.T, self._chunk)
        return self._in_words(rows.view(len(rows), -1, self._chunk).transpose(0, 1))

    def _in_words(self, rows: torch.Tensor) -> torch.Tensor:
        """Order bf16 rows [..., chunks of elements] as words of the two halves of a chunk."""
        if self.dtype is not torch.bfloat16:
            return rows.contiguous()
        halves = rows.reshape(*rows.shape[:-1], -1, 2, self._chunk // 2)
        return halves.transpose(-1, -2).contiguous()


def _padded_rank(rank: int) -> int:
    return rank + -rank % (2 if rank <= _TILE_ROWS else _TILE_DEPTH)


def _tiles_of_down(down: torch.Tensor) -> torch.Tensor:
    """Return weights [rank, inputs] as [rank / columns, steps, tile rows, columns, 2]."""
    rank = _padded_rank(len(down))
    rows = _pad(nn.functional.pad(down, (0, 0, 0, rank - len(down))), _TILE_DEPTH)
    tiles = rows.view(-1, min(rank, _TILE_ROWS), rows.shape[1] // _TILE_DEPTH, _TILE_ROWS, 2)
    return tiles.permute(0, 2, 3, 1, 4).contiguous()


def _tiles_of_up(up: torch.Tensor, chunk: int) -> torch.Tensor:
    """Return weights [outputs, rank] as [chunks, rank / depth, 2, depth / 2, chunk / 2, 2]."""
    rank = _padded_rank(up.shape[1])
    depth = min(rank, _TILE_DEPTH)
    rows = nn.functional.pad(up, (0, rank - up.shape[1], 0, -len(up) % chunk))
    tiles = rows.view(-1, 2, chunk // 2, rank // depth, depth // 2, 2)
    return tiles.permute(0, 3, 1, 4, 2, 5).contiguous()


def _pad(rows: torch.Tensor, multiple: int) -> torch.Tensor:
    return nn.functional.pad(rows, (0, -rows.shape[-1] % multiple)).contiguous()


def require_places(model: nn.Module, parts: DecoderParts, lora: str) -> None:
    """Require that the library adapts all layers that the adapters in `lora` change.

    Raises `NotRecognised` for a layer that transformers adapts alone. Raises `ConfigError`.
    """
    placed = {id(module) for layer in parts.layers for module in _adapted_by_library(layer)}
    adaptable = find_adaptable(model)
    own = {name for name, module in adaptable.items() if id(module) in placed}
    for stored in missing_layers(lora, own):
        if (name := name_in_model(stored, adaptable)) is not None:
            raise NotRecognised(f"an adapter changes {name}, which the library does not adapt")


def _adapted_by_library(layer: LayerParts | RecurrentLayerParts) -> list[nn.Module]:
    mlp = mlp_of(feed_forward(layer))
    modules: list[nn.Module] = [] if mlp is None else [*mlp.gate_up.modules, *mlp.down.modules]
    if isinstance(layer, RecurrentLayerParts):
        return modules
    projections = layer.qkv.modules[:-1] if layer.has_head_gates else layer.qkv.modules
    return [*modules, *projections, *layer.output.modules]


def _places_of(layer: DecoderLayer, hidden: int) -> dict[str, _Place]:
    """Return the linear layers of a decoder layer by their names in a model, joined or not."""
    return _places_in_attention(layer, hidden) | _places_in_mlp(layer, hidden)


def _places_in_attention(layer: DecoderLayer, hidden: int) -> dict[str, _Place]:
    attention = layer.attention
    if not layer.qkv.num_outputs:
        return {}
    queries = attention.num_heads * attention.key_width
    if layer.output_gates == OUTPUT_GATES["wide"]:
        queries *= 2  # the queries' layer has their gates
    qkv = {
        "query": queries,
        "key": attention.num_kv_heads * attention.key_width,
        "value": attention.num_kv_heads * attention.value_width,
    }
    return {
        "self_attn.q_proj": _Place(hidden, {"query": qkv["query"]}),
        "self_attn.k_proj": _Place(hidden, {"key": qkv["key"]}),
        "self_attn.v_proj": _Place(hidden, {"value": qkv["value"]}),
        "self_attn.qkv_proj": _Place(hidden, qkv),
        "self_attn.o_proj": _Place(layer.output.num_inputs, {"output": hidden}),
    }


def _places_in_mlp(layer: DecoderLayer, hidden: int) -> dict[str, _Place]:
    inner = layer.down.num_inputs
    if not layer.down.num_outputs:  # experts alone
        return {}
    gates, down = {"gate": inner, "up": inner}, _Place(inner, {"down": hidden})
    found = {
        "shared_mlp.input_linear": _Place(hidden, gates),
        "shared_mlp.output_linear": down,
    }
    names = ("mlp.shared_expert", "mlp.shared_experts") if layer.mixture else ("mlp", "shared_mlp")
    for mlp in names:
        found |= {
            f"{mlp}.gate_proj": _Place(hidden, {"gate": inner}),
            f"{mlp}.up_proj": _Place(hidden, {"up": inner}),
            f"{mlp}.gate_up_proj": _Place(hidden, gates),
            f"{mlp}.down_proj": down,
        }
    return found
