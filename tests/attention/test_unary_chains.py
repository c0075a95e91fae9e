"""Kept unary chains: plans equal those made from scratch, with less work."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.plain_plan import assert_same, plain_plan
from tests.attention.work import count_lines
from yaie.attention.plan import FoldingCost, RowSelection, plan_step
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import Cursor, Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots
from yaie.kvcache.unary_chain import make_chain_above

UNLIMITED = 10**9


class Life:
    """A tree used as by the scheduler, with random choices."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.num_slots = self.random.choice((24, 60, 200))
        self.tree = RadixTree(
            self.num_slots, make_eviction_policy(self.random.choice(("adaptive", "lru")), 100)
        )
        self.live: list[Cursor] = []
        self.alphabet = self.random.choice((2, 3))
        self.known = [self.tokens(12)]  # paths that were opened or closed
        self.cost = FoldingCost(self.random.choice((0, 3, 32)))
        self.happened: Counter[str] = Counter()

    def run(self, operations: int) -> None:
        weights = {"open": 10, "append": 14, "close": 8, "step": 16, "evict": 2, "clear": 1}
        for kind in self.random.choices(list(weights), weights.values(), k=operations):
            getattr(self, kind)()
            self.tree.check()  # compares kept chains with their nodes
        while self.live:
            self.close()
        assert not any(node.chain for node in self.tree.nodes())

    def tokens(self, count: int) -> list[int]:
        return [self.random.randrange(self.alphabet) for _ in range(count)]

    def open(self) -> None:
        """Open a prompt that leaves a known one anywhere, or resumes a preempted one."""
        base = self.random.choice(self.known)
        base = base[: self.random.randint(0, len(base))] if self.random.random() < 0.7 else base
        path = (base + self.tokens(self.random.randint(0, 4)))[: self.num_slots // 2] or [0]
        try:
            self.live.append(self.tree.open(self.random.choice(("", "", "b")), as_tokens(path)))
        except OutOfSlots:
            return
        self.known.append(path)

    def append(self) -> None:
        """Grow cursors with computed paths, as after a sample."""
        able = [c for c in self.live if c.node and c.offset <= c.node.num_computed]
        for cursor in self.random.sample(able, len(able) // 2):
            try:
                self.tree.append(cursor, self.random.randrange(self.alphabet))
            except OutOfSlots:
                return

    def close(self) -> None:
        if self.live:
            cursor = self.live.pop(self.random.randrange(len(self.live)))
            self.known.append(self.tree.tokens(cursor).tolist())
            self.tree.close(cursor)

    def evict(self) -> None:
        self.tree.evict(self.random.randint(1, 10))

    def clear(self) -> None:
        self.tree.clear()

    def step(self) -> None:
        """Plan rows for some or all sequences; now and then with prompt logits."""
        chosen = [c for c in self.live if self.random.random() < self.random.choice((0.5, 1))]
        selection = RowSelection(self.random.choice((2, 7, UNLIMITED)))
        self.random.shuffle(chosen)
        kept = {node: node.chain for node in self.tree.nodes() if node.chain}
        for cursor in chosen:
            if self.random.random() < 0.1:
                first, end = sorted(self.random.choices(range(cursor.position + 1), k=2))
                selection.add_outputs(self.tree.path(cursor), first, end)
                self.happened["prompt logits"] += 1
            selection.add(cursor)
        for _ in range(2):  # the second time all chains are kept
            assert_same(plan_step(selection, self.cost).plan, plain_plan(selection, self.cost))
        self.happened["kept"] += sum(node.chain is old for node, old in kept.items())
        self.happened["changed"] += sum(node.chain is not old for node, old in kept.items())
        for node, entry in selection.entries.items():
            self.tree.mark_computed(node, entry.computed_to)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_plans_equal_those_made_from_scratch(seed: int) -> None:
    Life(seed).run(120)


def test_random_lives_keep_and_drop_chains() -> None:
    """Otherwise the comparison above would test neither."""
    happened: Counter[str] = Counter()
    for seed in range(20):
        life = Life(seed)
        life.run(120)
        happened += life.happened
    assert all(happened[kind] > 30 for kind in ("kept", "changed", "prompt logits")), happened


# -- a long chain -------------------------------------------------------------------------------


class LongChain:
    """A prompt with a node for every token: another cached prompt branches off at each."""

    def __init__(self, depth: int) -> None:
        self.tree = RadixTree(4 * depth + 1000)
        self.prompt = list(range(depth))
        for end in range(1, depth):
            self.hold([*self.prompt[:end], 900_000 + end])
        self.hold(self.prompt)
        self.live: list[Cursor] = []

    def hold(self, path: list[int]) -> None:
        cursor = self.tree.open("", as_tokens(path))
        for node in self.tree.path(cursor):
            self.tree.mark_computed(node, len(node.tokens))
        self.tree.close(cursor)

    def open(self, *own: int, end: int | None = None) -> Cursor:
        """Open a sequence below the chain, or below its first `end` tokens."""
        self.live.append(self.tree.open("", as_tokens([*self.prompt[:end], *own])))
        return self.live[-1]

    def close(self, cursor: Cursor) -> None:
        self.live.remove(cursor)
        self.tree.close(cursor)

    def plan(self) -> int:
        """Plan a step of all sequences; return the lines of Python that it took."""
        selection = RowSelection(UNLIMITED)
        for cursor in self.live:
            assert selection.add(cursor)[1]
        work = count_lines(lambda: plan_step(selection))
        assert_same(plan_step(selection).plan, plain_plan(selection))
        for node, entry in selection.entries.items():
            self.tree.mark_computed(node, entry.computed_to)
        return work

    def kept(self) -> list[Node]:
        return [node for node in self.tree.nodes() if node.chain]

    def num_kept_slots(self) -> int:
        return sum(len(node.chain.slots) for node in self.kept() if node.chain)


@pytest.mark.parametrize("num_sequences", [1, 5])
def test_a_step_takes_constant_work_below_a_chain(num_sequences: int) -> None:
    work = {}
    for depth in (100, 400):
        chain = LongChain(depth)
        for number in range(num_sequences):
            chain.open(1_000_000 + number, 1)
        first = chain.plan()
        unchanged = chain.plan()
        assert unchanged < first - 2 * depth
        for number, cursor in enumerate(chain.live):
            chain.tree.append(cursor, number)  # growth of leaves changes no chain
        grown = chain.plan()
        chain.hold([7, 8, 9])  # nor do other paths
        chain.open(1_000_000, 1, 5, 5)
        joined = chain.plan()
        work[depth] = [unchanged, grown, joined]
    assert work[100] == work[400]


def test_a_change_costs_in_proportion_to_the_chain() -> None:
    work = []
    for depth in (100, 200):
        chain = LongChain(depth)
        chain.open(1_000_000)
        chain.plan()
        chain.open(2_000_000, end=depth // 2)
        work.append(chain.plan())
    assert work[1] < 2.1 * work[0]


def test_a_branch_in_another_chain_leaves_a_kept_one() -> None:
    """Of two consecutive chains only the one with the new branch is rebuilt."""
    chain = LongChain(60)
    lower, upper = chain.open(1_000_000), chain.open(2_000_000, end=30)
    chain.plan()
    kept = {node: node.chain for node in chain.kept()}
    assert len(kept) == 2
    chain.open(3_000_000, end=45)
    chain.plan()
    (same,) = [node for node, old in kept.items() if node.chain is old]
    assert same.end == 30
    chain.close(lower)
    chain.plan()
    assert same.chain is kept[same]
    chain.close(upper)
    chain.plan()
    (left,) = chain.kept()
    assert left.chain is not None
    assert left.start == len(left.chain.slots)


def test_kept_slots_are_at_most_the_tokens_above() -> None:
    """Despite many openings and ends elsewhere; without sequences all are dropped."""
    depth = 80
    chain = LongChain(depth)
    chain.open(1_000_000)
    rng = random.Random(5)
    for number in range(200):
        if rng.random() < 0.5 and len(chain.live) > 1:
            chain.close(chain.live[rng.randrange(1, len(chain.live))])
        else:
            chain.open(2_000_000 + number, end=rng.randrange(1, depth))
        chain.plan()
        assert chain.num_kept_slots() <= depth
        assert len(chain.kept()) <= 2 * len(chain.live)
    while chain.live:
        chain.close(chain.live[-1])
    assert chain.kept() == []


@pytest.mark.parametrize("moves_on", [False, True])
def test_a_sequence_without_rows_leaves_no_chains_behind(*, moves_on: bool) -> None:
    """Its chain spans the whole prompt; the chains of others go when they end."""
    depth = 80
    chain = LongChain(depth)
    waiting = chain.open(1_000_000)
    chain.plan()
    chain.live.remove(waiting)
    for end in range(depth - 2, 1, -1):
        cursor = chain.open(end=end)
        chain.plan()
        if moves_on:  # into cached tokens, and ends before the next plan
            chain.tree.append(cursor, chain.prompt[end])
        chain.close(cursor)
    assert chain.num_kept_slots() <= depth
    chain.live.append(waiting)
    chain.plan()
    assert waiting.node is not None
    assert chain.num_kept_slots() == waiting.node.start
    chain.close(waiting)
    assert chain.kept() == []


def test_a_sequence_that_walks_down_takes_its_chain_along() -> None:
    chain = LongChain(60)
    cursor = chain.open(end=10)
    chain.plan()
    for token in chain.prompt[10:]:
        chain.tree.append(cursor, token)
        assert chain.plan() < 220
        (node,) = chain.kept()
        assert node is cursor.node
        assert chain.num_kept_slots() == node.start


def test_unpinned_nodes_keep_no_chain() -> None:
    chain = LongChain(20)
    found = chain.tree.match("", as_tokens(chain.prompt))
    assert found.node is not None
    assert make_chain_above(found.node) is None
    assert chain.kept() == []
