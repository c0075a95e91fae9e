"""The attention benchmark: its plans, counts and turns."""

from __future__ import annotations

import pytest
import torch

from benchmarks import attention
from benchmarks.attention import SPEC, Workload, compare_instruction_sets, measure_attention
from tests.attention.dense import path_of
from yaie.base.errors import ConfigError
from yaie.kernels import library_search


def test_plans_have_the_counted_operations_and_slots() -> None:
    workload = Workload("small", sequences=3, shared=10, own=6, rows=4)
    plan = workload.plan()
    pairs = sum(len(path_of(plan, row)) for row in range(plan.num_rows))
    assert workload.operations(SPEC) == 2 * pairs * SPEC.num_heads * 256
    slots = {slot for row in range(plan.num_rows) for slot in path_of(plan, row).values()}
    assert len(slots) == workload.num_slots == plan.kv_tokens_read
    for row in range(plan.num_rows):
        assert path_of(plan, row)[int(plan.positions[row])] == plan.slots[row]


@pytest.mark.integration
def test_every_backend_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = (Workload("small", sequences=2, shared=8, own=4, rows=1),)
    monkeypatch.setattr(attention, "WORKLOADS", small)
    monkeypatch.setattr(attention, "POOL_BYTES", 1)
    monkeypatch.setattr(attention, "LEAST_TURN_S", 0)
    threads = torch.get_num_threads()
    try:
        report = measure_attention(threads=1, repeats=1)
    finally:
        torch.set_num_threads(threads)
    assert report["limits"]["read_gb_s"] > 0
    milliseconds = report["workloads"][0]["milliseconds"]
    assert {"reference", "sdpa"} <= set(milliseconds)
    assert all(value > 0 for value in milliseconds.values())


@pytest.mark.skipif(library_search.load() is None, reason=library_search.status().reason)
def test_instruction_sets_take_turns_and_the_usual_one_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = (Workload("small", sequences=2, shared=8, own=4, rows=1),)
    monkeypatch.setattr(attention, "COMPARED", small)
    monkeypatch.setattr(attention, "POOL_BYTES", 1)
    monkeypatch.setattr(attention, "LEAST_TURN_S", 0)
    library = library_search.load()
    assert library is not None
    usual, threads = library.instruction_set, torch.get_num_threads()
    last = library.instruction_sets[-1]
    try:
        report = compare_instruction_sets([usual, last], threads=1, repeats=1)
        assert set(report["workloads"][0]["milliseconds"]) == {usual, last}
        assert library.instruction_set == usual
        with pytest.raises(ConfigError):
            compare_instruction_sets([last, "none such"], threads=1, repeats=1)
        assert library.instruction_set == usual
    finally:
        torch.set_num_threads(threads)
