"""The step plan: which rows a step computes and which keys and values they attend to.

Pure: no torch, no clock. Made from the tree by `plan_step`, read by the batch and the backends.

Rows are in depth-first order of the tree, so the rows at or below a node are a contiguous range,
and one node is one segment:

    tree            rows                segments (keys  x  rows)
    A ─┬─ B         a0 a1 b0 c0 c1      A: keys a*, rows 0-5
       └─ C                             B: keys b*, rows 2-3
                                        C: keys c*, rows 3-5

A row attends to every key of its segments whose position is not larger than its own: that one
rule is causality inside a node's own tokens, and full sight of the nodes above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Keys at consecutive positions, and the contiguous rows that attend to them."""

    slots: IntArray  # [keys] where the keys and values lie in the pool, in order of position
    first_position: int  # position of the first key; key i has position first_position + i
    first_row: int
    end_row: int  # exclusive


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step. Arrays are int64; row r is the same row in all of them."""

    token_ids: IntArray  # [rows]
    positions: IntArray  # [rows]
    slots: IntArray  # [rows] each row's own slot
    written_rows: IntArray  # rows whose keys and values are new and must be written, ascending
    logit_rows: IntArray  # rows whose logits are wanted, ascending
    segments: tuple[Segment, ...]  # every row is covered exactly by its path, in any order
    kv_tokens_read: int  # keys over all segments: what attention reads, shared ones once
    kv_tokens_unshared: int  # what it would read if every sequence read its own whole path

    @property
    def num_rows(self) -> int:
        """How many tokens this step computes."""
        return len(self.token_ids)
