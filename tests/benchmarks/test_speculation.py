"""The benchmark of speculative decoding, at its smallest."""

from __future__ import annotations

import pytest

from benchmarks.forced_drafts import SHARES, measure_forced_drafts
from benchmarks.speculation import measure_speculation
from yaie.base.settings import EngineConfig


@pytest.mark.integration
def test_each_load_has_its_figures() -> None:
    config = EngineConfig(model="builtin", device="cpu", num_slots=4096, speculate="4", exact=True)
    report = measure_speculation(config, repeats=1, num_new=12, concurrent=2)
    assert len(report["loads"]) == 9
    by_name = {load["name"]: load for load in report["loads"]}
    assert all(load["equal_turns"] == 1 for load in report["loads"])
    assert by_name["replay"]["accepted_tokens"] == by_name["replay"]["draft_tokens"] > 5
    assert by_name["prediction, 90% right"]["accepted_tokens"] > 4


@pytest.mark.integration
def test_forced_drafts_are_right_as_often_as_asked() -> None:
    config = EngineConfig(model="builtin", device="cpu", num_slots=1024, speculate="4", exact=True)
    report = measure_forced_drafts(config, repeats=1, num_new=16)
    assert [each["share_right"] for each in report["shares"]] == [*SHARES]
    assert all(each["equal_turns"] == 1 for each in report["shares"])
    assert report["shares"][0]["accepted_tokens"] == 0
    assert report["shares"][-1]["accepted_tokens"] == report["shares"][-1]["draft_tokens"] > 8
