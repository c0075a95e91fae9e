"""A step planner too simple to be wrong, independent of the radix tree: the suite's oracle side.

It keeps one entry for each held prefix and builds plans from plain token lists.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from yaie.attention.plan import Segment, StepPlan

Prefix = tuple[int, ...]


class NaiveCache:
    """The slot of the last token of each cached prefix."""

    def __init__(self, num_slots: int, *, scattered: bool = False) -> None:
        self.held: dict[Prefix, int] = {}
        self._free = list(range(num_slots))[::-1]
        if scattered:
            random.Random(0).shuffle(self._free)

    def forget(self, prefix: Sequence[int]) -> None:
        """Evict a prefix and everything below it."""
        prefix = tuple(prefix)
        for held in [key for key in self.held if key[: len(prefix)] == prefix]:
            self._free.append(self.held.pop(held))

    def plan(self, sequences: Sequence[Sequence[int]], *, all_logits: bool = False) -> StepPlan:
        """Plan the uncached tokens of these sequences, and the logits of their last tokens."""
        paths = sorted({tuple(sequence) for sequence in sequences})
        wanted = set(paths)
        if all_logits:
            wanted = {path[:end] for path in paths for end in range(1, len(path) + 1)}
        rows: list[Prefix] = []
        for path in paths:  # sorted paths are in depth-first order
            for end in range(1, len(path) + 1):
                prefix = path[:end]
                if prefix not in rows and (prefix not in self.held or prefix in wanted):
                    rows.append(prefix)
        written = [row for row, prefix in enumerate(rows) if prefix not in self.held]
        for row in written:
            self.held[rows[row]] = self._free.pop()
        segments = tuple(self._segments(rows))
        return StepPlan(
            token_ids=np.array([prefix[-1] for prefix in rows], dtype=np.int64),
            positions=np.array([len(prefix) - 1 for prefix in rows], dtype=np.int64),
            slots=np.array([self.held[prefix] for prefix in rows], dtype=np.int64),
            written_rows=np.array(written, dtype=np.int64),
            logit_rows=np.array([r for r, p in enumerate(rows) if p in wanted], dtype=np.int64),
            segments=segments,
            kv_tokens_read=sum(len(segment.slots) for segment in segments),
            kv_tokens_unshared=sum(len(path) for path in paths),
        )

    def _segments(self, rows: list[Prefix]) -> list[Segment]:
        """Return a segment for each run of keys above the same contiguous rows."""
        below: dict[Prefix, list[int]] = {}
        for row, prefix in enumerate(rows):
            for end in range(1, len(prefix) + 1):
                below.setdefault(prefix[:end], []).append(row)
        runs: list[list[Prefix]] = []
        for key in sorted(below):
            grows = runs and runs[-1][-1] == key[:-1] and below[key] == below[runs[-1][-1]]
            # A row's own key starts a run: it is invisible to the rows above it in the chain.
            if grows:
                runs[-1].append(key)
            else:
                runs.append([key])
        return [
            Segment(
                slots=np.array([self.held[key] for key in run], dtype=np.int64),
                first_position=len(run[0]) - 1,
                first_row=below[run[0]][0],
                end_row=below[run[0]][-1] + 1,
                level=sum(above[0] == run[0][: len(above[0])] for above in runs) - 1,
            )
            for run in runs
        ]
