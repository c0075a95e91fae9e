"""The benchmark of streamed tokens: the real application, one event for each token."""

from __future__ import annotations

import gc

import pytest

from benchmarks import streams


def test_every_path_and_batch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCHES", (1, 3))
    try:
        report = streams.measure_streams(steps=2)
    finally:
        gc.enable()
    found = [(each["path"], each["streams"]) for each in report["streams"]]
    assert found == [(path, number) for path in streams.PATHS for number in (1, 3)]
    assert all(each["microseconds_a_token"] > 0 for each in report["streams"])
