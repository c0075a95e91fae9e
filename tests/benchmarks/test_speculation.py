"""The benchmark of speculative decoding, at its smallest."""

from __future__ import annotations

import pytest

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
