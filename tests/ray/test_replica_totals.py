"""Totals over engines: counters never fall, gauges are those of the present engines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.ray.scripted_replicas import INFO, ScriptedReplicas
from yaie.base.queries import (
    Branch,
    Branches,
    CacheDescription,
    Flushed,
    TreeView,
    Twins,
    ViewedNode,
    ViewedRequest,
)
from yaie.base.stats import WAIT_BOUNDS_S, EngineStats, TenantStats, WaitStats
from yaie.ray.replica_totals import ReplicaTotals, add_stats, merge_answers, whole_info

status = ScriptedReplicas.status


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"), st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3
        ),
        max_size=8,
    )
)
def test_counters_grow_by_what_the_engines_counted(polls: list[dict[str, tuple[int, int]]]) -> None:
    totals, counted, incarnations = ReplicaTotals(), 0, dict[str, int]()
    lives: dict[str, int] = {}
    for number, poll in enumerate(polls):
        for name in lives.keys() - poll.keys():
            del lives[name]
        statuses = []
        for name, (growth, waiting) in poll.items():
            if name not in lives:  # a new replica begins at zero, under a new name
                lives[name], incarnations[name] = 0, number
            lives[name] += growth
            counted += growth
            stats = {"num_requests": lives[name], "num_waiting": waiting}
            statuses.append(status(f"{name}{incarnations[name]}", **stats))
        found = totals.update(statuses)
        assert found.num_requests == counted
        assert found.num_waiting == sum(waiting for _, waiting in poll.values())


def test_an_engine_that_missed_a_poll_counts_once() -> None:
    totals = ReplicaTotals()
    a, b = status("a", num_requests=5), status("b", num_requests=7)
    for polled in ([a, b], [a], [a, b], [], [a, b]):
        assert totals.update(polled).num_requests == 12
    for number in range(100):
        found = totals.update([status(f"r{number}", num_requests=1)])
    assert found.num_requests == 112


def _tenant(
    waiting: int, admitted: int, mean_s: float, longest_s: float, tokens: int
) -> TenantStats:
    return TenantStats(
        tenant="ada",
        num_waiting=waiting,
        num_admitted=admitted,
        mean_wait_s=mean_s,
        longest_wait_s=longest_s,
        tokens=tokens,
    )


def test_queue_times_are_added_by_tenant() -> None:
    counts = (1,) * (len(WAIT_BOUNDS_S) + 1)
    one = _tenant(1, 2, 3.0, 9.0, 10)
    other = _tenant(2, 4, 6.0, 8.0, 20)
    found = add_stats(
        [
            EngineStats(
                waits=WaitStats(counts=counts, total_s=1.5, tenants=(one,)), oldest_wait_s=2.0
            ),
            EngineStats(
                waits=WaitStats(counts=counts, total_s=2.0, tenants=(other,)), oldest_wait_s=1.0
            ),
        ]
    )
    assert found.waits.counts == tuple(2 for _ in counts) and found.waits.total_s == 3.5
    assert found.waits.tenants == (_tenant(3, 6, 5.0, 9.0, 30),)
    assert found.oldest_wait_s == 2.0


def test_sizes_of_ready_replicas_are_added() -> None:
    found = whole_info([status("a"), status("b"), status("c", "dead")])
    assert found is not None
    assert (found.num_slots, found.max_waiting, found.model) == (200, 10, INFO.model)
    assert whole_info([status("c", "starting")]) is None


def test_numbers_and_branches_of_answers_are_added() -> None:
    assert merge_answers([Flushed(1, 2), Flushed(10, 20)]) == Flushed(11, 22)
    one = CacheDescription(*range(11))
    assert merge_answers([one, one]) == CacheDescription(*range(0, 22, 2))
    branch = Branch((1,), 0, 1, 0, 0, 0, 1, 1)
    found = merge_answers([Branches((branch,), 1, 5, True), Branches((branch,), 2, 4, False)])
    assert found == Branches((branch, branch), 3, 5, False)


def test_views_of_replicas_stand_side_by_side() -> None:
    top = ViewedNode(1, 0, "ada", False, 0, 5, 2, 1.0, 1, 0, b"")
    leaf = ViewedNode(2, 1, "ada", False, 5, 7, 1, 1.0, 1, 3, b"")
    request = ViewedRequest("a", "", "", True, 12, 5, 1, 0.5, 2)
    twins = Twins(1, 2, 600)
    view = TreeView((top, leaf), (request,), 9, 12, 4, 40, (), {"ada": 12}, twins, 0.001)
    found = merge_answers([view, view, view])
    assert isinstance(found, TreeView)
    assert len({each.number for each in found.nodes}) == 6
    by_number = {each.number: each for each in found.nodes}
    for each in found.nodes:
        above = by_number[each.parent] if each.parent else None
        assert (above is None) == (each.start == 0)
        assert above is None or above.num_tokens == 5
    tips = {by_number[each.node].num_tokens for each in found.requests}
    assert tips == {7}
    assert (found.num_nodes, found.num_held, found.num_more) == (27, 36, 12)
    assert found.held_by_owner == {"ada": 36}
    assert found.twins is not None
    assert by_number[found.twins.second].parent == found.twins.first
    assert found.twins.num_tokens == 600
