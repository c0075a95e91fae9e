"""Eviction policies, and the queue that orders evictable leaves.

A policy ranks a leaf; the leaf with the lowest rank is evicted first. A rank changes only when the
tree cuts or re-enters the leaf, so a heap with lazy deletion keeps the order. Used by `RadixTree`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Protocol

from yaie.base.errors import ConfigError
from yaie.kvcache.adaptive_eviction import AdaptiveEviction
from yaie.kvcache.node import Node

Rank = tuple[float, float]
RankFunction = Callable[[Node], Rank]


def rank_lru(node: Node) -> Rank:
    """Rank by last use: the least recently used leaf is evicted first."""
    return (node.last_used, 0.0)


class EvictionPolicy(Protocol):
    """An eviction order, informed about each evictable leaf's fate."""

    @property
    def name(self) -> str:
        """The setting's name."""

    @property
    def ranks_by_uses(self) -> bool:
        """True if edges with unequal use counts must not be joined.

        A suffix would inherit the rank of the prefix above it.
        """

    def rank(self, node: Node) -> Rank:
        """Return a leaf's rank; the lowest is evicted first."""

    def note_reuse(self, node: Node, clock: int) -> None:
        """Note that a sequence needs an evictable leaf again."""

    def note_eviction(self, node: Node) -> None:
        """Note that a leaf loses slots."""

    def has_changed(self, num_leaves: int) -> bool:
        """Return True if so many leaves should be ranked again; resets the answer."""


class FixedOrder:
    """A policy that ranks by a function of the leaf alone."""

    def __init__(self, name: str, rank: RankFunction, *, ranks_by_uses: bool) -> None:
        self.name = name
        self.ranks_by_uses = ranks_by_uses
        self.rank = rank

    def note_reuse(self, node: Node, clock: int) -> None:
        """Do nothing."""

    def note_eviction(self, node: Node) -> None:
        """Do nothing."""

    def has_changed(self, num_leaves: int) -> bool:
        """Return False: a rank never changes."""
        return False


LRU = FixedOrder("lru", rank_lru, ranks_by_uses=False)

# Every policy by name; a policy is made for `num_slots` slots.
POLICIES: dict[str, Callable[[int], EvictionPolicy]] = {
    "adaptive": AdaptiveEviction,
    "lru": lambda num_slots: LRU,
}


def make_eviction_policy(name: str, num_slots: int) -> EvictionPolicy:
    """Return the policy with that name; raise `ConfigError` if it is unknown."""
    if name not in POLICIES:
        raise ConfigError(
            f"unknown eviction policy {name!r}; choose one of {', '.join(POLICIES)}",
            param="eviction",
        )
    return POLICIES[name](num_slots)


class EvictionQueue:
    """Evictable leaves by rank; O(log n) an operation.

    `Node.entry` is the number of the node's valid heap entry, 0 without one. The node's other
    entries are stale and skipped.
    """

    def __init__(self, rank: RankFunction) -> None:
        self.rank = rank
        self._heap: list[tuple[Rank, int, Node]] = []
        self._last_entry = 0
        self._num_valid = 0

    def __len__(self) -> int:
        return self._num_valid

    def add(self, node: Node) -> None:
        """Enter a leaf; a leaf already queued takes its present rank."""
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
        """Remove and return the lowest-ranked leaf; None if the queue is empty."""
        while self._heap:
            _, entry, node = heapq.heappop(self._heap)
            if node.entry == entry:
                node.entry = 0
                self._num_valid -= 1
                return node
        return None

    def rank_again(self) -> None:
        """Update every leaf's rank; O(n)."""
        self._heap = [(self.rank(node), entry, node) for _, entry, node in self._valid()]
        heapq.heapify(self._heap)

    def _valid(self) -> Iterator[tuple[Rank, int, Node]]:
        return (item for item in self._heap if item[2].entry == item[1])

    def __iter__(self) -> Iterator[Node]:
        """Yield the valid leaves in arbitrary order; for audits."""
        return (node for _, _, node in self._valid())

    def _compact(self) -> None:
        self._heap = list(self._valid())
        heapq.heapify(self._heap)
