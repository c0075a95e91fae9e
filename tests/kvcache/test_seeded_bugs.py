"""Twelve bugs, put into the code one at a time: each must be caught, or the tests prove nothing.

A bug counts as caught when the audit or the comparison with the model stops the run; a crash
somewhere inside does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from yaie.kvcache.eviction import EvictionQueue
from yaie.kvcache.node import Cursor, Node
from yaie.kvcache.radix_tree import RadixTree

from . import fuzz

SEEDS = range(12)
OPERATIONS = 800

Patch = Callable[[pytest.MonkeyPatch], None]


def skip_a_ref(patch: pytest.MonkeyPatch) -> None:
    """Every ninth time that a node gets a ref, it does not."""
    real, calls = RadixTree._pin_one, count(1)

    def pin_one(tree: RadixTree, node: Node) -> None:
        real(tree, node)
        if next(calls) % 9 == 0 and node.refs > 1:
            node.refs -= 1

    patch.setattr(RadixTree, "_pin_one", pin_one)


def free_twice(patch: pytest.MonkeyPatch) -> None:
    """A removed node gives its slots back, and then the last of them once more."""
    real = RadixTree._remove

    def remove(tree: RadixTree, leaf: Node) -> None:
        start, length = leaf.extent_list()[-1]
        real(tree, leaf)
        tree.allocator.free(start + length - 1, 1)

    patch.setattr(RadixTree, "_remove", remove)


def split_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """An edge is cut one token too late, where it is long enough for that."""
    real = RadixTree._split

    def split(tree: RadixTree, node: Node, keep: int) -> Node:
        return real(tree, node, keep + 1 if keep + 1 < len(node.tokens) else keep)

    patch.setattr(RadixTree, "_split", split)


def evict_a_live_node(patch: pytest.MonkeyPatch) -> None:
    """When no leaf can be evicted, one that a sequence stands on is taken."""
    real = RadixTree._split_off_tails

    def split_off_tails(tree: RadixTree) -> bool:
        if real(tree):
            return True
        for node in tree.nodes():
            if node.children is None and node.parent is not None and node.refs:
                tree.num_live -= len(node.tokens)
                tree._remove(node)
                return True
        return False

    patch.setattr(RadixTree, "_split_off_tails", split_off_tails)


def forget_a_child(patch: pytest.MonkeyPatch) -> None:
    """A third child pushes the first out of the table of its parent."""
    real = RadixTree._add_child

    def add_child(tree: RadixTree, node: Node, *rest: object) -> Node:
        child = real(tree, node, *rest)  # type: ignore[arg-type]
        assert node.children is not None
        if len(node.children) > 1:
            del node.children[next(iter(node.children))]
        return child

    patch.setattr(RadixTree, "_add_child", add_child)


def share_a_slot(patch: pytest.MonkeyPatch) -> None:
    """A token appended behind a node gets the slot of the node's last token."""
    real = RadixTree._slot_after

    def slot_after(tree: RadixTree, node: Node) -> int:
        slot = real(tree, node)
        if not node.extents or node.extents[-1] < 3:
            return slot
        tree.allocator.free(slot, 1)
        return node.extents[-2] + node.extents[-1] - 1

    patch.setattr(RadixTree, "_slot_after", slot_after)


def stale_num_computed(patch: pytest.MonkeyPatch) -> None:
    """After a split the tail says that as many tokens are computed as the whole edge had."""
    real = RadixTree._split

    def split(tree: RadixTree, node: Node, keep: int) -> Node:
        before = node.num_computed
        upper = real(tree, node, keep)
        if node.refs:
            node.num_computed = min(before, len(node.tokens))
        return upper

    patch.setattr(RadixTree, "_split", split)


def wrong_namespace_root(patch: pytest.MonkeyPatch) -> None:
    """A namespace without a root of its own is looked up under another one."""
    real = RadixTree.open

    def open_(tree: RadixTree, namespace: object, tokens: object, match: object = None) -> object:
        if namespace not in tree.roots and tree.roots:
            namespace = next(iter(tree.roots))
        return real(tree, namespace, tokens)  # type: ignore[arg-type]

    patch.setattr(RadixTree, "open", open_)


def lost_extent(patch: pytest.MonkeyPatch) -> None:
    """What is cut off a node of several extents comes without the last of them."""
    real = Node.cut_extents

    def cut_extents(node: Node, keep: int) -> object:
        rest = real(node, keep)
        return rest[:-1] if len(rest) > 1 else rest

    patch.setattr(Node, "cut_extents", cut_extents)


def heap_entry_not_invalidated(patch: pytest.MonkeyPatch) -> None:
    """A leaf that is pinned or gone keeps its valid entry in the eviction queue."""
    patch.setattr(EvictionQueue, "discard", lambda queue, node: None)


def forget_who_stands_inside(patch: pytest.MonkeyPatch) -> None:
    """A leaf that grows in place does not note the cursors that it leaves behind its end."""
    real = RadixTree._lengthened

    def lengthened(tree: RadixTree, node: Node, count: int, cursor: Cursor) -> None:
        real(tree, node, count, cursor)
        tree.inside.pop(node, None)

    patch.setattr(RadixTree, "_lengthened", lengthened)
    # The count of what was never noted does not fail of itself.
    patch.setattr(RadixTree, "_leave_inside", lambda tree, node: tree.inside.pop(node, None))


def leave_cursors_where_edges_are_joined(patch: pytest.MonkeyPatch) -> None:
    """Cursors keep their distance from the edge's beginning, though it begins further up now."""
    real = RadixTree._join

    def join(tree: RadixTree, chain: list[Node]) -> None:
        before = [(cursor, cursor.offset) for cursor in chain[-1].cursors or ()]
        real(tree, chain)
        for cursor, offset in before:
            cursor.offset = offset

    patch.setattr(RadixTree, "_join", join)


BUGS: list[Patch] = [
    skip_a_ref,
    free_twice,
    split_off_by_one,
    evict_a_live_node,
    forget_a_child,
    share_a_slot,
    stale_num_computed,
    wrong_namespace_root,
    lost_extent,
    heap_entry_not_invalidated,
    forget_who_stands_inside,
    leave_cursors_where_edges_are_joined,
]


def outcomes() -> list[fuzz.Outcome]:
    return [fuzz.run_seed(seed, OPERATIONS) for seed in SEEDS]


def test_the_code_as_it_is_passes_the_same_runs():
    assert [outcome.error for outcome in outcomes()] == [None] * len(SEEDS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_seeded_bug_is_caught(bug: Patch, monkeypatch: pytest.MonkeyPatch):
    bug(monkeypatch)
    found = outcomes()
    caught = [outcome for outcome in found if outcome.caught_by in ("oracle", "check")]
    assert len(caught) >= len(SEEDS) // 4, [outcome.error for outcome in found]


def test_there_are_twelve_different_bugs():
    assert len({bug.__name__ for bug in BUGS}) == 12
