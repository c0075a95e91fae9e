"""Paths that are given up: evicted first, unless others need them."""

from __future__ import annotations

import numpy as np
import pytest

from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import Cursor, Tokens
from yaie.kvcache.radix_tree import RadixTree


def tokens(*parts: range) -> Tokens:
    return np.array([token for part in parts for token in part], dtype=np.int32)


def hold(tree: RadixTree, path: Tokens) -> Cursor:
    cursor = tree.open("", path)
    for node in tree.path(cursor):
        tree.mark_computed(node, len(node.tokens))
    tree.advance(len(path))
    return cursor


def known(tree: RadixTree, path: Tokens) -> int:
    return tree.match("", path).num_computed


@pytest.fixture(params=["lru", "adaptive"])
def tree(request: pytest.FixtureRequest) -> RadixTree:
    return RadixTree(100, make_eviction_policy(request.param, 100))


SHARED, OLD, NEW, OTHER = range(10), range(20, 30), range(40, 50), range(60, 70)


def test_the_rest_of_a_path_goes_before_older_ones(tree: RadixTree) -> None:
    for path in (tokens(OTHER), tokens(SHARED, OLD), tokens(SHARED, NEW)):
        tree.close(hold(tree, path))
    tree.abandon("", tokens(SHARED, OLD), 10)
    tree.evict(10)
    assert known(tree, tokens(SHARED, OLD)) == 10
    assert known(tree, tokens(SHARED, NEW)) == 20
    assert known(tree, tokens(OTHER)) == 10
    tree.check()


def test_live_tokens_stay(tree: RadixTree) -> None:
    tree.close(hold(tree, tokens(OTHER)))
    live = hold(tree, tokens(SHARED, OLD))
    tree.abandon("", tokens(SHARED, OLD), 0)
    tree.evict(10)
    assert known(tree, tokens(OTHER)) == 0
    tree.close(live)
    assert known(tree, tokens(SHARED, OLD)) == 20
    tree.check()


def test_paths_through_it_stay(tree: RadixTree) -> None:
    for path in (tokens(SHARED, OLD), tokens(SHARED, OLD, NEW), tokens(OTHER)):
        tree.close(hold(tree, path))
    tree.abandon("", tokens(SHARED, OLD), 0)
    assert tree.evict(10) == 10
    assert known(tree, tokens(SHARED, OLD)) == 20
    tree.check()


def test_an_unknown_path_is_no_matter(tree: RadixTree) -> None:
    tree.abandon("", tokens(OLD), 0)
    tree.close(hold(tree, tokens(SHARED)))
    tree.abandon("other", tokens(SHARED), 0)
    tree.abandon("", tokens(OLD), 0)
    assert known(tree, tokens(SHARED)) == 10
