"""Simulated fleets: every call is served, figures repeat, routers do as their rules say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from benchmarks.fleet import chart, report
from benchmarks.fleet.interleaved import interleaved_table
from benchmarks.fleet.routers import ROUTERS, PrefixAffinity, make_router
from benchmarks.fleet.runs import ONE_TREE, Point, run_point
from benchmarks.fleet.simulation import Change, Fleet
from benchmarks.schedule.simulation import COSTS, Setting, arrival_times
from benchmarks.schedule.workloads import make_workload

SVG = "{http://www.w3.org/2000/svg}"


def run_fleet(
    workload: str, router: str, *, changes: Sequence[Change] = (), num_slots: int = 40_000
) -> Fleet:
    made = make_workload(workload, scale=0.05, thinks=True)
    starts = [Change(0.0, f"r{index}", True) for index in range(3)]
    fleet = Fleet(Setting(num_slots=num_slots), COSTS["h100"], changes=[*starts, *changes])
    return fleet.run(made, make_router(router, lambda: fleet.now, 0), arrival_times(made, 2.0, 0))


@pytest.mark.integration
@pytest.mark.parametrize("router", ROUTERS)
def test_every_call_is_served_once_and_every_tree_is_whole(router: str) -> None:
    fleet = run_fleet("mixed", router)
    assert len(fleet.served) == sum(each.num_requests for each in fleet.replicas.values())
    assert len({each.call for each in fleet.served}) == len(fleet.served) > 20
    for replica in fleet.replicas.values():
        replica.tree.check()
        assert not replica.scheduler.has_work
    assert all(each.timings.first_token_s > 0 for each in fleet.served)


@pytest.mark.integration
def test_a_run_repeats_itself_and_a_router_that_knows_the_trees_hits_more() -> None:
    hits = {}
    for router in ("radix", "radix", "round-robin"):
        every = run_fleet("agents", router).replicas.values()
        hit = sum(each.scheduler.stats.cached_tokens for each in every)
        assert hits.setdefault(router, hit) == hit
    assert hits["radix"] > 1.1 * hits["round-robin"]


@pytest.mark.integration
def test_a_replica_that_joins_gets_requests_and_one_that_leaves_ends_its_own() -> None:
    changes = [Change(1.0, "r0", False), Change(2.0, "new", True)]
    fleet = run_fleet("agents", "radix", changes=changes)
    assert all(each.sent_s < 1.0 for each in fleet.served if each.replica == "r0")
    assert fleet.replicas["new"].num_requests > 0
    assert not any(each.scheduler.has_work for each in fleet.gone)


@pytest.mark.slow
def test_a_point_has_the_figures_of_the_tables_and_the_picture(tmp_path: Path) -> None:
    records = []
    for router in (ONE_TREE, "radix", "round-robin"):
        point = Point("agents", router, num_replicas=2, sessions=0.05, pool=0.5, load=1.0)
        records.append(run_point(point))
    (made,) = report.make_tables(records)
    assert made.startswith("2 replicas:")
    assert len(made.splitlines()) == 2 + 2 + 3
    lines, out = tmp_path / "records.ndjson", tmp_path / "picture.svg"
    lines.write_text("".join(json.dumps(each) + "\n" for each in records))
    result = CliRunner().invoke(chart.app, [str(lines), "--out", str(out), "--replicas", "2"])
    assert result.exit_code == 0, result.output
    root = ElementTree.fromstring(out.read_text())
    bars = [each.attrib["class"] for each in root.iter(f"{SVG}rect")]
    assert bars.count("radix") == 3  # legend, hits, times
    share = records[1]["hit"] / records[0]["hit"]
    assert f"{100 * share:.0f} %" in [each.text for each in root.iter(f"{SVG}text")]


def test_a_cold_replica_has_its_share_when_it_gets_what_the_others_get() -> None:
    common: dict[str, Any] = {"workload": "agents", "num_replicas": 4, "change": "restart"}
    figures = {"hit": 0.5, "mean_s": 1.0, "recovered_s": None, "share_after_join": [0.0, 0.5]}
    recovered = {**figures, "seed": 1, "recovered_s": 4.0, "share_after_join": [0.2, 0.9]}
    (made,) = report.make_tables(
        [
            {**common, **figures, "seed": 0, "router": "radix"},
            {**common, **recovered, "router": "radix"},
        ]
    )
    assert "| never, 4 | 0.10, 0.70 | 50.0 % |" in made


@pytest.mark.slow
def test_a_replica_restarts_in_a_short_run_too() -> None:
    record = run_point(Point("mixed", "round-robin", 2, 0.03, change="restart"))
    assert record["requests"] and sum(record["share_after_join"]) >= 0


def test_ratios_of_first_tokens_are_within_a_round() -> None:
    figures = {"workload": "chats", "hit": 0.5, "computed_tokens": 9, "requests_apart": 1.0}
    made = interleaved_table(
        [
            {**figures, "router": router, "seed": seed, "mean_s": mean_s, "p99_s": 1.0}
            for seed, pair in enumerate([(1.0, 4.0), (3.0, 3.0)])
            for router, mean_s in zip(("radix", "prefix-affinity"), pair, strict=True)
        ]
    )
    assert "| chats | radix | 50.0 % | 9 | 1.00 | 2,000 | 1,000 | 0.50 | 0.25 1.00 |" in made


def test_prefix_affinity_follows_the_longest_match_until_loads_differ_too_much() -> None:
    router = PrefixAffinity(0.5, 3, 1.5)
    group, both = list(range(10)), ["a", "b"]
    first = router.choose("q0", group, 160, both)
    for number in range(1, 4):
        assert router.choose(f"q{number}", [*group, 90 + number], 176, both) == first
    assert router.choose("q4", group, 160, both) != first  # 4 open requests against 0
    for number in range(5):
        router.completed(f"q{number}")
    assert set(router.num_open.values()) == {0}


def test_power_of_two_never_takes_the_busiest_of_two() -> None:
    router = make_router("power-of-two", lambda: 0.0, 0)
    chosen = [router.choose(f"q{number}", [], 10, ["a", "b"]) for number in range(20)]
    assert chosen.count("a") == chosen.count("b")
