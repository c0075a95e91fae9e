"""Slots stay in long runs while sequences come and go in a pool that is always full."""

from __future__ import annotations

import pytest

from yaie.bench.fragmentation import Churn, measure_fragmentation, path_runs
from yaie.kvcache import radix_tree, slots
from yaie.kvcache.radix_tree import RadixTree

FULL = Churn(num_slots=16_384, num_live=16, num_requests=500, prefix_len=128, own_len=(16, 384))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_runs_stay_long(seed: int) -> None:
    found = measure_fragmentation(FULL, seed)
    assert found["evicted_tokens"] > 5 * FULL.num_slots  # the pool was full nearly all the time
    assert found["mean_run"] > 14
    assert found["tokens_in_short_runs"] < 0.1


def test_without_room_and_patience_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same churn with slots evicted one by one, and every odd slot taken at once."""
    monkeypatch.setattr(radix_tree, "_SHARE_OF_ROOM", 10**9)
    monkeypatch.setattr(slots, "_SHARE_OF_CRUMBS", 10**9)
    monkeypatch.setattr(slots, "CRUMB", 0)
    assert measure_fragmentation(FULL)["mean_run"] < 4


def test_what_is_kept_free_costs_few_hits() -> None:
    tree = RadixTree(6_400)
    assert tree.room_to_grow + tree.allocator.most_crumbs <= tree.num_slots // 16


def test_a_run_goes_on_across_nodes() -> None:
    tree = RadixTree(64)
    import numpy as np

    first = tree.open("a", np.arange(8, dtype=np.int32))
    second = tree.open("a", np.array([0, 1, 2, 9, 9], dtype=np.int32))
    assert path_runs(tree, first) == [8]  # split after three tokens, and still one run
    assert sum(path_runs(tree, second)) == 5
