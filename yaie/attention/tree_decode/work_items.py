"""Work items of tree decode: key ranges times row blocks, and each row's partials.

Pure and torch-free. One kernel program computes one item for one KV head. Each row of an item
yields a partial: an output and the log-sum-exp of its scores. The merge adds up the partials of a
row, which a CSR table lists.

    segments (keys x rows)     items                       partials of a row
    A: 0-299 x 0-5             a0: A 0-191   x 0-5         row 0: a0 a1
    B: 300-340 x 2-3           a1: A 192-299 x 0-5         row 2: a0 a1 b0
                               b0: B 300-340 x 2-3
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yaie.attention.segment_table import COLUMNS, IntArray, SegmentTable

IndexArray = NDArray[np.int32]  # as the kernels read it

ITEM_FIELDS = (
    *("first_key", "num_keys", "first_row", "num_rows"),
    *("first_position", "first_partial", "is_wide"),
)
ITEM_WIDTH = 8  # one sector of 32 bytes; the last field is unused


@dataclass(frozen=True, slots=True)
class Splitting:
    """Rule for cutting long key ranges, so that all processors have work."""

    target_programs: int  # cut no further once a launch has as many
    least_keys: int = 128  # a multiple of `rounding`
    rounding: int = 64  # keys that the kernel loads at once

    def keys_per_item(self, num_keys: IntArray, num_kv_heads: int) -> int:
        """Return the most keys per item, given each row block's number of keys."""
        most = int(num_keys.max(initial=1))
        size = self.least_keys
        while size < most and int((-(-num_keys // size)).sum()) * num_kv_heads > (
            self.target_programs
        ):
            size *= 2
        return size


@dataclass(frozen=True, slots=True)
class Tiling:
    """A kernel variant's row blocks. Layers with one tiling share their items."""

    window: int | None  # visible keys of a row, as in `AttentionSpec`
    narrow_rows: int  # most rows of a narrow item; 0: the variant has wide items only
    wide_rows: int
    num_kv_heads: int  # programs of an item


@dataclass(frozen=True, slots=True)
class WorkItems:
    """One tiling's items, most keys first, and each row's partials."""

    items: IndexArray  # [items, ITEM_WIDTH], columns `ITEM_FIELDS`
    indptr: IndexArray  # [rows + 1] the partials of row r are partials[indptr[r] : indptr[r + 1]]
    partials: IndexArray  # [partials]

    @property
    def has_wide(self) -> bool:
        """True if an item has more rows than fit a narrow item."""
        return bool(self.items[:, ITEM_FIELDS.index("is_wide")].any())


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Row blocks, each with the visible key range of its segment."""

    segment: IntArray
    first_row: IntArray
    num_rows: IntArray
    is_wide: NDArray[np.bool_]
    first_key: IntArray  # in the segment
    num_keys: IntArray


def make_work_items(
    segments: SegmentTable, positions: IntArray, tiling: Tiling, splitting: Splitting
) -> WorkItems:
    """Return a step's items: over all of them, each row meets each visible key once.

    positions: [rows]. Keys invisible to all rows in a block are omitted. An item's first key is its
    index in the table's slots.
    """
    columns = dict(zip(COLUMNS, segments.table.T, strict=True))
    blocks = _row_blocks(columns, positions, tiling)
    size = splitting.keys_per_item(blocks.num_keys, tiling.num_kv_heads)
    cuts = np.maximum(-(-blocks.num_keys // size), 1)
    # Equal ranges: a short rest would be a separate item.
    size_of = -(-blocks.num_keys // cuts)
    size_of = -(-size_of // splitting.rounding) * splitting.rounding
    cuts = -(-blocks.num_keys // size_of)
    block, index = _expand(cuts)
    offset = index * size_of[block]
    num_keys = np.minimum(size_of[block], blocks.num_keys[block] - offset)
    order = np.argsort(-num_keys, kind="stable")
    block, offset, num_keys = block[order], offset[order], num_keys[order]

    segment = blocks.segment[block]
    key = blocks.first_key[block] + offset
    num_rows = blocks.num_rows[block]
    items = np.zeros((len(block), ITEM_WIDTH), dtype=np.int32)
    items[:, 0] = columns["first_slot"][segment] + key
    items[:, 1] = num_keys
    items[:, 2] = blocks.first_row[block]
    items[:, 3] = num_rows
    items[:, 4] = columns["first_position"][segment] + key
    items[:, 5] = num_rows.cumsum() - num_rows
    items[:, 6] = blocks.is_wide[block]
    return WorkItems(items, *_partials_of_rows(items, len(positions)))


def _row_blocks(columns: dict[str, IntArray], positions: IntArray, tiling: Tiling) -> _Blocks:
    """Cut each segment's rows; `columns` are the segments' columns."""
    first_position, lengths = columns["first_position"], columns["end_slot"] - columns["first_slot"]
    rows = columns["end_row"] - columns["first_row"]
    is_wide = rows > tiling.narrow_rows
    rows_per_block = np.where(is_wide, tiling.wide_rows, max(tiling.narrow_rows, 1))
    segment, index = _expand(-(-rows // rows_per_block))
    first_row = columns["first_row"][segment] + index * rows_per_block[segment]
    end_row = np.minimum(first_row + rows_per_block[segment], columns["end_row"][segment])

    lowest, highest = _extremes(positions, first_row, end_row)
    begin = np.zeros_like(lowest)
    if tiling.window is not None:
        begin = np.maximum(lowest - tiling.window + 1 - first_position[segment], 0)
    end = np.minimum(lengths[segment], highest + 1 - first_position[segment])
    kept = np.flatnonzero(end > begin)
    segment, first_row, end_row = segment[kept], first_row[kept], end_row[kept]
    begin, end = begin[kept], end[kept]
    return _Blocks(segment, first_row, end_row - first_row, is_wide[segment], begin, end - begin)


def _extremes(positions: IntArray, first: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the lowest and highest position in each non-empty row range."""
    if not len(first):
        return first, first
    bounds = np.stack((first, end), axis=1).ravel()
    padded = np.append(positions, 0)  # `end` may be the number of rows
    lowest = np.minimum.reduceat(padded, bounds)[::2]
    return lowest, np.maximum.reduceat(padded, bounds)[::2]


def _expand(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the owner of each of `counts.sum()` elements, and its index within the owner."""
    owner = np.repeat(np.arange(len(counts)), counts)
    index = np.arange(len(owner)) - (counts.cumsum() - counts)[owner]
    return owner, index


def _partials_of_rows(items: IndexArray, num_rows: int) -> tuple[IndexArray, IndexArray]:
    item, index = _expand(items[:, 3].astype(np.int64))
    row = items[item, 2] + index
    indptr = np.zeros(num_rows + 1, dtype=np.int32)
    np.bincount(row, minlength=num_rows).cumsum(out=indptr[1:])
    return indptr, np.argsort(row, kind="stable").astype(np.int32)
