"""Slots stay in long runs under churn in a full pool."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from yaie.bench.fragmentation import Churn, measure_fragmentation, path_runs
from yaie.kvcache import radix_tree, slots
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree

LARGE = pytest.mark.integration
FULL = Churn(num_slots=16_384, num_live=16, num_requests=500, prefix_len=128, own_len=(16, 384))


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=LARGE) for n in (2, 3))])
def test_runs_stay_long(seed: int) -> None:
    found = measure_fragmentation(FULL, seed)
    assert found["evicted_tokens"] > 5 * FULL.num_slots  # the pool was nearly always full
    assert found["mean_run"] > 14
    assert found["tokens_in_short_runs"] < 0.1


@LARGE
def test_without_batched_eviction_runs_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same churn with slots evicted one by one, and single slots taken at once."""
    monkeypatch.setattr(radix_tree, "_GROWTH_SHARE", 10**9)
    monkeypatch.setattr(slots, "_FRAGMENT_SHARE", 10**9)
    monkeypatch.setattr(slots, "MIN_RUN", 0)
    assert measure_fragmentation(FULL)["mean_run"] < 4


def test_free_room_costs_few_cache_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool without free room caches hardly more of the same prompts."""

    def held(tree: RadixTree) -> int:
        prompts = [np.full(64, n, dtype=np.int32) for n in range(200)]
        for prompt in prompts:
            cursor = tree.open("a", prompt)
            tree.mark_computed(cursor.node, 64)  # type: ignore[arg-type]
            for _ in range(8):
                tree.append(cursor, 1)
            tree.close(cursor)
        return sum(tree.match("a", prompt).num_computed == 64 for prompt in prompts)

    with_room = held(RadixTree(6_400))
    monkeypatch.setattr(radix_tree, "_GROWTH_SHARE", 10**9)
    assert with_room >= held(RadixTree(6_400)) * 15 // 16


def test_growth_among_live_sequences_never_walks_the_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A free slot is taken without a search, even if all tokens are pinned."""
    tree = RadixTree(1_024)
    cursors = [tree.open("a", np.full(12, n, dtype=np.int32)) for n in range(64)]
    walks = 0
    nodes = RadixTree.nodes

    def counted(of: RadixTree) -> Iterator[Node]:
        nonlocal walks
        walks += 1
        return nodes(of)

    monkeypatch.setattr(RadixTree, "nodes", counted)
    while tree.num_free:
        tree.append(cursors[tree.num_free % 64], 7)
    assert walks == 0
    assert tree.num_live == tree.num_slots


def test_a_run_continues_across_nodes() -> None:
    tree = RadixTree(64)
    first = tree.open("a", np.arange(8, dtype=np.int32))
    second = tree.open("a", np.array([0, 1, 2, 9, 9], dtype=np.int32))
    assert path_runs(tree, first) == [8]  # split after three tokens, still one run
    assert sum(path_runs(tree, second)) == 5


def test_sequences_grow_in_long_runs_near_each_other() -> None:
    """Unused memory comes in huge pages: few of them should be touched."""
    tree = RadixTree(65_536)
    cursors = [tree.open("a", np.full(64, n, dtype=np.int32)) for n in range(32)]
    for token in range(100):
        for cursor in cursors:
            tree.append(cursor, token)
    assert all(len(path_runs(tree, cursor)) <= 2 for cursor in cursors)  # prompt and output
    assert max(start + length for start, length in tree.allocator.extents[:-1]) < 32 * (
        64 + 2 * 100
    )
