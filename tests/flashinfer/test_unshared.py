"""The view of the backend without a cascade, by the plans that reach its wrappers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.attention.trees import RandomTree, decode_step
from tests.flashinfer.fake_layers import kind_with
from yaie.attention.flashinfer.backend import FlashInferStep
from yaie.attention.flashinfer.cascade import Groups
from yaie.attention.flashinfer.staging import Staging
from yaie.attention.plan import StepPlan
from yaie.device.queue import PlainQueue

WINDOW = 12


def planned_by(plan: StepPlan, *, shares: bool) -> dict[tuple[str, int | None], Groups]:
    """Return the groups that a step plans, by role and sliding window."""
    found: dict[tuple[str, int | None], Groups] = {}

    def wrapper(role: str, kind: object) -> object:
        window = kind.sliding_window  # type: ignore[attr-defined]
        return SimpleNamespace(plan=lambda groups, *_: found.update({(role, window): groups}))

    kinds = {kind_with(): None, kind_with(sliding_window=WINDOW): None}
    rows = Staging(PlainQueue(torch.device("cpu")))
    backend = SimpleNamespace(rows=rows, kinds=kinds, wrapper=wrapper)
    FlashInferStep(backend, plan, shares=shares)  # type: ignore[arg-type]
    return found


def test_each_decode_row_reads_its_whole_path() -> None:
    plan = decode_step(num_rows=5, shared=40, own=3)
    shared = planned_by(plan, shares=True)
    assert set(shared) == {("decode", None), ("shared", None), ("decode", WINDOW)}
    found = planned_by(plan, shares=False)
    assert set(found) == {("decode", None), ("decode", WINDOW)}
    assert np.diff(found["decode", None].key_indptr).tolist() == [43] * 5
    assert np.diff(found["decode", WINDOW].key_indptr).tolist() == [WINDOW] * 5


@pytest.mark.parametrize("seed", range(10))
def test_every_path_of_a_tree_is_read_once(seed: int) -> None:
    """By the run of rows that ends it; its slots are those of all segments on it."""
    plan = RandomTree(seed).plan()
    found = planned_by(plan, shares=False)
    (groups,) = (each for (role, window), each in found.items() if window is None)
    last = groups.query_indptr[1:] - 1
    assert np.diff(groups.key_indptr).tolist() == (plan.positions[last] + 1).tolist()
    for group, row in enumerate(last.tolist()):
        path = {
            slot
            for segment in plan.segments
            if segment.first_row <= row < segment.end_row
            for slot in segment.slots[: plan.positions[row] + 1 - segment.first_position].tolist()
        }
        slots = groups.slots[groups.key_indptr[group] : groups.key_indptr[group + 1]].tolist()
        assert set(slots) == path
        assert len(slots) == len(path)
