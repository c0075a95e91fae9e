"""The tree case by case: growth, namespaces, look-ups, counts. Invariants: test_invariants.py."""

from __future__ import annotations

import numpy as np
import pytest

from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree

from .pair import Pair
from .paths import compute, hold, known, open_path

# -- growing --------------------------------------------------------------------------------------


def test_a_lone_sequence_extends_its_leaf_in_one_run():
    tree = RadixTree(100)
    cursor = open_path(tree, [1, 2, 3])
    for token in range(10, 30):
        tree.append(cursor, token)
    assert tree.num_nodes == 1
    assert len(cursor.node.extent_list()) == 1
    assert cursor.position == 23 and tree.tokens(cursor).tolist() == [1, 2, 3, *range(10, 30)]
    tree.check()


def test_sequences_that_grow_side_by_side_get_their_own_runs():
    tree = RadixTree(4096)
    cursors = [open_path(tree, [9, 9, i]) for i in range(4)]
    for step in range(100):
        for cursor in cursors:
            tree.append(cursor, step)
    assert max(len(cursor.node.extent_list()) for cursor in cursors) <= 3
    tree.check()


def test_cursors_at_one_place_share_equal_tokens_only():
    tree = RadixTree(30)
    a, b, c = (open_path(tree, [1, 2]) for _ in range(3))
    for cursor in (a, b, c):
        tree.append(cursor, 3)
    assert tree.num_nodes == 1 and tree.num_live == 3
    tree.append(a, 4)
    assert (b.node, b.offset) == (a.node, 3)  # b is inside the edge now
    tree.append(b, 5)
    assert tree.tokens(a).tolist() == [1, 2, 3, 4]
    assert tree.tokens(b).tolist() == [1, 2, 3, 5]
    assert tree.tokens(c).tolist() == [1, 2, 3]
    assert c.node.children.keys() == {4, 5}
    tree.append(c, 4)
    assert (c.node, c.offset) == (a.node, a.offset)
    tree.check()


def test_a_rejected_draft_uncounts_every_cursor_at_the_end():
    pair = Pair(30)
    ahead, behind = pair.open("", b"abcd"), pair.open("", b"ab")
    assert ahead is not None and behind is not None
    pair.mark(ahead, 4)
    pair.draft({ahead: (b"xyz", 0), behind: (b"??", 2)})
    assert pair.model.live[behind] == pair.model.live[ahead]
    assert not pair.tree.inside
    pair.draft({ahead: (b"xyz", 2), behind: (b"??", 2)})  # none: two are at the end
    assert pair.model.live[ahead] == ("", b"abcd")


def test_a_cursor_walks_into_cached_tokens():
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


def test_an_empty_prompt_has_its_cursor_at_the_root():
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


def test_namespaces_share_nothing_and_roots_go_when_empty():
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


# -- carried look-ups and forks ---------------------------------------------------------


@pytest.mark.parametrize("change", ["open", "append", "close", "evict", "advance", "reset"])
def test_a_stale_match_is_looked_up_again(change: str):
    """Used as it is, it could put a second child under a token."""
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
    tree = RadixTree(20, make_eviction_policy("adaptive", 20))
    hold(tree, [1, 2, 3])
    tree.advance(7)
    cursor = open_path(tree, [1, 2, 4])
    uses = {tuple(node.tokens): (node.uses, node.last_used) for node in tree.nodes()}
    assert uses[1, 2] == (2, 7) and uses[(4,)] == (1, 7)
    tree.advance(5)
    tree.close(cursor)
    assert tree.roots[""].children[1].last_used == 12


def test_a_path_of_many_nodes_needs_no_recursion():
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


def test_ending_all_sequences_frees_all_slots():
    pair = Pair(32)
    numbers = [pair.open("", bytes([1, 2, i])) for i in range(5)]
    for number in numbers:
        pair.mark(number, 2)
        pair.close(number)
    assert pair.evict(32) == 2
    assert pair.tree.num_free == 32
