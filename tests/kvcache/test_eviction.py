"""Eviction order under each policy, and the queue that keeps it."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yaie.base.errors import ConfigError
from yaie.base.settings import Eviction
from yaie.cli.options import ENGINE_FLAGS
from yaie.kvcache.adaptive_eviction import AdaptiveEviction
from yaie.kvcache.eviction import (
    LRU,
    POLICIES,
    EvictionQueue,
    make_eviction_policy,
    rank_lru,
)
from yaie.kvcache.node import Node, as_tokens
from yaie.kvcache.radix_tree import RadixTree


def leaf(*, last_used=0, uses=1, length=1) -> Node:
    node = Node(None, 0)
    node.last_used, node.uses = last_used, uses
    node.tokens.extend(range(length))
    return node


def hold(tree: RadixTree, path: list[int], namespace: str = "") -> None:
    """Open, compute and close a sequence; ten tokens of time pass."""
    cursor = tree.open(namespace, as_tokens(path))
    for node in tree.path(cursor):
        tree.mark_computed(node, len(node.tokens))
    tree.close(cursor)
    tree.advance(10)
    tree.check()


def known(tree: RadixTree, path: list[int]) -> int:
    return tree.match("", as_tokens(path)).num_known


A, B, C = [1] * 4, [2] * 4, [3] * 4


def test_lru_evicts_the_least_recently_used():
    tree = RadixTree(12, LRU)
    for path in (A, B, C, A):
        hold(tree, path)
    assert tree.evict(4) == 4
    assert [known(tree, path) for path in (A, B, C)] == [4, 0, 4]
    assert tree.evict(4) == 4
    assert [known(tree, path) for path in (A, B, C)] == [4, 0, 0]


def test_adaptive_keeps_a_class_that_returns_over_a_newer_one_that_does_not():
    tree = RadixTree(1000, make_eviction_policy("adaptive", 1000))
    for turn in range(20):  # prompts of 16 tokens return, prompts of 100 never do
        hold(tree, [1000 + turn % 4] * 16)
        hold(tree, [2000 + turn] * 100)
    kept = [1000 + turn % 4 for turn in range(16, 20)]
    tree.evict(tree.num_cached - 64)
    assert [known(tree, [token] * 16) for token in kept] == [16] * 4
    assert known(tree, [2019] * 100) == 0
    tree.check()


def test_adaptive_is_lru_within_a_class():
    tree = RadixTree(12, make_eviction_policy("adaptive", 12))
    for path in (A, B, C):
        hold(tree, path)
    tree.evict(4)
    assert [known(tree, path) for path in (A, B, C)] == [0, 4, 4]


def test_adaptive_counts_a_leaf_that_is_trimmed_often_once():
    policy = AdaptiveEviction(100)
    node = leaf(length=64)
    policy.rank(node)
    for _ in range(5):
        policy.note_eviction(node)
    once = AdaptiveEviction(100)
    other = leaf(length=64)
    once.rank(other)
    once.note_eviction(other)
    assert policy.rank(leaf(length=64)) == once.rank(leaf(length=64))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12), st.integers(1, 5000)), max_size=200))
@settings(deadline=None, max_examples=50)
def test_adaptive_ranks_stay_finite_and_follow_recency(events):
    policy, clock = AdaptiveEviction(100), 0
    for reused, uses, length in events:
        node = leaf(last_used=clock, uses=uses, length=length)
        policy.rank(node)
        clock += length
        policy.note_reuse(node, clock) if reused else policy.note_eviction(node)
    for uses in (1, 3, 20):
        older, newer = (leaf(last_used=at, uses=uses, length=9) for at in (clock, clock + 1))
        assert math.isfinite(policy.rank(older)[0])
        assert policy.rank(older) < policy.rank(newer)


def test_settings_and_help_name_every_policy():
    assert get_args(Eviction) == tuple(POLICIES)
    (flag,) = [flag for flag in ENGINE_FLAGS if flag.name == "eviction"]
    assert all(name in flag.help for name in POLICIES)
    assert all(make(8).name == name for name, make in POLICIES.items())


def test_an_unknown_policy_is_refused_with_the_known_names():
    with pytest.raises(ConfigError, match="'mru'; choose one of adaptive, lru") as caught:
        make_eviction_policy("mru", 10)
    assert caught.value.param == "eviction"
    assert make_eviction_policy("lru", 0) is LRU


def test_a_leaf_is_trimmed_when_less_of_it_is_needed():
    tree = RadixTree(12)
    hold(tree, [1, 2, 3, 4, 5, 6])
    slots = tree.roots[""].children[1].slots().tolist()
    assert tree.evict(2) == 2
    assert (tree.num_evicted_tokens, tree.num_evicted_nodes) == (2, 0)
    found = tree.match("", as_tokens([1, 2, 3, 4, 5, 6]))
    assert (found.num_known, found.num_computed) == (4, 4)
    assert found.node.slots().tolist() == slots[:4]
    tree.check()
    assert tree.evict(4) == 4
    assert (tree.num_evicted_tokens, tree.num_evicted_nodes) == (6, 1)
    assert tree.roots == {} and tree.num_nodes == 0
    tree.check()


def test_a_parent_is_evictable_after_its_last_child():
    tree = RadixTree(20)
    hold(tree, [1, 1, 1, 1])
    hold(tree, [1, 1, 2, 2])
    assert tree.num_nodes == 3
    assert tree.evict(4) == 4
    assert tree.num_nodes == 1 and known(tree, [1, 1]) == 2
    tree.check()
    assert tree.evict(99) == 2
    assert tree.num_nodes == 0
    tree.check()


def test_evicting_zero_or_more_than_all_slots():
    tree = RadixTree(8)
    assert tree.evict(5) == 0
    hold(tree, A)
    assert tree.evict(0) == 0 and tree.evict(-1) == 0
    assert tree.evict(100) == 4
    assert tree.clear() == 0


def test_pinned_leaves_return_to_the_queue_with_a_new_rank():
    tree = RadixTree(12)
    hold(tree, A)
    hold(tree, B)
    cursor = tree.open("", as_tokens(A))
    assert len(tree.evictable) == 1
    assert tree.evict(100) == 4
    assert [known(tree, A), known(tree, B)] == [4, 0]
    hold(tree, C)
    tree.close(cursor)
    assert tree.evict(4) == 4  # A was used after C
    assert [known(tree, A), known(tree, C)] == [4, 0]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from("aadp"), st.integers(0, 9), st.integers(0, 5))))
def test_the_queue_pops_in_order_of_rank(operations):
    queue = EvictionQueue(rank_lru)
    nodes = [leaf() for _ in range(10)]
    inside: dict[int, tuple[int, int]] = {}  # node -> (rank, when it was added)
    for step, (kind, which, last_used) in enumerate(operations):
        if kind == "a":
            if which not in inside:
                nodes[which].last_used = last_used
            queue.add(nodes[which])
            inside[which] = (nodes[which].last_used, step)
        elif kind == "d":
            queue.discard(nodes[which])
            inside.pop(which, None)
        else:
            first = min(inside, key=lambda i: inside[i], default=None)
            assert queue.pop() is (None if first is None else nodes[first])
            inside.pop(first, None)
        assert len(queue) == len(inside)
        assert {id(node) for node in queue} == {id(nodes[i]) for i in inside}


def test_stale_entries_do_not_pile_up():
    queue = EvictionQueue(rank_lru)
    nodes = [leaf(last_used=i) for i in range(50)]
    for _ in range(200):
        for node in nodes:
            queue.add(node)
    assert len(queue) == 50
    assert len(queue._heap) <= 64 + 2 * 50 + 1
    assert [queue.pop() for _ in range(51)] == [*nodes, None]
