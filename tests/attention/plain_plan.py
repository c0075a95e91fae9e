"""Plans made the plain way: every node above a row is walked, and nothing is kept.

The oracle of plans made from kept chains.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from yaie.attention.plan import FoldingCost, IntArray, RowSelection, Segment, StepPlan
from yaie.kvcache.node import Node


@dataclass
class Place:
    """A node of the step, with or without rows, and the nodes of the step right below it."""

    node: Node
    branches: list[Place] = field(default_factory=list)


@dataclass
class PlainPlan:
    """The walk of one selection, node by node."""

    selection: RowSelection
    cost: FoldingCost
    places: dict[Node, Place] = field(default_factory=dict)
    tops: list[Place] = field(default_factory=list)
    rows: list[tuple[Node, int]] = field(default_factory=list)  # node and token of it
    segments: list[Segment] = field(default_factory=list)

    def make(self) -> StepPlan:
        for node in self.selection.entries:
            self._hang(node)
        for top in self.tops:
            self._walk(top, top.node.start, [], 0)
        entries = self.selection.entries
        numbered = list(enumerate(self.rows))
        return StepPlan(
            token_ids=_array([node.tokens[offset] for node, offset in self.rows]),
            positions=_array([node.start + offset for node, offset in self.rows]),
            slots=_array([int(node.slots()[offset]) for node, offset in self.rows]),
            written_rows=_array([r for r, (node, at) in numbered if at >= node.num_computed]),
            logit_rows=_array([r for r, (node, at) in numbered if at in entries[node].logits]),
            hidden_rows=_array([r for r, (node, at) in numbered if at in entries[node].hidden]),
            segments=tuple(self.segments),
            kv_tokens_read=sum(len(segment.slots) for segment in self.segments),
            kv_tokens_unshared=self.selection.kv_tokens_unshared,
        )

    def _hang(self, node: Node) -> None:
        """Give the node and all above it a place, where they have none yet."""
        while node not in self.places:
            place = self.places[node] = Place(node)
            parent = node.parent
            assert parent is not None
            if parent.parent is None:
                self.tops.append(place)
                return
            known = self.places.get(parent)
            if known is not None:
                known.branches.append(place)
                return
            self._hang(parent)
            self.places[parent].branches.append(place)

    def _walk(self, place: Place, first_position: int, carried: list[IntArray], level: int) -> None:
        """`carried` are slots of nodes above that are read together with those of this one."""
        node, branches, first_row = place.node, place.branches, len(self.rows)
        self.rows += [(node, offset) for offset in self._offsets(node)]
        has_rows = len(self.rows) > first_row
        own = len(node.tokens) if branches else self.rows[-1][1] + 1
        carried = [*carried, node.slots(0, own)]
        slots = np.concatenate(carried)
        if not branches:
            self._add(slots, first_position, first_row, level)
        elif len(branches) == 1 and not has_rows:
            self._walk(branches[0], first_position, carried, level)
        elif self.cost.folds(len(slots), len(branches) + has_rows):
            if has_rows:
                self._add(slots, first_position, first_row, level)
            for branch in branches:
                self._walk(branch, first_position, carried, level)
        else:
            for branch in branches:
                self._walk(branch, node.end, [], level + 1)
            self._add(slots, first_position, first_row, level)

    def _offsets(self, node: Node) -> list[int]:
        """The tokens of the node that have rows."""
        entry = self.selection.entries.get(node)
        if entry is None:
            return []
        new = range(node.num_computed, entry.computed_to)
        return sorted({*entry.logits, *entry.hidden, *new})

    def _add(self, slots: IntArray, first_position: int, first_row: int, level: int) -> None:
        self.segments.append(Segment(slots, first_position, first_row, len(self.rows), level))


def plain_plan(selection: RowSelection, cost: FoldingCost | None = None) -> StepPlan:
    """Return the plan that `plan_step` must return, with every array in the same order."""
    return PlainPlan(selection, cost or FoldingCost()).make()


def assert_same(plan: StepPlan, expected: StepPlan) -> None:
    for name in ("token_ids", "positions", "slots", "written_rows", "logit_rows"):
        assert np.array_equal(getattr(plan, name), getattr(expected, name)), name
    for name in ("hidden_rows", "adapters"):
        assert np.array_equal(getattr(plan, name), getattr(expected, name)), name
    assert len(plan.segments) == len(expected.segments)
    for segment, other in zip(plan.segments, expected.segments, strict=True):
        assert np.array_equal(segment.slots, other.slots)
        assert segment.first_position == other.first_position
        assert (segment.first_row, segment.end_row) == (other.first_row, other.end_row)
        assert segment.level == other.level
    assert plan.kv_tokens_read == expected.kv_tokens_read
    assert plan.kv_tokens_unshared == expected.kv_tokens_unshared


def assert_same_paths(plan: StepPlan, expected: StepPlan) -> None:
    """Require that two plans compute the same rows over the same keys, however they share them."""
    assert _rows_by_slot(plan) == _rows_by_slot(expected)
    assert plan.kv_tokens_unshared == expected.kv_tokens_unshared
    assert plan.kv_tokens_read == sum(len(segment.slots) for segment in plan.segments)
    ranges = [(segment.first_row, segment.end_row) for segment in plan.segments]
    assert len(set(ranges)) == len(ranges)
    by_level = Counter(
        (segment.level, row)
        for segment in plan.segments
        for row in range(segment.first_row, segment.end_row)
    )
    assert set(by_level.values()) <= {1}


def _rows_by_slot(plan: StepPlan) -> list[tuple[object, ...]]:
    """Return each row's slot, token, position, flags, and the slots of its path."""
    paths: list[dict[int, int]] = [{} for _ in range(plan.num_rows)]
    for segment in plan.segments:
        keys = dict(enumerate(segment.slots.tolist(), segment.first_position))
        for row in range(segment.first_row, segment.end_row):
            assert not keys.keys() & paths[row].keys()
            paths[row].update(keys)
    written, logits = set(plan.written_rows.tolist()), set(plan.logit_rows.tolist())
    rows = zip(plan.slots.tolist(), plan.token_ids.tolist(), plan.positions.tolist(), strict=True)
    return sorted(
        (*each, row in written, row in logits, sorted(paths[row].items()))
        for row, each in enumerate(rows)
    )


def _array(numbers: list[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)
