"""Scheduler statistics: the counters of a scheduler, with the gauges of its queues and its tree."""

from __future__ import annotations

from dataclasses import replace

from yaie.base.stats import EngineStats
from yaie.engine.scheduler import Scheduler


def read_stats(scheduler: Scheduler, now: float, **others: int) -> EngineStats:
    """Return a copy of the counters, with the current gauges and the given `others`.

    `now`: seconds of the scheduler's clock.
    """
    tree, backlog = scheduler.tree, scheduler.backlog
    states, wanted = tree.states, tree.wanted_again
    return replace(
        scheduler.stats,
        num_running=len(scheduler.running),
        num_free_slots=tree.num_free,
        num_live_slots=tree.num_live,
        num_cached_slots=tree.num_cached,
        num_nodes=tree.num_nodes,
        num_evicted_nodes=tree.num_evicted_nodes,
        num_evicted_tokens=tree.num_evicted_tokens,
        num_used_states=states.num_used if states is not None else 0,
        num_evicted_states=states.num_evicted if states is not None else 0,
        num_wanted_again_tokens=wanted.in_double,
        num_kept_by_25_tokens=wanted.in_quarter_more,
        num_kept_by_50_tokens=wanted.in_half_more,
        num_waiting_tokens=backlog.num_prompt_tokens,
        num_waiting_tenants=backlog.waits.num_waiting_tenants,
        oldest_wait_s=backlog.oldest_wait_s(now),
        waits=backlog.waits.report(now),
        **others,
    )
