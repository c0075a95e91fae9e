"""Chats that interleave in a small pool."""

from __future__ import annotations

import pytest

from benchmarks.growing_chats.pool import WAYS, Chats, cached_share

SMALL = Chats(conversations=8, turns=4, system=10, question=6, thought=20, answer=8)


@pytest.mark.parametrize("policy", ["lru", "adaptive"])
def test_prepared_turns_hit_more(policy: str) -> None:
    generated, prepared, replaced = (cached_share(SMALL, way, policy, 0.8, 1) for way in WAYS)
    assert generated < prepared <= replaced


@pytest.mark.parametrize("policy", ["lru", "adaptive"])
def test_a_pool_for_everything_holds_all_but_the_dropped_reasoning(policy: str) -> None:
    generated, prepared, replaced = (cached_share(SMALL, way, policy, 9.0, 1) for way in WAYS)
    assert prepared == replaced > 0.98  # all but the system's message of the first one
    assert generated < 0.9
