"""The counter of a child's progress in memory that its parent reads."""

from __future__ import annotations

import ctypes
import os

import pytest

from yaie.process import heartbeat
from yaie.process.heartbeat import Heartbeat, beat, counter_address, share_counter


def test_a_parent_reads_what_python_and_native_code_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_counter", ctypes.c_uint64())  # restored at the end
    parent = Heartbeat()
    beat()  # before a parent shares its memory
    share_counter(os.dup(parent.descriptor))
    assert parent.count == 0
    beat()
    ctypes.c_uint64.from_address(counter_address()).value += 2
    assert parent.count == 3
    parent.close()
    beat()  # the parent is gone, the memory is not
    assert parent.count == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(parent.descriptor)
