"""Slot release: every slot of the tree leaves through one collaborator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from yaie.kvcache.eviction import LRU
from yaie.kvcache.node import Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import Extent, SlotAllocator

from . import fuzz
from .pair import Pair


@dataclass
class Released:
    """Tokens that lost their slots."""

    path: list[int]  # from the root to the last of them
    slots: list[int]
    num_computed: int  # of them


@dataclass
class Recorder:
    """A collaborator that records what it frees."""

    events: list[Released] = field(default_factory=list)

    def release(
        self, node: Node, first: int, extents: list[Extent], allocator: SlotAllocator
    ) -> None:
        path: list[int] = []
        above: Node | None = node
        while above is not None:
            path[:0] = above.tokens.tolist()
            above = above.parent
        slots = [slot for start, length in extents for slot in range(start, start + length)]
        self.events.append(Released(path, slots, max(0, node.num_computed - first)))
        for start, length in extents:
            allocator.free(start, length)


def hold(tree: RadixTree, path: list[int], num_computed: int | None = None) -> list[int]:
    """Cache a path; return its slots."""
    cursor = tree.open("", as_tokens(path))
    slots = np.concatenate([node.slots() for node in tree.path(cursor)]).tolist()
    for node in tree.path(cursor):
        computed = len(path) if num_computed is None else num_computed
        tree.mark_computed(node, max(0, min(len(node.tokens), computed - node.start)))
    tree.close(cursor)
    tree.advance(len(path))
    return slots


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def tree(recorder: Recorder) -> RadixTree:
    return RadixTree(12, LRU, recorder)


def test_an_evicted_leaf_is_released_whole(tree: RadixTree, recorder: Recorder) -> None:
    slots = hold(tree, [1, 2, 3, 4])
    assert recorder.events == []
    assert tree.evict(4) == 4
    assert recorder.events == [Released([1, 2, 3, 4], slots, 4)]
    tree.check()


def test_a_trimmed_tail_is_released_alone(tree: RadixTree, recorder: Recorder) -> None:
    slots = hold(tree, [1, 2, 3, 4])
    tree.evict(1)
    assert recorder.events == [Released([1, 2, 3, 4], slots[3:], 1)]
    tree.check()


def test_a_leaf_is_released_with_its_path(tree: RadixTree, recorder: Recorder) -> None:
    slots = hold(tree, [1, 2, 3, 4])
    hold(tree, [1, 2, 9])
    tree.evict(2)
    assert recorder.events == [Released([1, 2, 3, 4], slots[2:], 2)]
    tree.check()


def test_uncomputed_tokens_are_released_as_such(tree: RadixTree, recorder: Recorder) -> None:
    slots = hold(tree, [1, 2, 3, 4], num_computed=3)
    assert recorder.events == [Released([1, 2, 3, 4], slots[3:], 0)]
    tree.check()


def test_invalid_tokens_are_released_as_uncomputed(tree: RadixTree, recorder: Recorder) -> None:
    cursor = tree.open("", as_tokens([1, 2, 3]))
    tree.mark_computed(tree.path(cursor)[0], 3)
    tree.close(cursor, keep=False)
    assert [event.num_computed for event in recorder.events] == [0]
    assert tree.num_free == 12


@pytest.mark.parametrize("seed", range(8))
def test_every_slot_is_released_once(seed: int) -> None:
    """Over random operations, all slots are free again through the collaborator alone."""
    recorder = Recorder()
    fuzzer = fuzz.Fuzzer(seed, check_every=1)
    fuzzer.pair = Pair(fuzzer.pair.tree.num_slots, release=recorder)
    fuzzer.run(300)
    pair = fuzzer.pair
    for number in sorted(pair.model.live):
        pair.close(number)
    pair.evict(pair.tree.num_slots)
    assert recorder.events
    assert pair.tree.num_free == pair.tree.num_slots
