"""The benchmark of the host's part of a step: decode steps only, extended on one side."""

from __future__ import annotations

import gc

import pytest

from benchmarks import host


def test_one_side_extends_its_steps_and_the_other_makes_each_from_scratch() -> None:
    extended, fresh = (
        host.Decoding(3, 10, 5, steps=8, extends=extends) for extends in (True, False)
    )
    for _ in range(8):
        assert extended.step()[2] == fresh.step()[2] == 3
    assert extended.scheduler.stats.num_extended_steps >= 8
    assert fresh.scheduler.stats.num_extended_steps == 0


def test_every_batch_and_shape_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "BATCHES", (1, 2))
    monkeypatch.setattr(host, "SHAPES", ((0, 8), (6, 2)))
    try:
        report = host.measure_host(steps=2)
    finally:
        gc.enable()
    assert [(each["sequences"], each["shared"]) for each in report["decode"]] == [
        (1, 0),
        (2, 0),
        (1, 6),
        (2, 6),
    ]
