"""The planner over random trees: selection, order of rows, and visible keys.

Expectations are derived from the tree alone, row by row, never from the planner's own entries.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.dense import path_of
from yaie.attention.plan import FoldingCost, PlannedStep, RowSelection, StepPlan, plan_step
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.kvcache.node import Cursor, Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree

UNLIMITED = 10**9
OVERHEADS = [0, 3, 32, UNLIMITED]

token_lists = st.lists(st.integers(0, 2), min_size=1, max_size=14)
namespaces = st.sampled_from(["a", "b"])


@dataclass
class Situation:
    """A tree with cached, partly computed and new paths, and the cursors to be served."""

    tree: RadixTree
    cursors: list[Cursor] = field(default_factory=list)

    def step(self, budget: int, overhead: int = 0) -> tuple[RowSelection, PlannedStep]:
        """Select for all cursors in order and plan, without computing."""
        selection = RowSelection(budget)
        for cursor in self.cursors:
            selection.add(cursor)
        return selection, plan_step(selection, FoldingCost(overhead))

    def compute(self, selection: RowSelection) -> None:
        for node, entry in selection.entries.items():
            self.tree.mark_computed(node, entry.computed_to)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    tree = RadixTree(512)
    situation = Situation(tree)
    for number, length in enumerate(draw(st.lists(st.integers(1, 5), max_size=8))):
        # Allocate and free in turn, so that later paths have several extents.
        cursor = tree.open(f"gone {number}", as_tokens(range(length)))
        situation.cursors = [cursor]
        situation.compute(situation.step(UNLIMITED)[0])
        if number % 2:
            tree.close(cursor)
    if tree.num_cached:
        tree.evict(tree.num_cached)
    situation.cursors = []
    for namespace, tokens in draw(st.lists(st.tuples(namespaces, token_lists), max_size=6)):
        cursor = tree.open(namespace, as_tokens(tokens))  # cached from earlier requests
        situation.cursors = [cursor]
        situation.compute(situation.step(UNLIMITED)[0])
        tree.close(cursor)
    live = draw(st.lists(st.tuples(namespaces, token_lists), min_size=1, max_size=7))
    half = draw(st.integers(0, len(live)))
    situation.cursors = [tree.open(name, as_tokens(tokens)) for name, tokens in live[:half]]
    situation.compute(situation.step(draw(st.integers(0, 30)))[0])
    situation.cursors += [tree.open(name, as_tokens(tokens)) for name, tokens in live[half:]]
    for index in draw(st.lists(st.integers(0, len(live) - 1), max_size=5)):
        tree.append(situation.cursors[index], draw(st.integers(0, 3)))
    tree.check()
    return situation


def owners(tree: RadixTree) -> dict[int, tuple[Node, int]]:
    """Return node and offset of the token in each slot."""
    found = {}
    for node in tree.nodes():
        for offset, slot in enumerate(node.slots().tolist()):
            found[slot] = (node, offset)
    return found


def path_slots(node: Node, offset: int) -> dict[int, int]:
    """Return the slots of a path by position, up to and including this token."""
    found = {}
    end = offset + 1
    above: Node | None = node
    while above is not None and above.parent is not None:
        for index, slot in enumerate(above.slots(0, end).tolist()):
            found[above.start + index] = slot
        above = above.parent
        end = len(above.tokens) if above else 0
    return found


def place(cursor: Cursor) -> tuple[Node, int]:
    assert cursor.node is not None
    return cursor.node, cursor.offset - 1


def check_plan(tree: RadixTree, plan: StepPlan) -> list[tuple[Node, int]]:
    """Check the invariants of a plan; return the place in the tree of each row."""
    owner = owners(tree)
    places = [owner[slot] for slot in plan.slots.tolist()]
    assert len(set(plan.slots.tolist())) == plan.num_rows, "a token has two rows"
    for row, (node, offset) in enumerate(places):
        assert plan.token_ids[row] == node.tokens[offset]
        assert plan.positions[row] == node.start + offset
        assert path_of(plan, row) == path_slots(node, offset)
    new = [row for row, (node, offset) in enumerate(places) if offset >= node.num_computed]
    assert plan.written_rows.tolist() == new
    assert plan.logit_rows.tolist() == sorted(set(plan.logit_rows.tolist()))
    rows_below: dict[Node, list[int]] = {}
    for row, (node, _) in enumerate(places):
        above: Node | None = node
        while above is not None and above.parent is not None:  # roots have no keys to share
            rows_below.setdefault(above, []).append(row)
            above = above.parent
    for rows in rows_below.values():
        assert rows == list(range(rows[0], rows[0] + len(rows))), "rows below a node are torn"
    for segment in plan.segments:
        assert len(segment.slots)
        assert 0 <= segment.first_row < segment.end_row <= plan.num_rows
    levels: list[list[int]] = [[] for _ in range(plan.num_rows)]
    for segment in plan.segments:
        for row in range(segment.first_row, segment.end_row):
            levels[row].append(segment.level)
    for found in levels:
        assert sorted(found) == list(range(len(found))), "a row has two segments of one level"
    assert plan.kv_tokens_read == sum(len(segment.slots) for segment in plan.segments)
    for array in (plan.token_ids, plan.positions, plan.slots, plan.written_rows, plan.logit_rows):
        assert array.dtype == np.int64
    return places


@pytest.mark.integration
@given(situations(), st.integers(1, 60), st.sampled_from(OVERHEADS))
@settings(deadline=None, max_examples=150)
def test_every_row_sees_exactly_its_path(situation: Situation, budget: int, overhead: int) -> None:
    tree = situation.tree
    while situation.cursors:  # until every cursor has had its logits: chunk after chunk
        selection = RowSelection(budget)
        complete, paid = [], 0
        for cursor in situation.cursors:
            before = selection.num_rows
            rows, is_complete = selection.add(cursor)
            assert rows == selection.num_rows - before
            paid += rows
            complete.append(is_complete)
        planned = plan_step(selection, FoldingCost(overhead))
        places = check_plan(tree, planned.plan)
        assert selection.num_rows == planned.plan.num_rows == paid <= budget
        wanted = {place(c) for c, done in zip(situation.cursors, complete, strict=True) if done}
        assert {places[row] for row in planned.plan.logit_rows.tolist()} == wanted
        for where, index in planned.logit_index.items():
            assert places[planned.plan.logit_rows[index]] == where
        # Rows without logits are new: each row has a purpose.
        rows_wanted = set(planned.plan.logit_rows.tolist())
        assert rows_wanted | set(planned.plan.written_rows.tolist()) == set(range(len(places)))
        situation.compute(selection)
        tree.check()
        assert all(complete) or planned.plan.num_rows == budget, "the budget was not used up"
        waiting = zip(situation.cursors, complete, strict=True)
        situation.cursors = [cursor for cursor, done in waiting if not done]


@given(situations())
@settings(deadline=None, max_examples=100)
def test_all_at_once_computes_each_distinct_token_once(situation: Situation) -> None:
    tree = situation.tree
    missing: set[int] = set()
    held_logits: set[int] = set()
    for cursor in situation.cursors:
        node, offset = place(cursor)
        if offset < node.num_computed:
            held_logits.add(int(node.slots()[offset]))
        above: Node | None = node
        end = offset + 1
        while above is not None and above.parent is not None:
            missing.update(above.slots(min(above.num_computed, end), end).tolist())
            above = above.parent
            end = len(above.tokens) if above else 0
    selection, planned = situation.step(UNLIMITED)
    assert set(planned.plan.slots.tolist()) == missing | held_logits
    # With all complete, sharing never reads more than separate sequences.
    assert planned.plan.kv_tokens_unshared == sum(c.position for c in situation.cursors)
    assert planned.plan.kv_tokens_read <= planned.plan.kv_tokens_unshared
    # Each key is read once.
    read = [slot for segment in planned.plan.segments for slot in segment.slots.tolist()]
    assert len(read) == len(set(read))
    assert selection.num_rows == len(missing | held_logits)
    check_plan(tree, planned.plan)


@given(situations(), st.integers(1, 60), st.sampled_from([1, 3, 32]))
@settings(deadline=None, max_examples=100)
def test_folding_costs_no_more_than_it_promises(
    situation: Situation, budget: int, overhead: int
) -> None:
    selection, plain = situation.step(budget, 0)
    _, folded = situation.step(budget, overhead)
    extra = folded.plan.kv_tokens_read - plain.plan.kv_tokens_read
    assert 0 <= extra <= overhead * len(selection.entries)
    for name in ("token_ids", "positions", "slots", "written_rows", "logit_rows"):
        assert np.array_equal(getattr(plain.plan, name), getattr(folded.plan, name))
    assert plain.logit_index == folded.logit_index


SPEC = AttentionSpec(layer=0, num_heads=4, num_kv_heads=2, key_width=8, value_width=8, scale=0.4)


def attend(plan: StepPlan) -> torch.Tensor:
    """Attend with the reference backend over keys and values derived from the slot."""
    generator = torch.Generator().manual_seed(1)
    keys = torch.randn(512, 2, 8, generator=generator)
    values = torch.randn(512, 2, 8, generator=generator)
    queries = torch.randn(plan.num_rows, 4, 8, generator=generator)
    step = ReferenceBackend().prepare(plan, torch.device("cpu"))
    return step.attend(SPEC, queries, keys, values, None)


@given(situations(), st.integers(1, 60))
@settings(deadline=None, max_examples=60)
def test_folded_plans_compute_what_unfolded_ones_do(situation: Situation, budget: int) -> None:
    plain = attend(situation.step(budget, 0)[1].plan)
    for overhead in OVERHEADS[1:]:
        folded = attend(situation.step(budget, overhead)[1].plan)
        torch.testing.assert_close(folded, plain, atol=1e-5, rtol=0)


@given(situations(), st.integers(1, 40), st.data())
@settings(deadline=None, max_examples=150)
def test_prompt_logits_in_chunks(situation: Situation, budget: int, data: st.DataObject) -> None:
    """Each position gets its output once, for any cached part, chunk size and other sequence."""
    tree = situation.tree
    chosen = data.draw(st.sampled_from(situation.cursors))
    is_hidden = data.draw(st.booleans())
    path = tree.path(chosen)
    end = data.draw(st.integers(0, chosen.position))
    first = data.draw(st.integers(0, end))
    expected = [path_slots(*place(chosen))[position] for position in range(first, end)]
    got: list[int] = []
    for _ in range(600):
        if first >= end:
            break
        selection = RowSelection(budget)
        # Others leave at least one row, as the scheduler ensures in the end.
        if budget > 1:
            selection.max_rows = data.draw(st.integers(0, budget - 1))
            for cursor in situation.cursors:
                selection.add(cursor)
            selection.max_rows = budget
        others = selection.num_rows
        reached = selection.add_outputs(path, first, end, is_hidden=is_hidden)
        planned = plan_step(selection)
        places = check_plan(tree, planned.plan)
        assert others <= selection.num_rows == planned.plan.num_rows <= budget
        assert reached > first or selection.num_rows > others
        assert first <= reached <= end
        for position in range(first, reached):
            node = next(n for n in path if n.start <= position < n.end)
            place_of = planned.hidden_index if is_hidden else planned.logit_index
            rows = planned.plan.hidden_rows if is_hidden else planned.plan.logit_rows
            row = rows[place_of[(node, position - node.start)]]
            got.append(int(planned.plan.slots[row]))
            assert places[row] == (node, position - node.start)
        situation.compute(selection)
        tree.check()
        first = reached
    assert got == expected


def test_the_first_pays_for_shared_rows() -> None:
    tree = RadixTree(64)
    a = tree.open("", as_tokens([1, 2, 3, 4]))
    b = tree.open("", as_tokens([1, 2, 3, 5, 6]))
    same = tree.open("", as_tokens([1, 2, 3, 4]))
    selection = RowSelection(64)
    assert selection.add(a) == (4, True)
    assert selection.add(b) == (2, True)
    assert selection.add(same) == (0, True)
    assert selection.num_rows == 6


def test_a_cached_prompt_costs_one_unwritten_row() -> None:
    tree = RadixTree(64)
    situation = Situation(tree, [tree.open("", as_tokens([1, 2, 3]))])
    situation.compute(situation.step(64)[0])
    selection, planned = situation.step(64)
    assert selection.num_rows == 1
    assert planned.plan.positions.tolist() == [2]
    assert len(planned.plan.written_rows) == 0
    assert planned.plan.logit_rows.tolist() == [0]


def test_a_cursor_inside_an_edge_reads_nothing_behind_it() -> None:
    tree = RadixTree(64)
    long = Situation(tree, [tree.open("", as_tokens(range(20)))])
    long.compute(long.step(64)[0])
    tree.close(long.cursors[0])
    _, planned = Situation(tree, [tree.open("", as_tokens(range(5)))]).step(64)
    assert planned.plan.kv_tokens_read == planned.plan.kv_tokens_unshared == 5


@pytest.mark.parametrize("overhead", [0, 32])
def test_a_chain_with_the_same_rows_is_one_segment(overhead: int) -> None:
    tree = RadixTree(64)
    for length in (4, 8, 12):  # a chain of three nodes, each split by a cached branch
        cursor = tree.open("", as_tokens([*range(length), 99]))
        held = Situation(tree, [cursor])
        held.compute(held.step(64)[0])
        tree.close(cursor)
    _, planned = Situation(tree, [tree.open("", as_tokens([*range(12), 50]))]).step(64, overhead)
    (segment,) = planned.plan.segments
    assert len(segment.slots) == 13


def test_nothing_selected_is_an_empty_plan() -> None:
    plan = plan_step(RowSelection(8)).plan
    assert plan.num_rows == 0
    assert len(plan.segments) == 0
    check_plan(RadixTree(8), plan)


@pytest.mark.parametrize("computed", [True, False])
@pytest.mark.parametrize("overhead", [0, 32])
def test_paths_deeper_than_recursion(overhead: int, *, computed: bool) -> None:
    depth = 5000
    assert depth > sys.getrecursionlimit()
    path, branches = [], []
    above = Node(None, 0)
    for position in range(depth):  # nodes of one token, each with a side branch
        for token, into in ((0, path), (1, branches)):
            node = Node(above, position)
            node.tokens.append(token)
            node.add_extents([(2 * position + token, 1)])
            node.num_computed = int(computed)
            into.append(node)
        above = path[-1]
    selection = RowSelection(UNLIMITED)
    for node in (path[-1], branches[0], branches[-1]):
        assert selection.add(Cursor(node, 1))[1]
    assert selection.add_outputs(path, 0, depth) == depth
    plan = plan_step(selection, FoldingCost(overhead)).plan
    assert plan.num_rows == depth + 2
    last = int(np.flatnonzero(plan.slots == 2 * (depth - 1))[0])
    assert path_of(plan, last) == {position: 2 * position for position in range(depth)}


def test_planning_a_deep_chain_copies_each_slot_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are linked down to the segment that reads them all, and joined there."""
    depth = 4_000
    above = Node(None, 0)
    for position in range(depth):
        node = Node(above, position)
        node.tokens.append(0)
        node.add_extents([(2 * position, 1)])
        node.num_computed = int(position < depth - 1)
        above = node
    selection = RowSelection(1)
    assert selection.add(Cursor(above, 1)) == (1, True)
    copied: list[int] = []
    concatenate = np.concatenate

    def counted(parts: Any, *arguments: Any, **settings: Any) -> Any:
        copied.append(sum(len(part) for part in parts))
        return concatenate(parts, *arguments, **settings)

    monkeypatch.setattr(np, "concatenate", counted)
    (segment,) = plan_step(selection).plan.segments
    assert segment.slots.tolist() == list(range(0, 2 * depth, 2))
    assert depth <= sum(copied) <= 3 * depth


def test_many_branches_under_one_prefix_read_it_once() -> None:
    rng = random.Random(3)
    tree = RadixTree(4096)
    prefix = [rng.randrange(100) for _ in range(1000)]
    cursors = [tree.open("", as_tokens([*prefix, 100 + i, *range(9)])) for i in range(64)]
    situation = Situation(tree, cursors)
    _, planned = situation.step(UNLIMITED, 32)
    assert planned.plan.num_rows == planned.plan.kv_tokens_read == 1000 + 64 * 10
    assert planned.plan.kv_tokens_unshared == 64 * 1010
    assert len(planned.plan.segments) == 65
