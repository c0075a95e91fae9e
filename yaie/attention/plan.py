"""The step plan: a step's rows, and the keys and values that they attend to.

Pure and torch-free. The scheduler collects rows in a `RowSelection`, `plan_step` lays them out,
executors and attention backends read the `StepPlan`.

Rows are in depth-first order of the tree, so the rows at or below a node are a contiguous range,
and one node is one segment:

    tree            rows                segments (keys  x  rows)
    A ─┬─ B         a0 a1 b0 c0 c1      A: keys a*, rows 0-5
       └─ C                             B: keys b*, rows 2-3
                                        C: keys c*, rows 3-5

A row attends to every key in its segments at a position up to the row's. This one rule makes a node
causal over its tokens, and shows it all tokens of the nodes above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from yaie.attention.row_selection import RowSelection
from yaie.attention.segment_table import IntArray, Segment, TableBuilder
from yaie.attention.step_tree import NodeRows, connect
from yaie.kvcache.node import Node

if TYPE_CHECKING:
    from yaie.attention.state_chains import StateChain

__all__ = [
    "FoldingCost",
    "IntArray",
    "PlannedStep",
    "RowSelection",
    "Segment",
    "StepPlan",
    "plan_step",
]


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step. Arrays are int64; row r is the same row in every array."""

    token_ids: IntArray  # [rows]
    positions: IntArray  # [rows]
    slots: IntArray  # [rows] each row's own slot
    written_rows: IntArray  # rows with new keys and values to write, ascending
    logit_rows: IntArray  # rows with requested logits, ascending
    segments: Sequence[Segment]  # in any order; a row's segments are exactly its path
    kv_tokens_read: int  # keys over all segments; shared keys count once
    kv_tokens_unshared: int  # keys read if every sequence read its whole path by itself
    # Rows whose hidden state after the last norm is requested, ascending; they may have logits too.
    hidden_rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # [rows] the number of each row's adapter, 0 for the model alone; empty if no row has one.
    adapters: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # Of a model with recurrent layers. None: each path is computed from its first token on.
    chains: Sequence[StateChain] | None = None

    @property
    def num_rows(self) -> int:
        """Number of computed tokens."""
        return len(self.token_ids)


def one_row_plan(slot: int) -> StepPlan:
    """Return a step of one token in `slot` at position 0, for trials at load."""
    zero, slots = np.zeros(1, dtype=np.int64), np.array([slot], dtype=np.int64)
    return StepPlan(
        token_ids=zero,
        positions=zero,
        slots=slots,
        written_rows=zero,
        logit_rows=zero,
        segments=(Segment(slots, first_position=0, first_row=0, end_row=1, level=0),),
        kv_tokens_read=1,
        kv_tokens_unshared=1,
    )


@dataclass(frozen=True, slots=True)
class FoldingCost:
    """Cost model for folding a short shared node into the segments below it.

    A separate segment saves reading the keys again for each branch. It costs one more pass over the
    queries with its merge: about as much as reading `segment_overhead` keys.
    """

    segment_overhead: int = 32

    def folds(self, num_keys: int, num_branches: int) -> bool:
        """Return True if reading the node's keys once for each branch is cheaper."""
        return num_keys * (num_branches - 1) <= self.segment_overhead


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A plan, and where the outputs of each token are."""

    plan: StepPlan
    logit_index: dict[tuple[Node, int], int]  # (node, token of it) -> row of the logits
    hidden_index: dict[tuple[Node, int], int]  # the same for the hidden rows


@dataclass(slots=True)
class _Carry:
    """Keys to read together with the keys of nodes below.

    A list linked upwards: adding a node costs the same at any depth.
    """

    first_position: int
    level: int  # segment level
    slots: IntArray | None = None  # the last node's slots; None: empty
    above: _Carry | None = None

    def with_keys(self, slots: IntArray) -> _Carry:
        """Return these keys followed by `slots`."""
        above = self if self.slots is not None else None
        return _Carry(self.first_position, self.level, slots, above)

    def parts(self) -> Iterator[IntArray]:
        """Return the slots of all keys by position, node by node."""
        parts = []
        carry: _Carry | None = self
        while carry is not None:
            assert carry.slots is not None
            parts.append(carry.slots)
            carry = carry.above
        return reversed(parts)


class _Layout:
    """A plan's arrays, collected while the tree is walked."""

    def __init__(self, cost: FoldingCost) -> None:
        self.cost = cost
        self.num_rows = 0
        self.token_ids: list[int] = []
        self.positions: list[int] = []
        self.slots: list[int] = []
        self.written: list[int] = []
        self.logit_rows: list[int] = []
        self.logit_index: dict[tuple[Node, int], int] = {}
        self.hidden_rows: list[int] = []
        self.hidden_index: dict[tuple[Node, int], int] = {}
        self.segments = TableBuilder()

    def walk(self, top: NodeRows) -> None:
        """Lay out one subtree, depth first. Paths may be deeper than Python's recursion limit."""
        stack: list[tuple[NodeRows, _Carry, int]] = [(top, _Carry(0, 0), -1)]
        while stack:
            rows, carry, first_row = stack.pop()
            if first_row >= 0:  # its subtree is laid out
                self._add_segment(carry, first_row, self.num_rows)
                continue
            first_row = self.num_rows
            node, branches, slots = rows.node, rows.branches, rows.node.slots()
            own = self._add_rows(rows, slots)
            if rows.slots_above is not None:
                carry = carry.with_keys(rows.slots_above)
            num_keys = len(node.tokens) if branches else own
            keys = carry.with_keys(slots[:num_keys])
            if not branches:
                self._add_segment(keys, first_row, self.num_rows)
                continue
            num_carried = node.start + num_keys - keys.first_position
            below = keys
            if len(branches) == 1 and self.num_rows == first_row:
                pass  # a chain: the same rows read both nodes as one segment
            elif self.cost.folds(num_carried, len(branches) + (self.num_rows > first_row)):
                if self.num_rows > first_row:
                    self._add_segment(keys, first_row, self.num_rows)
            else:
                stack.append((rows, keys, first_row))
                below = _Carry(node.end, carry.level + 1)
            for branch in reversed(branches):
                stack.append((branch, below, -1))

    def _add_rows(self, rows: NodeRows, slots: IntArray) -> int:
        """Append the node's own rows; return the number of node tokens they attend to.

        Cached tokens with requested outputs come first, then new tokens. Lists, as most nodes in a
        decode step have one row: creating arrays would cost more than all the rest.
        """
        node, cached, first_row = rows.node, rows.node.num_computed, self.num_rows
        is_next = rows.computed_to == cached + 1 and not (rows.hidden or rows.again)
        if is_next and len(rows.logits) == 1 and cached in rows.logits:
            self._add_next_row(node, cached, int(slots[cached]))  # of a decoding sequence
            return cached + 1
        wanted = sorted(rows.outputs)
        again = [offset for offset in wanted if offset < cached]
        for offset in again:
            self.token_ids.append(node.tokens[offset])
            self.positions.append(node.start + offset)
            self.slots.append(int(slots[offset]))
        first_new = first_row + len(again)
        self.num_rows = first_new + rows.computed_to - cached
        if rows.computed_to > cached:
            self.token_ids.extend(node.tokens[cached : rows.computed_to])
            self.positions.extend(range(node.start + cached, node.start + rows.computed_to))
            self.slots.extend(slots[cached : rows.computed_to].tolist())
            self.written.extend(range(first_new, self.num_rows))
        for index, offset in enumerate(wanted):
            row = first_row + index if offset < cached else first_new + offset - cached
            if offset in rows.logits:
                self.logit_index[(node, offset)] = len(self.logit_rows)
                self.logit_rows.append(row)
            if offset in rows.hidden:
                self.hidden_index[(node, offset)] = len(self.hidden_rows)
                self.hidden_rows.append(row)
        if rows.computed_to > cached:
            return rows.computed_to
        return again[-1] + 1 if again else 0

    def _add_next_row(self, node: Node, offset: int, slot: int) -> None:
        """Append one new row with its logits."""
        self.token_ids.append(node.tokens[offset])
        self.positions.append(node.start + offset)
        self.slots.append(slot)
        self.written.append(self.num_rows)
        self.logit_index[(node, offset)] = len(self.logit_rows)
        self.logit_rows.append(self.num_rows)
        self.num_rows += 1

    def _add_segment(self, keys: _Carry, first_row: int, end_row: int) -> None:
        self.segments.add(keys.parts(), keys.first_position, first_row, end_row, keys.level)


_DEFAULT_COST = FoldingCost()


def plan_step(selection: RowSelection, cost: FoldingCost | None = None) -> PlannedStep:
    """Lay the selected rows out in depth-first order, with the segments they attend to.

    A chain of nodes with the same rows becomes one segment, and a shared node too short for its
    overhead is folded into the nodes below it. Neither changes a row's keys.
    """
    layout = _Layout(cost or _DEFAULT_COST)
    adapters: list[int] = []  # of the rows of each top
    counts: list[int] = []
    # Rows of one adapter next to each other: its weights are read once.
    for top in sorted(connect(selection.entries), key=_adapter_of):
        before = layout.num_rows
        layout.walk(top)
        adapters.append(top.node.adapter)
        counts.append(layout.num_rows - before)
    segments = layout.segments.build()
    plan = StepPlan(
        token_ids=np.array(layout.token_ids, dtype=np.int64),
        positions=np.array(layout.positions, dtype=np.int64),
        slots=np.array(layout.slots, dtype=np.int64),
        written_rows=np.array(layout.written, dtype=np.int64),
        logit_rows=np.array(layout.logit_rows, dtype=np.int64),
        segments=segments,
        kv_tokens_read=segments.num_keys,
        kv_tokens_unshared=selection.kv_tokens_unshared,
        hidden_rows=np.array(layout.hidden_rows, dtype=np.int64),
        adapters=_spread_over_rows(adapters, counts),
    )
    return PlannedStep(plan, layout.logit_index, layout.hidden_index)


def _adapter_of(top: NodeRows) -> int:
    return top.node.adapter


def _spread_over_rows(adapters: list[int], counts: list[int]) -> IntArray:
    """Return the adapter of each row; empty if all are 0."""
    if not any(adapters):
        return np.empty(0, dtype=np.int64)
    return np.repeat(np.array(adapters, dtype=np.int64), counts)
