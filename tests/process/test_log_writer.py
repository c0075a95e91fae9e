"""The queue of log lines: bounded, in order, never waiting for a reader."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from pathlib import Path
from typing import TextIO

import pytest

from yaie.process import log_writer
from yaie.process.log_writer import (
    MAX_QUEUED_BYTES,
    LogWriter,
    QueuedStream,
    forward_lines,
    queued,
)

LINE = b"x" * 1023 + b"\n"


def open_pipe() -> tuple[int, TextIO]:
    read, write = os.pipe()
    return read, os.fdopen(write, "w")


def test_lines_are_written_in_order() -> None:
    read, stream = open_pipe()
    with stream:
        log = QueuedStream(stream, writer := LogWriter(stream.fileno()))
        for number in range(1000):
            print("line", number, file=log)
        log.write("half, ")
        log.write("\ud800 whole\nbegun")
        log.flush()
        writer.flush(30)
    with os.fdopen(read) as lines:
        text = lines.read()
    assert text == "".join(f"line {i}\n" for i in range(1000)) + "half, \\ud800 whole\nbegun"


def num_told(caplog: pytest.LogCaptureFixture) -> int:
    """Return the sum of what the lines about dropped lines tell; a busy machine has several."""
    found = (re.match(r"(\d+) log lines were dropped", each) for each in caplog.messages)
    return sum(int(each[1]) for each in found if each is not None)


def test_a_pipe_that_nobody_reads_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    read, stream = open_pipe()
    writer = LogWriter(stream.fileno())
    num_lines = 4 * MAX_QUEUED_BYTES // len(LINE)
    for _ in range(num_lines):
        writer.write(LINE)
    assert writer.num_dropped > 0
    writer.finish()  # returns without a reader
    writer.write(LINE)
    num_read = 0
    with caplog.at_level(logging.WARNING):
        while num_read < num_lines + 1 - writer.num_dropped:
            num_read += len(os.read(read, len(LINE))) / len(LINE)
        writer.flush(30)
    assert num_read == num_lines + 1 - writer.num_dropped
    end = time.monotonic() + 30
    while num_told(caplog) < writer.num_dropped and time.monotonic() < end:
        time.sleep(0.01)
    assert num_told(caplog) == writer.num_dropped
    os.close(read)
    stream.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_and_a_gone_reader_are_survived() -> None:
    read, stream = open_pipe()
    os.close(read)
    with stream, Path("/dev/full").open("w") as full:
        for each in (stream, full):
            writer = LogWriter(each.fileno())
            for _ in range(3):
                writer.write(LINE)
            writer.flush(30)
            assert writer.num_dropped == 3


def test_a_non_blocking_descriptor_is_waited_for() -> None:
    read, stream = open_pipe()
    os.set_blocking(stream.fileno(), False)
    writer = LogWriter(stream.fileno())
    for _ in range(200):  # more than a pipe holds
        writer.write(LINE)
    reader = threading.Thread(target=lambda: [os.read(read, 1024) for _ in range(200)])
    reader.start()
    reader.join(30)
    writer.flush(30)
    assert writer.num_dropped == 0
    os.close(read)
    stream.close()


def test_streams_without_a_descriptor_stay_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    monkeypatch.setattr(log_writer, "_writers", {})
    assert queued(sys.stderr) is sys.stderr
    assert queued(memory := io.StringIO()) is memory
    assert queued(None) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("is_missing", [False, True])
def test_a_childs_lines_are_read_without_standard_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_missing: bool
) -> None:
    closed = (tmp_path / "log").open("w")
    closed.close()
    monkeypatch.setattr("sys.__stderr__", None if is_missing else closed)
    read, write = os.pipe()
    thread = forward_lines(read)
    with os.fdopen(write, "wb") as child:
        child.write(LINE * 1000)  # more than a pipe holds
    thread.join(30)
    assert not thread.is_alive()
