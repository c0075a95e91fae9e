"""Cache events: the state rebuilt from the stream is the tree's, after every operation."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from yaie.base.cache_changes import BlocksCleared, BlocksRemoved, BlocksStored, unpack_names
from yaie.base.errors import InvariantViolated
from yaie.kvcache.block_names import block_names, root_name
from yaie.kvcache.cache_events import CacheEvents
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import Cursor, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

from .block_consumer import BlockConsumer
from .paths import compute, hold, open_path

NAMESPACES = ("a", "b", "silent")


def observed(num_slots: int = 200, block_size: int = 4) -> tuple[RadixTree, CacheEvents]:
    tree = RadixTree(num_slots)
    events = CacheEvents(tree, "model", block_size=block_size, reports=lambda name: True)
    return tree, events


def names_of(path: Iterable[int], namespace: str = "", size: int = 4) -> list[int]:
    return block_names(as_tokens(path), root_name("model", namespace), size)


def newest(events: CacheEvents, limit: int = 1000) -> list[int]:
    return unpack_names(events.newest(limit)[0])


class Schedule:
    """Random operations of one seed on an observed tree and on a consumer of its changes."""

    def __init__(self, seed: int) -> None:
        self.random = choice = random.Random(seed)
        num_slots = choice.choice((40, 80, 160))
        policy = make_eviction_policy(choice.choice(("adaptive", "lru")), num_slots)
        self.tree = RadixTree(num_slots, policy)
        self.events = CacheEvents(
            self.tree,
            "model",
            block_size=choice.choice((1, 3, 4, 16)),
            reports=lambda name: name != "silent",
        )
        self.consumer = BlockConsumer()
        self.live: list[Cursor] = []
        self.bases = [[choice.randrange(3) for _ in range(30)] for _ in range(4)]

    def run(self, operations: int, check_every: int) -> None:
        for number in range(operations):
            try:
                self._operate()
            except OutOfSlots:
                if self.live:
                    self.tree.close(self.live.pop(self.random.randrange(len(self.live))))
            self.consumer.take(self.events.take_changes())
            if number % check_every == 0:
                self.compare()
        self.compare()

    def compare(self) -> None:
        """Audit names against all computed tokens, then the consumer's against the names."""
        self.tree.check()
        names: dict[str, list[int]] = {each: [] for each in NAMESPACES}
        for node in self.tree.nodes():
            root = node
            while root.parent is not None:
                root = root.parent
            names[str(self.tree._namespaces[root])] += self.events.names_of(node)
        assert set(self.consumer.parents) == {*names["a"], *names["b"]}
        held = newest(self.events)
        assert sorted(held) == sorted(name for each in names.values() for name in each)
        part = newest(self.events, len(held) // 2)
        assert part == held[: len(part)]
        for name in set(part) & self.consumer.parents.keys():
            assert self.consumer.parents[name] in {None, *part}, "a listed block lacks its parent"

    def _operate(self) -> None:
        tree, choice, kind = self.tree, self.random, self.random.random()
        if kind < 0.3 or not self.live:
            base = choice.choice(self.bases)
            path = base[: choice.randrange(1, len(base))]
            path += [choice.randrange(3) for _ in range(choice.randrange(6))]
            is_use = choice.random() < 0.9
            namespace = choice.choice(NAMESPACES)
            self.live.append(tree.open(namespace, as_tokens(path), is_use=is_use))
        elif kind < 0.34:
            self.live.append(tree.fork(choice.choice(self.live)))
        elif kind < 0.57:
            self._compute(choice.choice(self.live), is_partial=choice.random() < 0.3)
        elif kind < 0.8:
            cursor = choice.choice(self.live)
            self._compute(cursor, is_partial=False)
            tree.append(cursor, choice.randrange(3))
        elif kind < 0.93:
            cursor = self.live.pop(choice.randrange(len(self.live)))
            tree.close(cursor, keep=choice.random() < 0.85)
        elif kind < 0.998:
            tree.evict(choice.randrange(1, 20))
        elif kind < 0.999:
            tree.clear()
        else:
            self.live.clear()
            tree.reset()

    def _compute(self, cursor: Cursor, *, is_partial: bool) -> None:
        for node in self.tree.path(cursor):
            end = cursor.offset if node is cursor.node else len(node.tokens)
            self.tree.mark_computed(node, self.random.randrange(end + 1) if is_partial else end)
            if node.num_computed < end:
                break
        self.tree.advance(3)


def test_the_stream_rebuilds_the_audited_tree() -> None:
    schedules = [Schedule(seed) for seed in range(20)]
    for schedule in schedules:
        schedule.run(250, check_every=5)
    consumers = [each.consumer for each in schedules]
    assert sum(each.num_stored for each in consumers) > 1500
    assert sum(each.num_removed for each in consumers) > 1000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_stream_rebuilds_the_audited_tree_over_a_million_operations() -> None:
    for seed in range(1000, 1500):
        Schedule(seed).run(2000, check_every=25)


def test_blocks_are_stored_when_their_last_token_is_computed() -> None:
    tree, events = observed()
    cursor = open_path(tree, [*range(9)])
    (node,) = tree.path(cursor)
    tree.mark_computed(node, 3)
    assert events.take_changes() == () and len(events) == 0
    tree.mark_computed(node, 8)
    (stored,) = events.take_changes()
    assert isinstance(stored, BlocksStored)
    assert (unpack_names(stored.names), stored.parent) == (names_of(range(9)), None)
    assert stored.token_ids == as_tokens(range(8)).tobytes()
    for token in (9, 10, 11):
        tree.append(cursor, token)
    compute(tree, cursor)
    (stored,) = events.take_changes()
    assert isinstance(stored, BlocksStored)
    assert unpack_names(stored.names) == names_of(range(12))[2:]
    assert stored.parent == names_of(range(12))[1]


def test_a_branch_inside_a_block_names_its_own_block_with_tokens_above() -> None:
    tree, events = observed()
    hold(tree, [*range(10)])
    events.take_changes()
    hold(tree, [0, 1, 2, 3, 4, 5, 60, 70, 80])
    (stored,) = events.take_changes()
    assert isinstance(stored, BlocksStored)
    assert stored.token_ids == as_tokens([4, 5, 60, 70]).tobytes()
    assert stored.parent == names_of(range(4))[0]
    tree.check()


def test_children_are_removed_before_parents() -> None:
    tree, events = observed()
    hold(tree, [*range(12)])
    events.take_changes()
    tree.evict(6)
    tree.evict(6)
    (removed,) = events.take_changes()
    assert isinstance(removed, BlocksRemoved)
    assert unpack_names(removed.names) == names_of(range(12))[::-1]
    assert len(events) == 0


def test_invalid_tokens_are_removed_and_a_reset_clears() -> None:
    tree, events = observed()
    cursor = open_path(tree, [*range(8)])
    compute(tree, cursor)
    events.take_changes()
    tree.close(cursor, keep=False)
    (removed,) = events.take_changes()
    assert isinstance(removed, BlocksRemoved)
    hold(tree, [*range(8)])
    tree.reset()
    assert events.take_changes() == (BlocksCleared(),)
    assert events.newest(10) == (b"", 0)
    tree.check()


def test_a_cut_list_has_the_latest_uses_with_their_parents() -> None:
    tree, events = observed()
    hold(tree, [*range(16)])
    hold(tree, [*range(100, 116)])
    old, new = names_of(range(16)), names_of(range(100, 116))
    assert newest(events) == new + old
    tree.close(open_path(tree, [*range(8), 50]))
    assert newest(events) == [*old[:2], *new, *old[2:]]
    packed, num_omitted = events.newest(3)
    assert (unpack_names(packed), num_omitted) == ([*old[:2], new[0]], 5)


def test_the_audit_finds_a_wrong_name() -> None:
    tree, events = observed()
    hold(tree, [*range(8)])
    (names,) = events._names.values()
    names[1] += 1
    with pytest.raises(InvariantViolated, match="other block names than its path"):
        tree.check()
    names[1] -= 1
    events._count += 1
    with pytest.raises(InvariantViolated, match="3 block names, counted 2"):
        tree.check()
