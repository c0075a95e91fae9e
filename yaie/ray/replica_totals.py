"""Totals over replicas: statistics, queue times and answers to queries, as one engine has them.

Counters keep what replicas counted that are gone, so that no total falls. A replica that missed a
poll may come back, and counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from yaie.base.queries import (
    Answer,
    Branches,
    CacheDescription,
    Explanation,
    Flushed,
    TreeView,
    Twins,
)
from yaie.base.stats import EngineStats, TenantStats, WaitStats, metrics
from yaie.base.types import EngineInfo, EngineState
from yaie.ray.engine_replica import ReplicaStatus

MAX_MISSED = 16  # engines that may come back
_LARGEST = ("oldest_wait_s",)  # the total is the largest value, not the sum


class ReplicaTotals:
    """Statistics of a changing set of engines."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], EngineStats] = {}  # by replica and number of restarts
        self._missed: dict[tuple[str, int], EngineStats] = {}  # not in the last poll
        self._gone = EngineStats()

    def update(self, statuses: Iterable[ReplicaStatus]) -> EngineStats:
        """Take over the replicas' states; return the totals."""
        now = {(each.replica, each.num_restarts): each.stats for each in statuses}
        for key, stats in self._last.items():
            if key not in now:
                self._missed[key] = _counters_only(stats)
        self._missed = {key: stats for key, stats in self._missed.items() if key not in now}
        while len(self._missed) > MAX_MISSED:
            oldest = self._missed.pop(next(iter(self._missed)))
            self._gone = add_stats([self._gone, oldest])
        self._last = now
        return add_stats([self._gone, *self._missed.values(), *now.values()])


def add_stats(every: Sequence[EngineStats]) -> EngineStats:
    """Return the totals of several engines."""
    totals: dict[str, Any] = {}
    for stats in every:
        for name, value in stats.values().items():
            if name in _LARGEST:
                totals[name] = max(totals.get(name, value), value)
            else:
                totals[name] = totals[name] + value if name in totals else value
    return EngineStats(**totals, waits=add_waits([each.waits for each in every]))


def _counters_only(stats: EngineStats) -> EngineStats:
    counters = [each.field for each in metrics() if each.description.kind == "counter"]
    values: dict[str, Any] = {name: getattr(stats, name) for name in counters}
    waits = replace(
        stats.waits, tenants=tuple(replace(each, num_waiting=0) for each in stats.waits.tenants)
    )
    return EngineStats(**values, waits=waits)


def add_waits(every: Sequence[WaitStats]) -> WaitStats:
    """Return the queue times of several engines together."""
    tenants: dict[str, TenantStats] = {}
    for each in (tenant for waits in every for tenant in waits.tenants):
        known = tenants.get(each.tenant)
        tenants[each.tenant] = each if known is None else _add_tenant(known, each)
    counts = tuple(sum(each) for each in zip(*(waits.counts for waits in every), strict=True))
    total_s = sum(waits.total_s for waits in every)
    return WaitStats(counts=counts, total_s=total_s, tenants=tuple(tenants.values()))


def _add_tenant(one: TenantStats, other: TenantStats) -> TenantStats:
    num_admitted = one.num_admitted + other.num_admitted
    waited_s = one.mean_wait_s * one.num_admitted + other.mean_wait_s * other.num_admitted
    return TenantStats(
        tenant=one.tenant,
        num_waiting=one.num_waiting + other.num_waiting,
        num_admitted=num_admitted,
        mean_wait_s=waited_s / num_admitted if num_admitted else 0.0,
        longest_wait_s=max(one.longest_wait_s, other.longest_wait_s),
        tokens=one.tokens + other.tokens,
    )


def whole_info(statuses: Sequence[ReplicaStatus]) -> EngineInfo | None:
    """Return the description of ready replicas as one engine; None without one."""
    infos = [each.info for each in statuses if each.state is EngineState.READY and each.info]
    if not infos:
        return None
    added = ("num_slots", "memory_bytes", "max_running", "max_waiting", "max_waiting_tokens")
    sums: dict[str, Any] = {name: sum(getattr(each, name) for each in infos) for name in added}
    return replace(infos[0], **sums)


def merge_answers(answers: Sequence[Answer]) -> Answer:
    """Return the replicas' answers to one query as one."""
    first = answers[0]
    if isinstance(first, Explanation):  # of the replica that has the most of the prompt
        return max((each for each in answers if isinstance(each, Explanation)), key=_num_held)
    if isinstance(first, Branches):
        every = [each for each in answers if isinstance(each, Branches)]
        return Branches(
            branches=tuple(branch for each in every for branch in each.branches),
            num_tokens=sum(each.num_tokens for each in every),
            clock=max(each.clock for each in every),
            is_complete=all(each.is_complete for each in every),
        )
    if isinstance(first, TreeView):
        return _merge_views([each for each in answers if isinstance(each, TreeView)])
    if isinstance(first, CacheDescription | Flushed):
        names = first.__struct_fields__
        return type(first)(**{name: sum(getattr(e, name) for e in answers) for name in names})
    return first


def _merge_views(views: Sequence[TreeView]) -> TreeView:
    """Return the replicas' views side by side; each replica's nodes keep different numbers."""
    count = len(views)

    def number_in(at: int, number: int) -> int:
        return number * count + at if number else 0

    held: Counter[str] = Counter()
    for view in views:
        held.update(view.held_by_owner)
    twins = [
        Twins(number_in(at, each.first), number_in(at, each.second), each.num_tokens)
        for at, view in enumerate(views)
        if (each := view.twins) is not None
    ]
    return TreeView(
        nodes=tuple(
            msgspec.structs.replace(
                node, number=number_in(at, node.number), parent=number_in(at, node.parent)
            )
            for at, view in enumerate(views)
            for node in view.nodes
        ),
        requests=tuple(
            msgspec.structs.replace(each, node=number_in(at, each.node))
            for at, view in enumerate(views)
            for each in view.requests
        ),
        num_nodes=sum(view.num_nodes for view in views),
        num_held=sum(view.num_held for view in views),
        num_more=sum(view.num_more for view in views),
        num_more_tokens=sum(view.num_more_tokens for view in views),
        misses=tuple(miss for view in views for miss in view.misses),
        held_by_owner=dict(held),
        twins=max(twins, key=lambda each: each.num_tokens, default=None),
        seconds=max(view.seconds for view in views),
    )


def _num_held(explanation: Explanation) -> int:
    return explanation.num_held
