"""Tables and command line of the simulated matrix."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app as benchmarks
from benchmarks.schedule import report
from benchmarks.schedule.command import app, make_tables
from yaie.cli.bench import app as bench


def record(
    policy: str, *, workload: str = "agents", seed: int = 0, **values: Any
) -> dict[str, Any]:
    base = {
        "workload": workload,
        "load": "burst",
        "pool": 0.5,
        "policy": policy,
        "eviction": "adaptive",
        "seed": seed,
        "hit": 0.5,
        "mean_s": 2.0,
        "p50_s": 1.0,
        "p99_s": 4.0,
        "tokens_per_s": 100.0,
        "longest_wait_s": 5.0,
    }
    return base | values


def test_hits_are_shares_of_the_best_variant() -> None:
    records = [
        record("fcfs", hit=0.4),
        record("lpm", hit=0.8),
        record("lpm", hit=0.2, eviction="lfu"),
    ]
    lines = report.hit_table(records, 0.5, "burst").splitlines()
    assert lines[2:] == [
        "| fcfs | 50 % | 50 % |",
        "| lpm | 100 % | 100 % |",
        "| lpm + lfu | 25 % | 25 % |",
    ]


def test_times_are_ratios_to_fcfs() -> None:
    records = [record("fcfs"), record("lpm", mean_s=1.0, p99_s=8.0, tokens_per_s=150.0)]
    assert (
        report.time_table(records).splitlines()[-1] == "| burst | 50 % | lpm | 0.50 | 2.00 | 1.50 |"
    )


def test_the_anchor_takes_the_median_of_its_seeds() -> None:
    records = [record("fcfs", workload="anchor", seed=seed) for seed in range(3)]
    records += [
        record("lpm", workload="anchor", seed=seed, mean_s=mean)
        for seed, mean in enumerate((0.2, 1.0, 20.0))
    ]
    assert report.anchor_table(records).splitlines()[-1].startswith("| burst | 50 % | lpm | 0.50 |")


def test_the_anchor_without_the_baseline_has_a_table_without_ratios() -> None:
    (table,) = make_tables(
        [record("lpm", workload="anchor", load=load) for load in ("burst", "0.9")]
    )
    assert "burst" in table
    assert "| 0.9 | 50 % | lpm |  |  |  | 0.50 | 2.00 |" in table


def test_the_anchor_compares_runs_of_one_load_and_pool() -> None:
    slow, fast = ({"workload": "anchor", "load": load} for load in ("burst", "0.9"))
    records = [record("fcfs", mean_s=2.0, **fast), record("lpm", mean_s=1.0, **fast)]
    records += [record("fcfs", mean_s=8.0, **slow), record("lpm", mean_s=2.0, **slow)]
    ratios = [line.split(" | ")[3] for line in report.anchor_table(records).splitlines()[2:]]
    assert ratios == ["1.00", "0.50", "1.00", "0.25"]


@pytest.mark.slow
def test_the_command_prints_records_and_tables() -> None:
    arguments = [
        "--workloads",
        "self-consistency,agents",
        "--pools",
        "0.5",
        "--policies",
        "fcfs,lpm",
    ]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(r["workload"], r["policy"]) for r in records] == [
        ("self-consistency", "fcfs"),
        ("self-consistency", "lpm"),
        ("agents", "fcfs"),
        ("agents", "lpm"),
    ]
    printed = CliRunner().invoke(app, arguments).stdout
    assert "Hit rate over the best in the pool" in printed
    assert "| burst | 50 % | lpm |" in printed


@pytest.mark.parametrize("command", ["schedule", "quality", "chats"])
def test_measurements_of_a_checkout_are_no_commands_of_the_package(command: str) -> None:
    """Their code is not in the wheel."""
    assert "--json" in CliRunner().invoke(benchmarks, [command, "--help"]).output
    assert CliRunner().invoke(bench, [command]).exit_code == 2


def test_an_unknown_policy_is_named_with_the_choices() -> None:
    result = CliRunner().invoke(app, ["--policies", "random"])
    assert result.exit_code != 0
    assert "unknown 'random'; choose from" in str(result.exception) + result.output
