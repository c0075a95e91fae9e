"""Thirteen bugs, seeded into the code one at a time: the checks must catch each of them.

A bug counts as caught if the audit or the comparison with the model stops the run. A crash does
not count.
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
    """Every ninth ref of a node is lost."""
    real, calls = RadixTree._pin_one, count(1)

    def pin_one(tree: RadixTree, node: Node, *, is_use: bool = True) -> None:
        real(tree, node, is_use=is_use)
        if next(calls) % 9 == 0 and node.refs > 1:
            node.refs -= 1

    patch.setattr(RadixTree, "_pin_one", pin_one)


def free_twice(patch: pytest.MonkeyPatch) -> None:
    """A removed node frees its slots, and the last of them twice."""
    real = RadixTree._remove

    def remove(tree: RadixTree, leaf: Node) -> None:
        start, length = leaf.extent_list()[-1]
        real(tree, leaf)
        tree.allocator.free(start + length - 1, 1)

    patch.setattr(RadixTree, "_remove", remove)


def split_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """An edge is split one token too late, if it is long enough."""
    real = RadixTree._split

    def split(tree: RadixTree, node: Node, keep: int) -> Node:
        return real(tree, node, keep + 1 if keep + 1 < len(node.tokens) else keep)

    patch.setattr(RadixTree, "_split", split)


def evict_a_live_node(patch: pytest.MonkeyPatch) -> None:
    """If all leaves are pinned, a live one is evicted."""
    real = RadixTree._split_past_cursors

    def split_past_cursors(tree: RadixTree) -> bool:
        if real(tree):
            return True
        for node in tree.nodes():
            if node.children is None and node.parent is not None and node.refs:
                tree.num_live -= len(node.tokens)
                tree._remove(node)
                return True
        return False

    patch.setattr(RadixTree, "_split_past_cursors", split_past_cursors)


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
    """An appended token gets the slot of the node's last token."""
    real = RadixTree._slot_after

    def slot_after(tree: RadixTree, node: Node) -> int:
        slot = real(tree, node)
        if not node.extents or node.extents[-1] < 3:
            return slot
        tree.allocator.free(slot, 1)
        return node.extents[-2] + node.extents[-1] - 1

    patch.setattr(RadixTree, "_slot_after", slot_after)


def stale_num_computed(patch: pytest.MonkeyPatch) -> None:
    """After a split the lower node keeps the computed count of the whole edge."""
    real = RadixTree._split

    def split(tree: RadixTree, node: Node, keep: int) -> Node:
        before = node.num_computed
        upper = real(tree, node, keep)
        if node.refs:
            node.num_computed = min(before, len(node.tokens))
        return upper

    patch.setattr(RadixTree, "_split", split)


def wrong_namespace_root(patch: pytest.MonkeyPatch) -> None:
    """A namespace without a root is looked up under another one."""
    real = RadixTree.open

    def open_(tree: RadixTree, namespace: object, tokens: object, match: object = None) -> object:
        if namespace not in tree.roots and tree.roots:
            namespace = next(iter(tree.roots))
        return real(tree, namespace, tokens)  # type: ignore[arg-type]

    patch.setattr(RadixTree, "open", open_)


def lost_extent(patch: pytest.MonkeyPatch) -> None:
    """Extents cut off a node lose their last one."""
    real = Node.cut_extents

    def cut_extents(node: Node, keep: int) -> object:
        rest = real(node, keep)
        return rest[:-1] if len(rest) > 1 else rest

    patch.setattr(Node, "cut_extents", cut_extents)


def heap_entry_not_invalidated(patch: pytest.MonkeyPatch) -> None:
    """A pinned or removed leaf keeps its entry in the eviction queue."""
    patch.setattr(EvictionQueue, "discard", lambda queue, node: None)


def forget_cursors_inside(patch: pytest.MonkeyPatch) -> None:
    """A leaf that grows in place does not count the cursors at its old end."""
    real = RadixTree._advance_cursor

    def advance(tree: RadixTree, node: Node, count: int, cursor: Cursor) -> None:
        real(tree, node, count, cursor)
        tree.inside.pop(node, None)

    patch.setattr(RadixTree, "_advance_cursor", advance)
    # Keep the missing count from raising KeyError.
    patch.setattr(RadixTree, "_leave_inside", lambda tree, node: tree.inside.pop(node, None))


def keep_offsets_at_a_join(patch: pytest.MonkeyPatch) -> None:
    """Cursors keep their offset, though the joined edge starts further up."""
    real = RadixTree._join

    def join(tree: RadixTree, chain: list[Node]) -> None:
        before = [(cursor, cursor.offset) for cursor in chain[-1].cursors or ()]
        real(tree, chain)
        for cursor, offset in before:
            cursor.offset = offset

    patch.setattr(RadixTree, "_join", join)


def forget_cursors_at_a_retraction(patch: pytest.MonkeyPatch) -> None:
    """A rejected draft uncounts the drafted cursor alone, though others may be at the end too."""
    patch.setattr(RadixTree, "_count_inside", RadixTree._leave_inside)


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
    forget_cursors_inside,
    keep_offsets_at_a_join,
    forget_cursors_at_a_retraction,
]


def outcomes() -> list[fuzz.Outcome]:
    return [fuzz.run_seed(seed, OPERATIONS) for seed in SEEDS]


@pytest.mark.integration
def test_the_real_code_passes_the_same_runs():
    assert [outcome.error for outcome in outcomes()] == [None] * len(SEEDS)


@pytest.mark.integration
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_seeded_bug_is_caught(bug: Patch, monkeypatch: pytest.MonkeyPatch):
    bug(monkeypatch)
    found = outcomes()
    caught = [outcome for outcome in found if outcome.caught_by in ("oracle", "check")]
    assert len(caught) >= len(SEEDS) // 4, [outcome.error for outcome in found]


def test_there_are_thirteen_different_bugs():
    assert len({bug.__name__ for bug in BUGS}) == 13
