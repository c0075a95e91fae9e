"""Placement of requests on replicas: the least cost in tokens, for each request separately.

    cost = wait + running rows x row_tokens + price x own part of the missing tokens

- Missing are the prompt tokens that the replica has to compute. A token that other prompts share is
  an investment for them too, so its cost is divided among its recent uses for each replica: busy
  prefixes spread over the replicas, and conversations stay.
- The price is 1 on an empty replica and 1 / load_weight on a full one, where a miss also evicts
  what other prompts need again. So a fresh replica gets its share soon.
- The wait is the queue that is computed before this request. Engines admit short requests first,
  so each queued request counts with no more tokens than this one has: a hit does not flee from one
  long prompt, and flees from many waiting requests of its size.

There is no threshold. What replicas hold is known from their reports, by block name
(`routing_names` of `yaie.kvcache.block_names`); what was sent since counts as held, and expires.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from yaie.kvcache.block_names import BLOCK_SIZE
from yaie.ray.block_index import TOKENS_PER_COST, BlockIndex

Reason = Literal["hit", "cold", "load"]


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """State of a replica, as it tells it: the names of its cached blocks, and its load.

    `names` may be a part of the cached blocks, if the parents of every name are in it.
    """

    names: Collection[int]
    num_slots: int
    queued_tokens: int = 0  # prompt tokens of its waiting requests, cached ones included
    running_rows: int = 0  # sequences
    ready: bool = True
    free_slots: int | None = None  # None: all slots without a name


class Placement(NamedTuple):
    """A replica for a request, and why it was chosen."""

    replica: str
    reason: Reason  # hit: it has the longest cached prefix; load: another replica has; cold: none
    cached_tokens: int  # predicted


@dataclass(slots=True)
class _Replica:
    """Knowledge about one replica."""

    bit: int  # in the masks of the index
    names: set[int] = field(default_factory=set)
    used_slots: int = 0
    price: float = 1.0  # of a missing token
    ready: bool = True
    # Requests that this router sent and that have no first token, by the bit length of the number
    # of tokens to compute: how many, and their tokens.
    queue: dict[int, tuple[int, int]] = field(default_factory=dict)
    prompt_tokens: int = 0  # of the same requests
    rows: int = 0
    # The largest `prompt_tokens` and `rows` since the last report, and between the two before it.
    # A report is late: it may count requests that have ended meanwhile.
    peak: tuple[int, int] = (0, 0)
    peak_before: tuple[int, int] = (0, 0)
    other_tokens: int = 0  # of requests that other routers sent, by the last report
    other_rows: int = 0

    def wait_tokens(self, size: int) -> int:
        """Return the queued tokens before a request of `size` tokens, shortest request first."""
        wait = self.other_tokens
        for count, tokens in self.queue.values():
            wait += min(tokens, count * size)
        return wait

    def enqueue(self, tokens: int, sign: int = 1) -> None:
        """Add a queued request, or remove it (`sign` -1)."""
        key = tokens.bit_length()
        count, total = self.queue.get(key, (0, 0))
        if count + sign:
            self.queue[key] = (count + sign, total + sign * tokens)
        else:
            del self.queue[key]


@dataclass(slots=True)
class _Open:
    """A request on its way or in a replica."""

    replica: _Replica
    queued_tokens: int  # 0: it has its first token
    prompt_tokens: int
    names: Sequence[int]


class RadixPlacement:
    """Placement by predicted hits and load. One router owns it; it is not thread-safe."""

    def __init__(
        self,
        *,
        load_weight: float = 0.125,
        row_tokens: float = 16.0,
        sent_ttl_s: float = 2.0,
        uses_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a placement without replicas.

        `load_weight`: cost of a queued token on a full replica, if a missing token costs 1.
        `row_tokens`: queued tokens that a running row is worth.
        `sent_ttl_s`: least time in which a sent prompt counts as held without a report.
        `uses_s`: least time in which a prompt counts as a use of its prefix.
        """
        self._surcharge = 1 / load_weight - 1  # of a missing token, on a full replica
        self._row_tokens = row_tokens
        self._clock = clock
        self._index = BlockIndex(sent_ttl_s, uses_s)
        self._replicas: dict[str, _Replica] = {}
        self._free_bits: list[int] = []
        self._open: dict[str, _Open] = {}

    def report(self, replica: str, report: ReplicaReport) -> None:
        """Take over what a replica says about itself."""
        known = self._known(replica)
        names = set(report.names)
        self._index.report(known.bit, known.names, names)
        known.names, known.ready = names, report.ready
        known.used_slots = len(names) * BLOCK_SIZE
        if report.free_slots is not None:
            known.used_slots = report.num_slots - report.free_slots
        fullness = min(1.0, known.used_slots / max(1, report.num_slots))
        known.price = 1 + self._surcharge * fullness
        tokens, rows = map(max, known.peak, known.peak_before)
        known.other_tokens = max(0, report.queued_tokens - tokens)
        known.other_rows = max(0, report.running_rows - rows)
        known.peak, known.peak_before = (known.prompt_tokens, known.rows), known.peak

    def remove(self, replica: str) -> None:
        """Forget a replica that is gone, or that has lost its cache."""
        known = self._replicas.pop(replica, None)
        if known is None:
            return
        self._index.remove(known.bit)
        self._free_bits.append(known.bit)
        for request_id in [key for key, each in self._open.items() if each.replica is known]:
            del self._open[request_id]

    def rank(
        self,
        names: Sequence[int],
        num_tokens: int,
        candidates: Sequence[str],
        tried: Collection[str] = (),
    ) -> list[Placement]:
        """Return the candidates for a prompt of `num_tokens` tokens, best first.

        `names`: the prompt's block names. `tried`: replicas that failed it; they are last.
        """
        self._expire()
        find = self._replicas.get  # a call less for each candidate
        replicas = [find(each) or self._known(each) for each in candidates]
        depths = self._index.depths(names, [each.bit for each in replicas])
        own_costs = self._index.own_costs(names, len(candidates))
        row_tokens, last = self._row_tokens, len(own_costs) - 1
        best = max(depths.values(), default=0) * BLOCK_SIZE
        ranked = []
        for place, (name, known) in enumerate(zip(candidates, replicas, strict=True)):
            cached = depths[known.bit] * BLOCK_SIZE
            missing = max(1, num_tokens - cached)
            own = missing + own_costs[min(last, cached // TOKENS_PER_COST)]
            cost = (
                (known.wait_tokens(missing) if known.queue else known.other_tokens)
                + row_tokens * (known.rows + known.other_rows)
                + own * known.price
            )
            is_last = name in tried or not known.ready
            ranked.append((is_last, round(cost, 3), known.used_slots, place, name, cached))
        ranked.sort()
        return [
            Placement(name, "cold" if not best else "hit" if cached == best else "load", cached)
            for *_, name, cached in ranked
        ]

    def routed(
        self, request_id: str, placement: Placement, names: Sequence[int], num_tokens: int
    ) -> None:
        """Note that a request is on its way: its prompt counts as held, its tokens as queued.

        A request that was routed before has moved.
        """
        moved = request_id in self._open
        self.completed(request_id)
        known = self._known(placement.replica)
        queued = max(1, num_tokens - placement.cached_tokens)
        known.enqueue(queued)
        known.prompt_tokens += num_tokens
        known.rows += 1
        known.peak = max(known.peak[0], known.prompt_tokens), max(known.peak[1], known.rows)
        self._open[request_id] = _Open(known, queued, num_tokens, names)
        self._expire()
        self._index.send(known.bit, names)
        if not moved:
            self._index.use(names)

    def first_token(self, request_id: str) -> None:
        """Note that a prompt has been computed: its tokens leave the load, its row stays."""
        request = self._open.get(request_id)
        if request is not None and request.queued_tokens:
            _dequeue(request)
            self._expire()
            self._index.send(request.replica.bit, request.names)

    def completed(self, request_id: str) -> None:
        """Note the end of a request, however it ended."""
        request = self._open.pop(request_id, None)
        if request is not None:
            _dequeue(request)
            request.replica.rows -= 1

    def _known(self, replica: str) -> _Replica:
        known = self._replicas.get(replica)
        if known is None:
            bit = self._free_bits.pop() if self._free_bits else 1 << len(self._replicas)
            known = self._replicas[replica] = _Replica(bit)
        return known

    def _expire(self) -> None:
        """Forget what is old, except prompts that still wait."""
        if self._index.expire(self._clock()):
            for request in self._open.values():
                if request.queued_tokens:
                    self._index.send(request.replica.bit, request.names)


def _dequeue(request: _Open) -> None:
    if request.queued_tokens:
        request.replica.enqueue(request.queued_tokens, -1)
        request.replica.prompt_tokens -= request.prompt_tokens
        request.queued_tokens = 0
