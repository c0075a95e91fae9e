"""The benchmark of exact mode: real steps, exact and default in turns."""

from __future__ import annotations

import pytest
import torch

from benchmarks import exact
from benchmarks.attention import Workload
from tests.models.test_native_decoder import needs_library


def test_only_the_last_row_of_a_sequence_has_logits() -> None:
    plan = exact.step_of(Workload("small", sequences=3, shared=10, own=6, rows=4))
    assert plan.logit_rows.tolist() == [3, 7, 11]


@needs_library
def test_both_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Workload("small", sequences=2, shared=8, own=4, rows=1)
    too_long = Workload("beyond the context", sequences=1, shared=0, own=100_000, rows=1)
    monkeypatch.setattr(exact, "WORKLOADS", (small, too_long))
    monkeypatch.setattr(exact, "NUM_SLOTS", 64)
    threads = torch.get_num_threads()
    try:
        report = exact.measure_exact("builtin", threads=1, repeats=2)
    finally:
        torch.set_num_threads(threads)
    (step,) = report["steps"]
    assert step["rows"] == 2
    assert min(step["milliseconds"].values()) > 0
    assert step["ratio"] > 0
