"""Routers of a simulated fleet: YAIE's placement, and the rules of other systems.

The other rules are restated from documents and sources: Ray Serve's default (power of two choices),
Ray's `PrefixCacheAffinityRouter`, and the cache-aware policy of SGLang's gateway, with the default
thresholds. Prefixes are matched by blocks instead of characters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol

import numpy as np

from benchmarks.fleet.replica import Replica
from yaie.ray.radix_placement import RadixPlacement, ReplicaReport

THEIRS = "prefix-affinity"  # the rule of Ray's router


class Router(Protocol):
    """A choice of a replica for each request, by the block names of its prompt."""

    def choose(
        self, request_id: str, names: Sequence[int], num_tokens: int, candidates: Sequence[str]
    ) -> str:
        """Return the replica of a request, which is sent there at once."""

    def first_token(self, request_id: str) -> None:
        """Note that the first token of a request has come."""

    def completed(self, request_id: str) -> None:
        """Note that a request has ended."""

    def report(self, replica: Replica) -> None:
        """Read the state of a replica; called once a period."""

    def remove(self, replica: str) -> None:
        """Forget a replica that has left the fleet."""


class _Counting:
    """Open requests of each replica: what a router knows without any report."""

    def __init__(self) -> None:
        self.num_open: dict[str, int] = {}
        self._where: dict[str, str] = {}

    def choose(
        self, request_id: str, names: Sequence[int], num_tokens: int, candidates: Sequence[str]
    ) -> str:
        chosen = self._pick(names, candidates)
        self._where[request_id] = chosen
        self.num_open[chosen] = self.num_open.get(chosen, 0) + 1
        return chosen

    def first_token(self, request_id: str) -> None:
        pass

    def completed(self, request_id: str) -> None:
        self.num_open[self._where.pop(request_id)] -= 1

    def report(self, replica: Replica) -> None:
        pass

    def remove(self, replica: str) -> None:
        pass

    def _pick(self, names: Sequence[int], candidates: Sequence[str]) -> str:
        raise NotImplementedError

    def _load(self, replica: str) -> int:
        return self.num_open.get(replica, 0)


class RoundRobin(_Counting):
    """Each replica in turn."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = itertools.count()

    def _pick(self, names: Sequence[int], candidates: Sequence[str]) -> str:
        return candidates[next(self._turn) % len(candidates)]


class PowerOfTwo(_Counting):
    """The replica with fewer open requests, of two at random: Ray Serve's default."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def _pick(self, names: Sequence[int], candidates: Sequence[str]) -> str:
        two = self._rng.permutation(len(candidates))[:2]
        return min([candidates[int(index)] for index in two], key=self._load)


class PrefixAffinity(_Counting):
    """The replica that was sent the longest common prefix, if it is long enough; else the smallest.

    Too large a difference of open requests sends a request to the least loaded replica.
    """

    def __init__(self, least_match: float, most_apart: float, most_ratio: float) -> None:
        """`most_apart`, `most_ratio`: highest load minus, and over, the lowest, until it balances.

        Ray: 0.1, infinity, 1. SGLang: 0.3, 64, 1.5.
        """
        super().__init__()
        self._least_match, self._most_apart, self._most_ratio = least_match, most_apart, most_ratio
        self._sent: dict[str, set[int]] = {}

    def remove(self, replica: str) -> None:
        """Forget what was sent to a replica."""
        self._sent.pop(replica, None)

    def _pick(self, names: Sequence[int], candidates: Sequence[str]) -> str:
        loads = [self._load(each) for each in candidates]
        high, low = max(loads), min(loads)
        if high - low > self._most_apart and high > self._most_ratio * low:
            chosen = min(candidates, key=self._load)
        else:
            matches = {each: self._match(each, names) for each in candidates}
            longest = max(matches.values())
            if longest > self._least_match * len(names):
                best = [each for each in candidates if matches[each] == longest]
            else:
                sizes = {each: len(self._sent.get(each, ())) for each in candidates}
                best = [each for each in candidates if sizes[each] == min(sizes.values())]
            chosen = min(best, key=self._load)
        self._sent.setdefault(chosen, set()).update(names)
        return chosen

    def _match(self, replica: str, names: Sequence[int]) -> int:
        sent = self._sent.get(replica, set())
        return next((at for at, name in enumerate(names) if name not in sent), len(names))


class Radix:
    """YAIE's placement, with reports of the replicas' trees."""

    def __init__(self, placement: RadixPlacement) -> None:
        self.placement = placement
        self.decisions_s: list[float] = []
        self.reasons: dict[str, int] = {}
        self.predicted_tokens = 0

    def choose(
        self, request_id: str, names: Sequence[int], num_tokens: int, candidates: Sequence[str]
    ) -> str:
        """Return the best replica, and tell the placement that it was taken."""
        began = perf_counter()
        best = self.placement.rank(names, num_tokens, candidates)[0]
        self.decisions_s.append(perf_counter() - began)
        self.placement.routed(request_id, best, names, num_tokens)
        self.reasons[best.reason] = self.reasons.get(best.reason, 0) + 1
        self.predicted_tokens += best.cached_tokens
        return best.replica

    def first_token(self, request_id: str) -> None:
        """Pass the event on."""
        self.placement.first_token(request_id)

    def completed(self, request_id: str) -> None:
        """Pass the event on."""
        self.placement.completed(request_id)

    def report(self, replica: Replica) -> None:
        """Report what the tree holds."""
        self.placement.report(
            replica.name,
            ReplicaReport(
                replica.held_names(),
                replica.tree.num_slots,
                replica.queued_tokens,
                replica.running_rows,
            ),
        )

    def remove(self, replica: str) -> None:
        """Forget a replica."""
        self.placement.remove(replica)


def make_router(name: str, clock: Callable[[], float], seed: int, **placement: float) -> Router:
    """Return a router by its name, one of `ROUTERS`; `placement`: settings of `RadixPlacement`."""
    match name:
        case "radix":
            return Radix(RadixPlacement(clock=clock, **placement))
        case "round-robin":
            return RoundRobin()
        case "power-of-two":
            return PowerOfTwo(seed)
        case "prefix-affinity":  # Ray's
            return PrefixAffinity(0.1, float("inf"), 1.0)
        case _:  # SGLang's
            return PrefixAffinity(0.3, 64, 1.5)


ROUTERS = ("radix", "cache-aware", "prefix-affinity", "power-of-two", "round-robin")
