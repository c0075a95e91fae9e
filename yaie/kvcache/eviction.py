"""Which held tokens go first when slots are needed.

A policy is one function that ranks an evictable leaf; the lowest rank goes first. A rank changes
only where the tree cuts a leaf, and enters it again, so a heap with lazy deletion keeps the order.
Used by `RadixTree`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

from yaie.errors import ConfigError
from yaie.kvcache.node import Node

Rank = tuple[float, float]
RankFunction = Callable[[Node], Rank]

# Attention over this many tokens costs about as much as the linear layers of one token, so a token
# that stands this deep is twice as dear to recompute as a first token.
_DEPTH_OF_DOUBLE_COST = 4096


def rank_lru(node: Node) -> Rank:
    """Least recently used first."""
    return (node.last_used, 0.0)


def rank_lfu(node: Node) -> Rank:
    """Least often used first; among equals the least recently used."""
    return (node.uses, node.last_used)


def rank_by_cost(half_life: int) -> RankFunction:
    """Least worth a slot first: reuse times the cost of recomputing a token, fading with age.

    The worth halves with every `half_life` tokens processed since the last use. In logarithms the
    fading is a sum, so the order of two leaves never changes with time.
    """

    def rank(node: Node) -> Rank:
        cost = 1.0 + node.start / _DEPTH_OF_DOUBLE_COST
        return (math.log2(max(node.uses, 1) * cost) + node.last_used / half_life, node.last_used)

    return rank


def make_rank(policy: str, num_slots: int) -> RankFunction:
    """The rank function of a policy by its name."""
    ranks = {"lru": rank_lru, "lfu": rank_lfu, "cost": rank_by_cost(max(num_slots, 1))}
    if policy not in ranks:
        raise ConfigError(
            f"no eviction policy {policy!r}; there are {', '.join(ranks)}", param="eviction"
        )
    return ranks[policy]


class EvictionQueue:
    """Evictable leaves in order of rank.

    A node's `entry` is the number of its valid entry, 0 without one; every other entry that the
    heap still holds for it is stale and skipped. O(log n) an operation.
    """

    def __init__(self, rank: RankFunction) -> None:
        self.rank = rank
        self._heap: list[tuple[Rank, int, Node]] = []
        self._last_entry = 0
        self._num_valid = 0

    def __len__(self) -> int:
        return self._num_valid

    def add(self, node: Node) -> None:
        """Enter a leaf, or enter it again with its present rank."""
        self.discard(node)
        self._last_entry += 1
        self._num_valid += 1
        node.entry = self._last_entry
        heapq.heappush(self._heap, (self.rank(node), self._last_entry, node))

    def discard(self, node: Node) -> None:
        """The node is no longer evictable, or gone."""
        if node.entry:
            node.entry = 0
            self._num_valid -= 1
            if len(self._heap) > 64 + 2 * self._num_valid:
                self._compact()

    def pop(self) -> Node | None:
        """Take out the leaf that should go first; None if there is none."""
        while self._heap:
            _, entry, node = heapq.heappop(self._heap)
            if node.entry == entry:
                node.entry = 0
                self._num_valid -= 1
                return node
        return None

    def __iter__(self) -> Iterator[Node]:
        """The valid leaves, in no order; for audits."""
        return (node for _, entry, node in self._heap if node.entry == entry)

    def _compact(self) -> None:
        self._heap = [item for item in self._heap if item[2].entry == item[1]]
        heapq.heapify(self._heap)
