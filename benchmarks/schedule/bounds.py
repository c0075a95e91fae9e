"""Bounds of what a scheduler and an eviction policy can reach, from knowledge that no engine has.

`DepthFirst` admits the waiting in the order of a depth-first walk of their trie, which reaches the
hit rate of an infinite pool for a burst (arXiv 2312.07104, theorem 3.1). `FurthestNextUse` is
Belady's rule: evict the leaf whose next use is furthest in the future.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.schedule.sessions import Call
from yaie.engine.queue.policies import InKeyOrder
from yaie.engine.request import Request
from yaie.kvcache.eviction import EvictionPolicy, FixedOrder, Rank
from yaie.kvcache.node import Node

_NEVER_S = 1e18


class DepthFirst(InKeyOrder[bytes]):
    """Admission in lexicographic order of the prompts."""

    def key(self, request: Request) -> bytes:
        """Return bytes that compare as the prompt's tokens do."""
        return request.prompt.astype(">i4").tobytes()


class FutureCalls:
    """Expected arrivals of calls by the path of segments that they need."""

    def __init__(self, segment_starts: Sequence[int]) -> None:
        self._starts = np.array(segment_starts, dtype=np.int64)
        self._uses: dict[int, list[tuple[float, int]]] = {}  # heap for each path's hash
        self._served: set[int] = set()
        self._kept: deque[Call] = deque()  # ids stay unique while the calls live

    def expect(self, call: Call, at_s: float) -> None:
        """Note that `call` arrives at a time, which may lie in the past."""
        self._kept.append(call)
        key = 0
        for segment in call.prompt:
            key = hash((key, int(segment[0])))
            heapq.heappush(self._uses.setdefault(key, []), (at_s, id(call)))

    def serve(self, call: Call) -> None:
        """Note that the prompt of `call` has been read."""
        self._served.add(id(call))

    def next_use_s(self, node: Node) -> float:
        """Return the earliest arrival of an unserved call through the first token of a node."""
        heap = self._uses.get(self._path_key(node), [])
        while heap and heap[0][1] in self._served:
            heapq.heappop(heap)
        return heap[0][0] if heap else _NEVER_S

    def _path_key(self, node: Node) -> int:
        parts: list[NDArray[np.int64]] = []
        above: Node | None = node
        while above is not None and above.parent is not None:
            tokens = np.array(above.tokens[:1] if above is node else above.tokens)
            parts.append(np.searchsorted(self._starts, tokens, side="right") - 1)
            above = above.parent
        segments = np.concatenate(parts[::-1])
        is_first = np.r_[True, segments[1:] != segments[:-1]]
        key = 0
        for index in segments[is_first]:
            key = hash((key, int(self._starts[index])))
        return key


class FurthestNextUse:
    """Belady's rule as an eviction policy."""

    def __init__(self, future: FutureCalls) -> None:
        self._future = future

    @property
    def policy(self) -> EvictionPolicy:
        """The rule in the form that the tree takes."""
        return FixedOrder("belady", self._rank, ranks_by_uses=True)

    def _rank(self, node: Node) -> Rank:
        return (-self._future.next_use_s(node), node.last_used)
