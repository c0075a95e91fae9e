"""The tree under pressure: pools that are full, and edges with cursors inside."""

from __future__ import annotations

import pytest

from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

from .pair import read_tree
from .paths import compute, hold, known, open_path


def test_out_of_slots_at_open_leaves_live_paths_untouched():
    tree = RadixTree(10)
    live = open_path(tree, [1, 2, 3, 4, 5, 6])
    with pytest.raises(OutOfSlots, match=r"^5 slots needed, 4 free or evictable$"):
        open_path(tree, [1, 2, 3, 7, 7, 7, 7, 7])
    assert (tree.num_live, tree.num_free) == (6, 4)
    assert tree.tokens(live).tolist() == [1, 2, 3, 4, 5, 6]
    assert tree.roots[""].refs == 1
    tree.check()
    with pytest.raises(OutOfSlots):
        open_path(tree, [1] * 11, "new")
    assert "new" not in tree.roots
    tree.check()


def test_out_of_slots_at_append_does_not_move_the_cursor():
    tree = RadixTree(6)
    a = open_path(tree, [1, 2, 3, 4])
    b = open_path(tree, [1, 2, 3, 4, 5, 6])
    before = read_tree(tree)
    for cursor, token in ((b, 7), (a, 9)):  # at the end of a leaf, and inside an edge
        path = tree.tokens(cursor).tolist()
        with pytest.raises(OutOfSlots):
            tree.append(cursor, token)
        assert tree.tokens(cursor).tolist() == path
        tree.check()
    assert read_tree(tree) == before
    tree.append(a, 5)  # cached: needs no slot
    tree.check()


def test_cached_tokens_make_room_for_live_ones():
    tree = RadixTree(10)
    hold(tree, [1, 2, 3, 4, 5, 6, 7, 8])
    cursor = open_path(tree, [1, 2, 9, 9, 9, 9])
    assert known(tree, [1, 2, 3, 4, 5, 6, 7, 8]) == 6  # two tokens at the end made room
    assert tree.num_free == 0
    for _ in range(4):
        tree.append(cursor, 9)
    assert known(tree, [1, 2, 3]) == 2
    with pytest.raises(OutOfSlots):
        tree.append(cursor, 9)
    tree.check()


def test_the_edge_past_a_live_cursor_is_trimmed_under_pressure():
    tree = RadixTree(10)
    hold(tree, [1, 2, 3, 4, 5, 6, 7, 8])
    cursor = open_path(tree, [1, 2, 3])
    assert tree.num_live == 8  # the whole edge
    other = open_path(tree, [9, 9, 9, 9])
    assert known(tree, [1, 2, 3, 4, 5, 6, 7, 8]) == 6
    assert tree.tokens(cursor).tolist() == [1, 2, 3]
    assert tree.num_live == 7
    tree.check()
    assert tree.evict(100) == 3
    assert tree.tokens(other).tolist() == [9, 9, 9, 9]
    tree.check()


def test_evict_counts_trimmed_tokens_that_were_uncomputed():
    tree = RadixTree(10)
    ahead = open_path(tree, [1, 2, 3, 4, 5, 6])
    behind = open_path(tree, [1, 2])
    hold(tree, [8, 8])
    tree.close(ahead)
    assert tree.num_free == 2  # 3 to 6 are past `behind`, though uncomputed
    assert tree.evict(4) == 6  # two cached ones, then all past the cursor
    assert (tree.num_free, tree.num_evicted_tokens) == (8, 2)
    assert tree.tokens(behind).tolist() == [1, 2]
    tree.check()


def test_trimmed_tokens_spare_cached_ones():
    """Slots freed past a cursor are counted before more is evicted."""
    tree = RadixTree(8)
    hold(tree, [1, 2, 3, 4])
    inside = open_path(tree, [1, 2])
    ahead = open_path(tree, [5, 6, 7])
    behind = open_path(tree, [5])
    tree.close(ahead)
    assert tree.num_free == 1
    tree.open("", as_tokens([9, 9, 9]))
    assert known(tree, [1, 2, 3, 4]) == 4  # trimming 6 7 was enough
    assert (inside.position, behind.position) == (2, 1)
    assert tree.num_evicted_tokens == 0
    tree.check()


def test_trimmable_edges_are_found_without_a_tree_walk(monkeypatch: pytest.MonkeyPatch):
    """Under constant pressure every sampled token may look for them."""
    tree = RadixTree(12)
    first, second = open_path(tree, [1, 2, 3, 4]), open_path(tree, [1, 2])
    full = [open_path(tree, [7, 8]), open_path(tree, [7, 8, 9])]
    ahead, behind = open_path(tree, [5, 5, 5, 5]), open_path(tree, [5])
    compute(tree, ahead)
    tree.close(ahead)
    assert tree.num_free == 1
    monkeypatch.setattr(RadixTree, "nodes", lambda tree: pytest.fail("walks the tree"))
    for token in (10, 11, 12, 13):
        tree.append(full[1], token)  # one slot is free, and 5 5 5 makes room for the others
    with pytest.raises(OutOfSlots):
        tree.append(full[0], 0)
    monkeypatch.undo()
    assert [c.position for c in (first, second, behind, *full)] == [4, 2, 1, 2, 7]
    assert known(tree, [5, 5, 5, 5]) == 1
    tree.check()


@pytest.mark.parametrize("leaving", ["ends", "branches", "reaches the end"])
def test_an_edge_is_counted_while_a_cursor_is_inside(leaving: str):
    tree = RadixTree(20)
    ahead, inside = open_path(tree, [1, 2, 3, 4]), open_path(tree, [1, 2, 3])
    twin = open_path(tree, [1, 2, 3])
    edge = ahead.node
    assert tree.inside == {edge: 2}
    tree.close(twin)
    assert tree.inside == {edge: 1}
    if leaving == "ends":
        tree.close(inside)
    elif leaving == "branches":
        tree.append(inside, 9)  # and splits the edge
    else:
        tree.append(inside, 4)
        tree.append(ahead, 5)  # its old end is inside a longer edge now
        assert tree.inside == {edge: 1}
        tree.append(inside, 6)
    assert tree.inside == {}
    tree.check()
