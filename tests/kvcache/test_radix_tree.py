"""The tree case by case: growing, namespaces, no room, counts. The invariants are next door."""

from __future__ import annotations

import numpy as np
import pytest

from yaie.kvcache.eviction import LFU, LRU, EvictionPolicy
from yaie.kvcache.node import Cursor, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

from .pair import Pair, read_tree


def open_path(tree: RadixTree, path: list[int], namespace: str = "") -> Cursor:
    return tree.open(namespace, as_tokens(path))


def compute(tree: RadixTree, cursor: Cursor) -> None:
    for node in tree.path(cursor):
        tree.mark_computed(node, len(node.tokens))


def hold(tree: RadixTree, path: list[int], namespace: str = "") -> None:
    cursor = open_path(tree, path, namespace)
    compute(tree, cursor)
    tree.close(cursor)


def known(tree: RadixTree, path: list[int], namespace: str = "") -> int:
    return tree.match(namespace, as_tokens(path)).num_known


# -- growing --------------------------------------------------------------------------------------


def test_a_lone_sequence_extends_its_leaf_in_place_and_its_slots_stay_in_a_run():
    tree = RadixTree(100)
    cursor = open_path(tree, [1, 2, 3])
    for token in range(10, 30):
        tree.append(cursor, token)
    assert tree.num_nodes == 1
    assert len(cursor.node.extent_list()) == 1
    assert cursor.position == 23 and tree.tokens(cursor).tolist() == [1, 2, 3, *range(10, 30)]
    tree.check()


def test_sequences_that_grow_side_by_side_get_runs_of_their_own():
    tree = RadixTree(4096)
    cursors = [open_path(tree, [9, 9, i]) for i in range(4)]
    for step in range(100):
        for cursor in cursors:
            tree.append(cursor, step)
    assert max(len(cursor.node.extent_list()) for cursor in cursors) <= 3
    tree.check()


def test_cursors_at_one_place_share_a_token_and_part_when_they_differ():
    tree = RadixTree(30)
    a, b, c = (open_path(tree, [1, 2]) for _ in range(3))
    for cursor in (a, b, c):
        tree.append(cursor, 3)
    assert tree.num_nodes == 1 and tree.num_live == 3
    tree.append(a, 4)
    assert (b.node, b.offset) == (a.node, 3)  # b stands inside the edge now
    tree.append(b, 5)
    assert tree.tokens(a).tolist() == [1, 2, 3, 4]
    assert tree.tokens(b).tolist() == [1, 2, 3, 5]
    assert tree.tokens(c).tolist() == [1, 2, 3]
    assert c.node.children.keys() == {4, 5}
    tree.append(c, 4)
    assert (c.node, c.offset) == (a.node, a.offset)
    tree.check()


def test_a_cursor_walks_into_what_is_held_already():
    tree = RadixTree(30)
    hold(tree, [1, 2, 3, 4, 5])
    cursor = open_path(tree, [1, 2])
    assert cursor.offset == 2 and len(cursor.node.tokens) == 5
    free = tree.num_free
    for token in (3, 4, 5):
        tree.append(cursor, token)
    assert tree.num_free == free and tree.num_nodes == 1
    tree.append(cursor, 6)
    assert tree.num_free == free - 1
    assert cursor.node.num_computed == 5


def test_an_empty_prompt_stands_on_the_root():
    tree = RadixTree(4)
    cursor = open_path(tree, [])
    assert cursor.position == 0 and tree.tokens(cursor).tolist() == []
    assert tree.path(cursor) == []
    tree.append(cursor, 7)
    assert tree.tokens(cursor).tolist() == [7]
    tree.check()
    tree.close(cursor)
    assert tree.roots == {}


def test_a_long_edge_is_compared_to_the_last_token():
    tree = RadixTree(20_000)
    path = list(np.random.default_rng(0).integers(0, 150_000, 8192))
    hold(tree, path)
    assert known(tree, path) == 8192
    for place in (0, 1, 4095, 8191):
        other = list(path)
        other[place] += 1
        assert known(tree, other) == place
    assert known(tree, [*path, 1]) == 8192


def test_as_tokens_makes_contiguous_int32():
    for given in ([1, 2, 3], (1, 2, 3), iter([1, 2, 3]), np.array([1, 2, 3]), range(1, 4)):
        tokens = as_tokens(given)
        assert tokens.dtype == np.int32 and tokens.flags.c_contiguous
        assert tokens.tolist() == [1, 2, 3]
    assert as_tokens(np.arange(10)[::2]).tolist() == [0, 2, 4, 6, 8]
    assert as_tokens([]).tolist() == []


# -- namespaces -----------------------------------------------------------------------------------


def test_namespaces_share_nothing_and_their_roots_go_with_their_last_token():
    tree = RadixTree(30)
    hold(tree, [1, 2, 3], "a")
    assert known(tree, [1, 2, 3], "b") == 0
    assert tree.match("b", as_tokens([1])).node is None
    cursor = tree.open(("model", 7), as_tokens([1, 2, 3]))  # any hashable value
    assert tree.num_free == 24
    tree.check()
    tree.close(cursor)
    assert set(tree.roots) == {"a"}
    tree.clear()
    assert tree.roots == {}
    tree.check()


# -- no room --------------------------------------------------------------------------------------


def test_out_of_slots_at_open_leaves_what_lives_untouched():
    tree = RadixTree(10)
    live = open_path(tree, [1, 2, 3, 4, 5, 6])
    with pytest.raises(OutOfSlots) as caught:
        open_path(tree, [1, 2, 3, 7, 7, 7, 7, 7])
    assert (caught.value.needed, caught.value.available) == (5, 4)
    assert (tree.num_live, tree.num_free) == (6, 4)
    assert tree.tokens(live).tolist() == [1, 2, 3, 4, 5, 6]
    assert tree.roots[""].refs == 1
    tree.check()
    with pytest.raises(OutOfSlots):
        open_path(tree, [1] * 11, "new")
    assert "new" not in tree.roots
    tree.check()


def test_out_of_slots_at_append_leaves_the_cursor_where_it_stood():
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
    tree.append(a, 5)  # held already: needs no room
    tree.check()


def test_what_is_cached_makes_room_for_what_lives():
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


def test_the_edge_ahead_of_a_live_cursor_is_pinned_until_slots_are_wanted():
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


def test_evict_counts_released_tails_that_were_never_computed():
    tree = RadixTree(10)
    ahead = open_path(tree, [1, 2, 3, 4, 5, 6])
    behind = open_path(tree, [1, 2])
    hold(tree, [8, 8])
    tree.close(ahead)
    assert tree.num_free == 2  # 3 to 6 are ahead of `behind`, though nothing computed them
    assert tree.evict(4) == 6  # two cached ones, then the tail goes as a whole
    assert (tree.num_free, tree.num_evicted_tokens) == (8, 2)
    assert tree.tokens(behind).tolist() == [1, 2]
    tree.check()


def test_released_tails_spare_what_is_cached_behind_them():
    """Slots that a tail gave back are counted before anything more is evicted."""
    tree = RadixTree(8)
    hold(tree, [1, 2, 3, 4])
    inside = open_path(tree, [1, 2])
    ahead = open_path(tree, [5, 6, 7])
    behind = open_path(tree, [5])
    tree.close(ahead)
    assert tree.num_free == 1
    tree.open("", as_tokens([9, 9, 9]))
    assert known(tree, [1, 2, 3, 4]) == 4  # releasing 6 7 was enough
    assert (inside.position, behind.position) == (2, 1)
    assert tree.num_evicted_tokens == 0
    tree.check()


def test_tails_are_found_without_a_walk_of_the_tree(monkeypatch: pytest.MonkeyPatch):
    """Under constant pressure every token that is drawn may look for them."""
    tree = RadixTree(12)
    first, second = open_path(tree, [1, 2, 3, 4]), open_path(tree, [1, 2])
    full = [open_path(tree, [7, 8]), open_path(tree, [7, 8, 9])]
    ahead, behind = open_path(tree, [5, 5, 5, 5]), open_path(tree, [5])
    compute(tree, ahead)
    tree.close(ahead)
    assert tree.num_free == 1
    monkeypatch.setattr(RadixTree, "nodes", lambda tree: pytest.fail("walks the tree"))
    for token in (10, 11, 12, 13):
        tree.append(full[1], token)  # one slot is free, and 5 5 5 goes for the others
    with pytest.raises(OutOfSlots):
        tree.append(full[0], 0)
    monkeypatch.undo()
    assert [c.position for c in (first, second, behind, *full)] == [4, 2, 1, 2, 7]
    assert known(tree, [5, 5, 5, 5]) == 1
    tree.check()


@pytest.mark.parametrize("leaving", ["ends", "goes on", "is walked to"])
def test_an_edge_is_noted_while_a_cursor_stands_inside_it(leaving: str):
    tree = RadixTree(20)
    ahead, inside = open_path(tree, [1, 2, 3, 4]), open_path(tree, [1, 2, 3])
    twin = open_path(tree, [1, 2, 3])
    edge = ahead.node
    assert tree.inside == {edge: 2}
    tree.close(twin)
    assert tree.inside == {edge: 1}
    if leaving == "ends":
        tree.close(inside)
    elif leaving == "goes on":
        tree.append(inside, 9)  # and splits the edge behind which it stood
    else:
        tree.append(inside, 4)
        tree.append(ahead, 5)  # now its end is the inside of a longer edge
        assert tree.inside == {edge: 1}
        tree.append(inside, 6)
    assert tree.inside == {}
    tree.check()


# -- look-ups that are carried, forks -------------------------------------------------------------


@pytest.mark.parametrize("change", ["open", "append", "close", "evict", "advance", "reset"])
def test_a_stale_match_is_looked_up_again(change: str):
    """Opened with as it is, it would put a second child under a token, or a child under nothing."""
    tree = RadixTree(40)
    hold(tree, [1, 2, 3, 4])
    live = open_path(tree, [7, 8])
    match = tree.match("", as_tokens([1, 2, 9]))
    assert (match.num_known, match.version) == (2, tree.version)
    if change == "open":
        tree.close(open_path(tree, [1, 2, 9, 9]))
    elif change == "append":
        match = tree.match("", as_tokens([7, 8, 9]))
        tree.append(live, 9)
    elif change == "close":
        tree.close(live)
    elif change == "evict":
        tree.evict(100)
    elif change == "advance":
        tree.advance(1)
    else:
        tree.reset()
    assert match.version != tree.version
    path = [7, 8, 9] if change == "append" else [1, 2, 9]
    cursor = tree.open("", as_tokens(path), match)
    assert tree.tokens(cursor).tolist() == path
    if change != "reset":  # the live cursor is lost then
        tree.check()


def test_a_current_match_is_not_looked_up_again(monkeypatch: pytest.MonkeyPatch):
    tree = RadixTree(40)
    hold(tree, [1, 2, 3, 4])
    match = tree.match("", as_tokens([1, 2, 9]))
    monkeypatch.setattr(tree, "match", lambda *_: pytest.fail("looked up again"))
    assert tree.tokens(tree.open("", as_tokens([1, 2, 9]), match)).tolist() == [1, 2, 9]
    tree.check()


@pytest.mark.parametrize("path", [[], [1, 2], [1, 2, 3, 4], [1, 2, 9]])
def test_a_fork_has_the_path_and_pins_it(path: list[int]):
    tree = RadixTree(40)
    hold(tree, [1, 2, 3, 4])
    first = open_path(tree, path)
    second = tree.fork(first)
    tree.check()
    tree.close(first)
    assert tree.tokens(second).tolist() == path
    tree.append(second, 5)
    assert tree.tokens(second).tolist() == [*path, 5]
    tree.check()


# -- beginning again ------------------------------------------------------------------------------


def test_reset_forgets_everything_and_all_slots_are_free():
    tree = RadixTree(20, LFU)
    hold(tree, [1, 2, 3])
    hold(tree, [1, 2, 4], "tenant")
    tree.num_live = 7  # what an audit may have found
    tree.reset()
    tree.check()
    assert (tree.num_free, tree.num_live, tree.num_nodes, tree.roots) == (20, 0, 0, {})
    assert len(tree.evictable) == 0 and tree.evictable.rank is LFU.rank
    hold(tree, [1, 2, 3], "tenant")
    tree.check()
    assert tree.clear() == 3


def test_reset_frees_what_a_lost_cursor_pins():
    tree = RadixTree(20)
    open_path(tree, [1, 2])
    tree.reset()
    tree.check()
    assert (tree.num_free, tree.num_live) == (20, 0)


def test_a_path_that_nothing_branches_off_becomes_one_edge():
    """Else each of its nodes would cost every later step a little, for as long as it is used."""
    tree = RadixTree(4000)
    prompt = list(range(100, 1100))
    first = open_path(tree, prompt)
    compute(tree, first)
    for length in range(1, 1000):  # each cuts an edge
        hold(tree, [*prompt[:length], 7])
    assert len(tree.path(first)) == 1000
    tree.clear()
    part = open_path(tree, prompt[:600])
    assert len(tree.path(part)) == 1
    whole = open_path(tree, prompt)
    tree.check()
    assert len(tree.path(first)) == len(tree.path(whole)) == 2  # `part` stands between them
    for cursor, length in ((first, 1000), (part, 600), (whole, 1000)):
        assert tree.tokens(cursor).tolist() == prompt[:length]
    tree.append(part, 7)
    assert tree.tokens(part).tolist() == [*prompt[:600], 7]
    tree.check()
    for cursor in (first, part, whole):
        tree.close(cursor)
    tree.check()
    assert tree.clear() == 1000  # the drawn token was never computed


def test_edges_used_more_often_keep_their_count_to_themselves():
    """A tail that took on the uses of the prefix above it could hardly be evicted any more."""
    tree = RadixTree(200, LFU)
    prefix, tail = [1] * 20, [2] * 30
    for place in range(50):
        hold(tree, [*prefix, 100 + place])
    live = open_path(tree, prefix + tail)
    compute(tree, live)
    tree.clear()
    hold(tree, prefix + tail)
    assert len(tree.path(live)) == 2
    tree.close(live)
    for _ in range(4):
        hold(tree, [9] * 40)
    tree.evict(30)
    assert known(tree, [9] * 40) == 40
    assert known(tree, prefix + tail) == 20
    tree.check()


def test_edges_are_not_joined_over_a_cursor_that_stands_between():
    tree = RadixTree(100)
    between = open_path(tree, [1, 2, 3])
    below = open_path(tree, [1, 2, 3, 4, 5])
    hold(tree, [1, 2, 3, 9])
    tree.clear()
    also = open_path(tree, [1, 2, 3, 4, 5])
    assert len(tree.path(below)) == len(tree.path(also)) == 2
    tree.close(between)
    again = open_path(tree, [1, 2, 3, 4, 5])
    assert len(tree.path(below)) == len(tree.path(again)) == 1
    tree.check()


@pytest.mark.parametrize("eviction", [LRU, LFU])
def test_a_branch_inside_an_edge_does_not_use_its_tail(eviction: EvictionPolicy):
    """What was used longest ago, or least often, goes first, however others branch above it."""
    tree = RadixTree(200, eviction)
    for path in ([1] * 5 + [2] * 50, [9] * 50, [9] * 50, [1] * 5 + [3] * 50):
        tree.advance(len(path))
        hold(tree, path)
    tree.evict(50)
    assert known(tree, [9] * 50) == 50
    assert known(tree, [1] * 5 + [2] * 50) == 5
    tree.check()


# -- counts ---------------------------------------------------------------------------------------


def test_the_counts_of_slots_add_up():
    tree = RadixTree(20)
    hold(tree, [1, 2, 3])
    cursor = open_path(tree, [4, 5])
    assert (tree.num_free, tree.num_cached, tree.num_live) == (15, 3, 2)
    assert tree.num_available == 18
    tree.close(cursor)
    assert (tree.num_free, tree.num_cached, tree.num_live) == (17, 3, 0)


def test_uses_and_time_of_use_follow_the_sequences():
    tree = RadixTree(20, LFU)
    hold(tree, [1, 2, 3])
    tree.advance(7)
    cursor = open_path(tree, [1, 2, 4])
    uses = {tuple(node.tokens): (node.uses, node.last_used) for node in tree.nodes()}
    assert uses[1, 2] == (2, 7) and uses[(4,)] == (1, 7)
    tree.advance(5)
    tree.close(cursor)
    assert tree.roots[""].children[1].last_used == 12


def test_a_path_of_many_nodes_is_no_matter_of_recursion():
    tree = RadixTree(3000)
    cursor = open_path(tree, [0])
    path, others = [0], []
    for _ in range(1200):  # a branch at every token
        others.append(open_path(tree, [*path, 1]))
        tree.append(cursor, 0)
        path.append(0)
    assert len(tree.path(cursor)) == 1201
    compute(tree, cursor)
    tree.check()
    for other in [*others, cursor]:
        tree.close(other)
    tree.check()
    assert tree.clear() == 1201
    assert tree.num_free == 3000


def test_a_pair_that_ends_everything_gives_all_slots_back():
    pair = Pair(32)
    numbers = [pair.open("", bytes([1, 2, i])) for i in range(5)]
    for number in numbers:
        pair.mark(number, 2)
        pair.close(number)
    assert pair.evict(32) == 2
    assert pair.tree.num_free == 32
