"""Adaptive eviction: the leaf with the lowest odds of reuse is evicted first.

Leaves of one class (number of uses, magnitude of length) return with a probability p that is
counted, and if they do, after a time that is exponential with a measured mean T. A leaf that has
not returned after an age a then has the posterior log-odds

    log(p / (1 - p)) - a / T

of a return. With a = now - last use, and times T, leaves are ordered by

    last use + T x log(p / (1 - p))

and their order never changes with time. A class with a high p outlives a recent one-time prompt;
among equals this is LRU. Everything is learned from this pool's reuses and evictions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from yaie.kvcache.node import Node

_MAX_USES = 8  # per class
_LENGTHS = 32  # magnitudes of a length
_MEMORY = 0.999  # a count's decay at each event of its class
_PRIOR = 4.0  # weight of the pool's share, in events of a class
_MEAN_STEP = 0.02  # step of the moving mean of return times
_LEAST_SHARE = 1e-3
_LEAST_OUTCOMES = 16  # before leaves are ranked again
_FIRST_MEAN = 0.25  # share of the pool, until returns are measured


@dataclass(slots=True)
class Outcomes:
    """Decayed counts of reused and evicted leaves."""

    reused: float = 0.0
    evicted: float = 0.0

    def count(self, *, reused: bool) -> None:
        """Add one outcome."""
        self.reused *= _MEMORY
        self.evicted *= _MEMORY
        if reused:
            self.reused += 1
        else:
            self.evicted += 1


class AdaptiveEviction:
    """The policy `adaptive`."""

    name = "adaptive"
    ranks_by_uses = True

    def __init__(self, num_slots: int) -> None:
        self._mean_return = max(1.0, _FIRST_MEAN * num_slots)  # tokens of the tree's clock
        self._classes: dict[int, Outcomes] = {}
        self._all = Outcomes(1.0, 1.0)
        self._num_outcomes = 0  # since leaves were ranked last

    def rank(self, node: Node) -> tuple[float, float]:
        """Return the reuse log-odds, shifted by a term that is equal for all leaves."""
        if not node.reuse_class:
            node.reuse_class = reuse_class(node)
        share = self._share(abs(node.reuse_class))
        return (
            node.last_used + self._mean_return * math.log(share / (1 - share)),
            node.last_used,
        )

    def note_reuse(self, node: Node, clock: int) -> None:
        """Count an evictable leaf that a sequence needs again."""
        if node.reuse_class > 0:
            self._count(node.reuse_class, reused=True)
            self._mean_return += _MEAN_STEP * (clock - node.last_used - self._mean_return)
            self._mean_return = max(1.0, self._mean_return)
        node.reuse_class = 0

    def note_eviction(self, node: Node) -> None:
        """Count a leaf that is evicted or trimmed, once."""
        if node.reuse_class > 0:
            self._count(node.reuse_class, reused=False)
            node.reuse_class = -node.reuse_class

    def has_changed(self, num_leaves: int) -> bool:
        """Return True once there were as many outcomes as leaves: O(1) for each outcome."""
        if self._num_outcomes < max(_LEAST_OUTCOMES, num_leaves):
            return False
        self._num_outcomes = 0
        return True

    def _count(self, kind: int, *, reused: bool) -> None:
        self._classes.setdefault(kind, Outcomes()).count(reused=reused)
        self._all.count(reused=reused)
        self._num_outcomes += 1

    def _share(self, kind: int) -> float:
        """Return the probability that a leaf in the class is reused."""
        own, pool = self._classes.get(kind, Outcomes()), self._all
        prior = _PRIOR * pool.reused / (pool.reused + pool.evicted)
        share = (own.reused + prior) / (own.reused + own.evicted + _PRIOR)
        return min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)


def reuse_class(node: Node) -> int:
    """Return a leaf's class, from 1."""
    return 1 + min(node.uses, _MAX_USES) * _LENGTHS + len(node.tokens).bit_length()
