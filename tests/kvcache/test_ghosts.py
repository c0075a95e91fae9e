"""Ghosts: evicted tokens that are wanted again, against a record of every prefix."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.ghosts import BLOCK, Ghosts, hashes_at
from yaie.kvcache.node import Cursor, as_tokens
from yaie.kvcache.radix_tree import RadixTree


def serve(tree: RadixTree, tokens: list[int], namespace: str = "", grows: int = 0) -> int:
    """Open, compute, lengthen and close a sequence; return the tokens that were wanted again."""
    before = tree.wanted_again.in_double
    cursor = tree.open(namespace, as_tokens(tokens))
    wanted = tree.wanted_again.in_double - before
    compute(tree, cursor)
    for number in range(grows):
        tree.append(cursor, 900 + number)
        compute(tree, cursor)
    tree.close(cursor)
    tree.check()
    return wanted


def compute(tree: RadixTree, cursor: Cursor) -> None:
    path = tree.path(cursor)
    for node in path:
        tree.mark_computed(node, cursor.offset if node is path[-1] else len(node.tokens))
    tree.advance(1)


def test_evicted_tokens_are_wanted_again_once() -> None:
    tree = RadixTree(256)
    prompt = list(range(100))
    assert serve(tree, prompt) == 0
    tree.clear()
    assert serve(tree, prompt) == 96  # whole blocks
    assert serve(tree, prompt) == 0  # cached
    tree.evict(50)
    assert serve(tree, prompt) == 46  # the last 50 of 100, up to the last whole block
    tree.clear()
    assert serve(tree, [7, *prompt]) == 0  # another prefix
    assert serve(tree, prompt, "other") == 0
    assert serve(tree, prompt[:40]) == 32


def test_a_shared_prefix_is_counted_when_it_is_computed_again() -> None:
    tree = RadixTree(4096)
    prefix = list(range(64))
    for number in range(4):
        serve(tree, prefix + [100 + number] * 32)
    tree.clear()
    wanted = [serve(tree, prefix + [100 + number] * 32) for number in range(4)]
    assert wanted == [96, 32, 32, 32]


def test_a_reset_forgets() -> None:
    tree = RadixTree(256)
    serve(tree, list(range(100)))
    tree.clear()
    tree.reset()
    assert serve(tree, list(range(100))) == 0


def test_the_memory_is_one_pool() -> None:
    tree = RadixTree(64 * BLOCK)
    for number in range(100):
        serve(tree, [number, *range(1000, 1000 + 8 * BLOCK)])
    assert len(tree.ghosts) == 64
    assert serve(tree, [0, *range(1000, 1000 + 8 * BLOCK)]) == 0  # long ago
    assert isinstance(tree.ghosts, Ghosts)


@pytest.mark.parametrize("length", [1, 15, 47, 48, 300, 5000])
def test_short_and_long_runs_have_the_same_hashes(length: int) -> None:
    tokens = np.random.default_rng(length).integers(0, 2**31 - 1, length).astype(np.int32)
    one_by_one, value = [], 5
    for at in range(length):
        (value,) = hashes_at(value, tokens[at : at + 1], slice(None))
        one_by_one.append(value)
    assert hashes_at(5, tokens, slice(None)) == one_by_one
    assert hashes_at(5, tokens, slice(3, None, 7)) == one_by_one[3::7]


@given(st.integers(0, 2**32), st.sampled_from(["lru", "adaptive"]))
@settings(deadline=None, max_examples=40)
def test_ghosts_are_the_blocks_computed_before(seed: int, eviction: str) -> None:
    """While all evictions fit into the memory: a block is wanted again if it was ever computed."""
    rng = random.Random(seed)
    tree = RadixTree(200, make_eviction_policy(eviction, 200))
    tree.ghosts._most = 10**6
    seen: set[tuple[int, ...]] = set()
    known: list[list[int]] = [[]]
    for _ in range(40):
        base = rng.choice(known)
        tokens = base[: rng.randint(0, len(base))] + [
            rng.randrange(2) for _ in range(rng.randint(1, 60))
        ]
        tokens = tokens[:120]
        known.append(tokens)
        cached = tree.match("", as_tokens(tokens)).num_known
        expected = sum(
            end - max(end - BLOCK, cached)
            for end in range(BLOCK, len(tokens) + 1, BLOCK)
            if end > cached and tuple(tokens[:end]) in seen
        )
        grows = rng.choice([0, 0, 5, 20])
        assert serve(tree, tokens, grows=grows) == expected
        whole = tokens + [900 + number for number in range(grows)]
        seen |= {tuple(whole[:end]) for end in range(BLOCK, len(whole) + 1, BLOCK)}


def test_a_larger_pool_keeps_what_was_evicted_last() -> None:
    """Of a loop over more prompts than fit, only a pool that fits the loop keeps something."""
    for num_prompts, expected in ((5, "in_quarter_more"), (6, "in_half_more"), (7, "in_double")):
        tree = RadixTree(4 * 64)
        for turn in range(3):
            for number in range(num_prompts):
                serve(tree, [1000 + number] * 64)
            if not turn:
                assert tree.wanted_again.in_double == 0
        larger = RadixTree(num_prompts * 64)
        found = tree.wanted_again
        for _ in range(3):
            for number in range(num_prompts):
                serve(larger, [1000 + number] * 64)
        assert larger.wanted_again.in_double == 0, "the larger pool recomputes nothing"
        assert found.in_double == 2 * num_prompts * 64
        assert getattr(found, expected) == found.in_double
        smaller = {"in_half_more": found.in_quarter_more, "in_double": found.in_half_more}
        assert smaller.get(expected, 0) == 0
