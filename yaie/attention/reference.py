"""Reference attention in plain torch: the oracle for other backends, and a usable backend.

Scores, softmax and sums are float32 whatever the model's dtype. A row meets its path tile by tile.
Tile results are merged by their running maximum and sum (log-sum-exp): except for rounding, the
result does not depend on how segments are cut and folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from yaie.attention.plan import IntArray, StepPlan
from yaie.attention.segment_tiles import Tile, make_tiles
from yaie.attention.spec import AttentionSpec
from yaie.kvcache.int8_rows import StoredRows, elements_of, fetch, store
from yaie.kvcache.pool import PoolLayout

# The score of a masked key. Finite: a tile that is masked for a whole row needs no special case,
# as merging multiplies its sums by exp(HIDDEN - maximum) = 0.
HIDDEN = torch.finfo(torch.float32).min


class ReferenceBackend:
    """Plain torch on any device."""

    @property
    def name(self) -> str:
        """See `AttentionBackend.name`."""
        return "reference"

    @property
    def kernels(self) -> None:
        """See `AttentionBackend.kernels`; None, because torch computes."""
        return None

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """See `AttentionBackend.pool_layout`; it copies whole slots, which a GPU does faster."""
        return "HND" if device.type == "cpu" else "NHD"

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """See `AttentionBackend.open_layers`; there is nothing to load."""

    def prepare(self, plan: StepPlan, device: torch.device) -> ReferenceStep:
        """See `AttentionBackend.prepare`."""
        return ReferenceStep(plan, device)


class ReferenceStep:
    """One step plan; its tiles are made once for each sliding window."""

    def __init__(self, plan: StepPlan, device: torch.device) -> None:
        self._plan = plan
        self._device = device
        self._tiles: dict[int | None, list[_DeviceTile]] = {}
        self._written_rows = _index_of(plan.written_rows, device)
        self._written_slots = _index_of(plan.slots[plan.written_rows], device)

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`."""
        if self._written_slots is not None:
            store(keys, self._written_slots, new_keys[self._written_rows])
            store(values, self._written_slots, new_values[self._written_rows])

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """See `PreparedStep.attend`."""
        # Group a KV head's query heads instead of repeating its keys and values.
        grouped = (queries.float() * spec.scale).view(
            len(queries), spec.num_kv_heads, spec.group_size, spec.key_width
        )
        state = _RunningSoftmax(grouped, spec.value_width)
        for tile in self._tiles_for(spec.sliding_window):
            state.merge(tile, *_attend_tile(tile, grouped, keys, values, spec.softcap))
        return state.finish(sinks).to(queries.dtype)

    def _tiles_for(self, window: int | None) -> list[_DeviceTile]:
        tiles = self._tiles.get(window)
        if tiles is None:
            tiles = [
                _on_device(tile, self._plan.positions, window, self._device)
                for tile in make_tiles(self._plan, window)
            ]
            self._tiles[window] = tiles
        return tiles


Index = slice | torch.Tensor


@dataclass(frozen=True, slots=True)
class _DeviceTile:
    num_groups: int
    slots: Index  # groups x keys, flat
    rows: Index  # groups x rows, flat
    hidden: torch.Tensor | None  # [groups, 1, 1, rows, keys] True: masked
    is_first: bool


def _on_device(
    tile: Tile, positions: IntArray, window: int | None, device: torch.device
) -> _DeviceTile:
    hidden = None
    if tile.needs_mask:
        row = torch.from_numpy(positions[tile.rows]).to(device)[:, :, None]
        key = torch.from_numpy(tile.key_positions).to(device)[:, None, :]
        hidden = key > row
        if window is not None:
            hidden |= key <= row - window
        hidden = hidden[:, None, None]
    return _DeviceTile(
        num_groups=len(tile.slots),
        slots=_index(tile.slots.ravel(), device),
        rows=_index(tile.rows.ravel(), device),
        hidden=hidden,
        is_first=tile.is_first,
    )


def _index_of(indices: IntArray, device: torch.device) -> Index | None:
    """Return `_index` for the indices, or None if they are empty."""
    return _index(indices, device) if len(indices) else None


def _index(indices: IntArray, device: torch.device) -> Index:
    """Return a slice if the indices are consecutive, which saves a copy; else a tensor."""
    first = int(indices[0])
    if int(indices[-1]) - first == len(indices) - 1 and bool(np.all(np.diff(indices) == 1)):
        return slice(first, first + len(indices))
    return torch.from_numpy(indices).to(device)


def _attend_tile(
    tile: _DeviceTile,
    queries: torch.Tensor,
    keys: StoredRows,
    values: StoredRows,
    softcap: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attend over one tile's keys alone.

    queries: [rows, kv_heads, group, key_width], float32 and scaled. Returns maximum and sum, both
    [tile_rows, kv_heads, group, 1], and the values' sum weighted by exp(score - maximum),
    [tile_rows, kv_heads, group, value_width].
    """
    _, kv_heads, group, width = queries.shape
    tile_queries = queries[tile.rows].view(tile.num_groups, -1, kv_heads, group, width)
    num_rows = tile_queries.shape[1]
    tile_queries = tile_queries.permute(0, 2, 3, 1, 4).reshape(-1, group * num_rows, width)

    scores = torch.bmm(tile_queries, _by_head(keys, tile).transpose(1, 2))
    if softcap is not None:
        scores = scores.div_(softcap).tanh_().mul_(softcap)
    if tile.hidden is not None:
        scores.view(tile.num_groups, kv_heads, group, num_rows, -1).masked_fill_(
            tile.hidden, HIDDEN
        )
    maximum = scores.amax(-1, keepdim=True)
    weights = scores.sub_(maximum).exp_()
    total = weights.sum(-1, keepdim=True)
    output = torch.bmm(weights, _by_head(values, tile))

    def by_row(x: torch.Tensor) -> torch.Tensor:
        x = x.view(tile.num_groups, kv_heads, group, num_rows, -1)
        return x.permute(0, 3, 1, 2, 4).flatten(0, 1)

    return by_row(maximum), by_row(total), by_row(output)


def _by_head(pool: StoredRows, tile: _DeviceTile) -> torch.Tensor:
    """Return the tile's keys or values as [groups * kv_heads, keys, width] in float32."""
    rows = fetch(pool, tile.slots)
    rows = rows.view(tile.num_groups, -1, *elements_of(pool).shape[1:]).transpose(1, 2)
    return rows.flatten(0, 1)


class _RunningSoftmax:
    """Each row's running maximum, weight sum and weighted values."""

    def __init__(self, queries: torch.Tensor, value_width: int) -> None:
        shape = queries.shape[:-1]
        self._maximum = queries.new_full((*shape, 1), HIDDEN)
        self._total = queries.new_zeros((*shape, 1))
        self._output = queries.new_zeros((*shape, value_width))

    def merge(
        self,
        tile: _DeviceTile,
        maximum: torch.Tensor,
        total: torch.Tensor,
        output: torch.Tensor,
    ) -> None:
        """Merge a tile's partial softmax into its rows."""
        rows = tile.rows
        if not tile.is_first:
            old_maximum = self._maximum[rows]
            new_maximum = torch.maximum(old_maximum, maximum)
            old_factor = torch.exp(old_maximum - new_maximum)
            factor = torch.exp(maximum - new_maximum)
            maximum = new_maximum
            total = self._total[rows] * old_factor + total * factor
            output = self._output[rows] * old_factor + output * factor
        self._maximum[rows] = maximum
        self._total[rows] = total
        self._output[rows] = output

    def finish(self, sinks: torch.Tensor | None) -> torch.Tensor:
        """Return [rows, heads, value_width]; sinks join the denominator once for the whole path."""
        total = self._total
        if sinks is not None:
            sink = sinks.float().view(self._maximum.shape[1:])
            total = total + torch.exp(sink - self._maximum)
        return (self._output / total).flatten(1, 2)
