"""Eviction policies, and the queue that keeps evictable leaves in their order.

A policy ranks a leaf; the leaf of lowest rank is evicted first. A rank changes only when the tree
cuts or re-enters the leaf, so a heap with lazy deletion keeps the order. Used by `RadixTree`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from yaie.errors import ConfigError
from yaie.kvcache.node import Node

Rank = tuple[float, float]
RankFunction = Callable[[Node], Rank]

# Attention over this many tokens costs about as much as the linear layers of one token, so a token
# at this depth costs twice as much to recompute as a first token.
_DEPTH_OF_DOUBLE_COST = 4096


def rank_lru(node: Node) -> Rank:
    """Rank by last use: the least recently used leaf is evicted first."""
    return (node.last_used, 0.0)


def rank_lfu(node: Node) -> Rank:
    """Rank by number of uses; among equals the least recently used leaf is evicted first."""
    return (node.uses, node.last_used)


def rank_by_cost(half_life: int) -> RankFunction:
    """Return a rank by value per slot: uses times recompute cost of a token, fading with age.

    The value halves with every `half_life` tokens processed since the last use. In logarithms the
    fading is a sum, so the order of two leaves never changes with time.
    """

    def rank(node: Node) -> Rank:
        cost = 1.0 + node.start / _DEPTH_OF_DOUBLE_COST
        return (math.log2(max(node.uses, 1) * cost) + node.last_used / half_life, node.last_used)

    return rank


@dataclass(frozen=True, slots=True)
class EvictionPolicy:
    """A named order of eviction."""

    name: str
    rank: RankFunction
    # The tree joins edges of unequal use only if this is false: otherwise a suffix would inherit
    # the value of the prefix above it.
    ranks_by_uses: bool


LRU = EvictionPolicy("lru", rank_lru, ranks_by_uses=False)
LFU = EvictionPolicy("lfu", rank_lfu, ranks_by_uses=True)


def make_cost_policy(num_slots: int) -> EvictionPolicy:
    """Return the `cost` policy, with a pool of tokens as its half-life."""
    return EvictionPolicy("cost", rank_by_cost(max(num_slots, 1)), ranks_by_uses=True)


# Every policy by name, made for a pool of `num_slots` slots.
POLICIES: dict[str, Callable[[int], EvictionPolicy]] = {
    "lru": lambda num_slots: LRU,
    "lfu": lambda num_slots: LFU,
    "cost": make_cost_policy,
}


def make_eviction_policy(name: str, num_slots: int) -> EvictionPolicy:
    """Return the policy of that name; raise `ConfigError` if it is unknown."""
    if name not in POLICIES:
        raise ConfigError(
            f"unknown eviction policy {name!r}; choose one of {', '.join(POLICIES)}",
            param="eviction",
        )
    return POLICIES[name](num_slots)


class EvictionQueue:
    """Evictable leaves in order of rank; O(log n) an operation.

    `Node.entry` is the number of the node's valid heap entry, 0 without one. Other entries of the
    node are stale and skipped.
    """

    def __init__(self, rank: RankFunction) -> None:
        self.rank = rank
        self._heap: list[tuple[Rank, int, Node]] = []
        self._last_entry = 0
        self._num_valid = 0

    def __len__(self) -> int:
        return self._num_valid

    def add(self, node: Node) -> None:
        """Enter a leaf; a leaf already entered gets its present rank."""
        self.discard(node)
        self._last_entry += 1
        self._num_valid += 1
        node.entry = self._last_entry
        heapq.heappush(self._heap, (self.rank(node), self._last_entry, node))

    def discard(self, node: Node) -> None:
        """Remove a node that is pinned or gone; other nodes are ignored."""
        if node.entry:
            node.entry = 0
            self._num_valid -= 1
            if len(self._heap) > 64 + 2 * self._num_valid:
                self._compact()

    def pop(self) -> Node | None:
        """Remove and return the leaf of lowest rank; None if the queue is empty."""
        while self._heap:
            _, entry, node = heapq.heappop(self._heap)
            if node.entry == entry:
                node.entry = 0
                self._num_valid -= 1
                return node
        return None

    def __iter__(self) -> Iterator[Node]:
        """Yield the valid leaves in arbitrary order; for audits."""
        return (node for _, entry, node in self._heap if node.entry == entry)

    def _compact(self) -> None:
        self._heap = [item for item in self._heap if item[2].entry == item[1]]
        heapq.heapify(self._heap)
