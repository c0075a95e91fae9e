"""Segment tiles: cut a step plan's segments into batched matrix products.

Pure and torch-free. Made by the reference backend once per step and sliding window. A long segment
becomes several tiles of bounded size; short segments of equal row count become one padded tile.
Keys invisible to all rows of a tile are omitted and never read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from yaie.attention.plan import IntArray, Segment, StepPlan

NEVER_VISIBLE = np.iinfo(np.int64).max  # position of a padding key

# Tile size for long segments: scores take rows x keys floats for each query head, upcast keys keys
# x width for each KV head. Both stay near 32 MiB for a model with 32 heads.
ROWS_IN_TILE = 256
SCORES_IN_TILE = 256 * 1024
LEAST_KEYS_IN_TILE = 1024
MOST_KEYS_IN_TILE = 4096
# Segments with at most this many scores are batched, up to this many keys in a batch.
BATCHED_SCORES = 16 * 1024
BATCHED_KEYS = 8192
LEAST_KEY_BUCKET = 32


@dataclass(frozen=True, slots=True)
class Tile:
    """Groups of keys, each attended to by separate rows."""

    slots: IntArray  # [groups, keys]; shorter groups repeat their last slot
    key_positions: IntArray  # [groups, keys]; NEVER_VISIBLE at repeated slots
    rows: IntArray  # [groups, rows]
    needs_mask: bool  # False: every row sees every key
    is_first: bool  # all its rows are new to the tiles


class _Piece(NamedTuple):
    """A rectangle of a segment: a row range and a key range."""

    slots: IntArray
    first_position: int
    first_row: int
    end_row: int
    needs_mask: bool


def make_tiles(plan: StepPlan, window: int | None) -> list[Tile]:
    """Return a step's tiles, for layers with this sliding window (None: unlimited).

    Over all tiles, each row meets each visible key exactly once.
    """
    alone: list[list[_Piece]] = []
    batches: defaultdict[tuple[int, int], list[_Piece]] = defaultdict(list)
    positions = plan.positions.tolist()
    for segment in plan.segments:
        for piece in _pieces(segment, positions, window):
            num_rows, num_keys = piece.end_row - piece.first_row, len(piece.slots)
            if num_rows * num_keys > BATCHED_SCORES:
                alone.append([piece])
            else:
                batches[num_rows, _bucket(num_keys)].append(piece)
    groups = alone
    for (_, num_keys), pieces in batches.items():
        groups.extend(_without_common_rows(pieces, max(1, BATCHED_KEYS // num_keys)))
    seen = np.zeros(plan.num_rows, dtype=bool)
    return [_tile(pieces, seen) for pieces in groups]


def _pieces(segment: Segment, positions: list[int], window: int | None) -> Iterator[_Piece]:
    for first_row in range(segment.first_row, segment.end_row, ROWS_IN_TILE):
        end_row = min(first_row + ROWS_IN_TILE, segment.end_row)
        lowest = min(positions[first_row:end_row])
        highest = max(positions[first_row:end_row])
        first_key = 0
        if window is not None:
            first_key = max(0, lowest - window + 1 - segment.first_position)
        end_key = min(len(segment.slots), highest + 1 - segment.first_position)
        step = SCORES_IN_TILE // (end_row - first_row)
        step = min(max(step, LEAST_KEYS_IN_TILE), MOST_KEYS_IN_TILE)
        for key in range(first_key, end_key, step):
            end = min(key + step, end_key)
            position = segment.first_position + key
            beyond_row = segment.first_position + end - 1 > lowest
            beyond_window = window is not None and highest - position >= window
            yield _Piece(
                segment.slots[key:end], position, first_row, end_row, beyond_row or beyond_window
            )


def _bucket(num_keys: int) -> int:
    """Return a tile's padded key count: at most half is padding."""
    return max(LEAST_KEY_BUCKET, 1 << (num_keys - 1).bit_length())


def _without_common_rows(pieces: list[_Piece], most: int) -> Iterator[list[_Piece]]:
    """Split into groups of at most `most` rectangles with disjoint rows."""
    parts: list[list[_Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.first_row):
        for part in parts:
            if part[-1].end_row <= piece.first_row:
                part.append(piece)
                break
        else:
            parts.append([piece])
    for part in parts:
        for first in range(0, len(part), most):
            yield part[first : first + most]


def _tile(pieces: list[_Piece], seen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Tile:
    lengths = [len(piece.slots) for piece in pieces]
    num_keys = max(lengths)
    slots = np.empty((len(pieces), num_keys), dtype=np.int64)
    key_positions = np.empty_like(slots)
    for group, (piece, length) in enumerate(zip(pieces, lengths, strict=True)):
        slots[group, :length] = piece.slots
        slots[group, length:] = piece.slots[-1]
        first = piece.first_position
        key_positions[group, :length] = np.arange(first, first + length)
        key_positions[group, length:] = NEVER_VISIBLE
    first_rows = np.fromiter((piece.first_row for piece in pieces), np.int64, len(pieces))
    num_rows = pieces[0].end_row - pieces[0].first_row
    rows = first_rows[:, None] + np.arange(num_rows)
    is_first = not seen[rows].any()
    seen[rows] = True
    return Tile(
        slots=slots,
        key_positions=key_positions,
        rows=rows,
        needs_mask=min(lengths) < num_keys or any(piece.needs_mask for piece in pieces),
        is_first=is_first,
    )
