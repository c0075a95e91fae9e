"""Reset trees, and edges that are joined once their branches have gone."""

from __future__ import annotations

import pytest

from yaie.kvcache.eviction import LRU, make_eviction_policy
from yaie.kvcache.radix_tree import RadixTree

from .paths import compute, hold, known, open_path


def test_reset_frees_all_slots():
    tree = RadixTree(20, LRU)
    hold(tree, [1, 2, 3])
    hold(tree, [1, 2, 4], "tenant")
    tree.num_live = 7  # as an audit may find it
    tree.reset()
    tree.check()
    assert (tree.num_free, tree.num_live, tree.num_nodes, tree.roots) == (20, 0, 0, {})
    assert len(tree.evictable) == 0 and tree.evictable.rank is LRU.rank
    hold(tree, [1, 2, 3], "tenant")
    tree.check()
    assert tree.clear() == 3


def test_reset_frees_the_tokens_of_a_lost_cursor():
    tree = RadixTree(20)
    open_path(tree, [1, 2])
    tree.reset()
    tree.check()
    assert (tree.num_free, tree.num_live) == (20, 0)


def test_a_path_without_branches_becomes_one_edge():
    """Otherwise each of its nodes would cost every later look-up a little."""
    tree = RadixTree(4000)
    prompt = list(range(100, 1100))
    first = open_path(tree, prompt)
    compute(tree, first)
    for length in range(1, 1000):  # each splits an edge
        hold(tree, [*prompt[:length], 7])
    assert len(tree.path(first)) == 1000
    tree.clear()
    part = open_path(tree, prompt[:600])
    assert len(tree.path(part)) == 1
    whole = open_path(tree, prompt)
    tree.check()
    assert len(tree.path(first)) == len(tree.path(whole)) == 2  # `part` is between them
    for cursor, length in ((first, 1000), (part, 600), (whole, 1000)):
        assert tree.tokens(cursor).tolist() == prompt[:length]
    tree.append(part, 7)
    assert tree.tokens(part).tolist() == [*prompt[:600], 7]
    tree.check()
    for cursor in (first, part, whole):
        tree.close(cursor)
    tree.check()
    assert tree.clear() == 1000  # the appended token was never computed


def test_edges_of_unequal_use_are_not_joined_under_adaptive():
    """A suffix would join the class of its prefix."""
    tree = RadixTree(200, make_eviction_policy("adaptive", 200))
    prefix, suffix = [1] * 20, [2] * 30
    for place in range(50):
        hold(tree, [*prefix, 100 + place])
    live = open_path(tree, prefix + suffix)
    compute(tree, live)
    tree.clear()
    hold(tree, prefix + suffix)
    assert len(tree.path(live)) == 2
    tree.close(live)
    tree.check()


def test_edges_are_not_joined_over_a_cursor():
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


@pytest.mark.parametrize("eviction", ["adaptive", "lru"])
def test_a_branch_inside_an_edge_does_not_use_the_rest_of_it(eviction: str):
    """The least recently used rest goes first, despite branches above it."""
    tree = RadixTree(200, make_eviction_policy(eviction, 200))
    for path in ([1] * 5 + [2] * 50, [9] * 50, [9] * 50, [1] * 5 + [3] * 50):
        tree.advance(len(path))
        hold(tree, path)
    tree.evict(50)
    assert known(tree, [9] * 50) == 50
    assert known(tree, [1] * 5 + [2] * 50) == 5
    tree.check()
