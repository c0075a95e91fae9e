"""The fuzzer itself: a small run by default, larger ones by marker."""

from __future__ import annotations

import json

import pytest

from yaie.kvcache.radix_tree import RadixTree

from . import fuzz


def test_a_small_fuzz_run_finds_nothing_and_does_everything():
    summary = fuzz.run(40, 8_000, check_every=2, processes=1)
    assert summary["failures"] == []
    assert summary["operations"] == 8_000
    assert set(summary["by_kind"]) == set(fuzz._OPERATIONS)
    assert summary["evicted_nodes"] > 100 and summary["refused"] > 100


def test_a_fault_is_reported_and_repeated_by_seed(monkeypatch, capsys):
    real_close = RadixTree.close

    def close_and_forget(tree, cursor):
        real_close(tree, cursor)
        tree.num_live += tree.clock > 60

    monkeypatch.setattr(RadixTree, "close", close_and_forget)
    arguments = ["--seeds", "6", "--operations", "1200", "--processes", "1", "--check-every", "1"]
    assert fuzz.main(arguments) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    failure = json.loads(lines[0])["failures"][-1]
    again = fuzz.run_seed(failure["seed"], 200)
    assert (again.operations, again.error) == (failure["operation"], failure["error"])
    assert failure["caught_by"] == "check" and "num_live" in failure["error"]


@pytest.mark.integration
def test_a_fuzz_run_of_many_seeds_finds_nothing():
    assert fuzz.run(10, 4_000, check_every=4, processes=1)["failures"] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_operations_over_500_seeds():
    summary = fuzz.run(500, 1_000_000)
    assert summary["failures"] == []
    assert summary["operations"] == 1_000_000
