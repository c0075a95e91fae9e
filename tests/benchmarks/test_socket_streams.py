"""The benchmark of streamed tokens with HTTP: real sockets, and every token is read."""

from __future__ import annotations

import gc

import pytest

from benchmarks import socket_streams
from benchmarks.streams import PATHS

pytestmark = pytest.mark.integration


def test_every_path_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_streams, "STEPS_A_SECOND", 100)
    try:
        report = socket_streams.measure_streams(streams=3, groups=1)
    finally:
        gc.enable()
    assert [(each["path"], each["streams"]) for each in report["streams"]] == [
        (path, 3) for path in PATHS
    ]
    assert all(each["microseconds_a_token"] > 0 for each in report["streams"])
