"""Log writer: text for standard error that never holds up the writing thread.

A separate thread writes from a bounded queue. Text that finds the queue full, or cannot be written
(a closed pipe, a full disk), is dropped and counted.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import io
import logging
import os
import select
import sys
import threading
import time
from typing import TextIO, cast

logger = logging.getLogger(__name__)

MAX_QUEUED_BYTES = 1024 * 1024
FLUSH_S = 0.5  # limit of the wait for a reader at the end of the process
_MAX_LINE_BYTES = 64 * 1024  # of a child; a longer line is cut into several


class LogWriter:
    """Queue and thread of one descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._texts: collections.deque[bytes] = collections.deque()
        self._num_bytes = 0  # queued, or being written
        self._changed = threading.Condition()
        self._num_untold = 0  # dropped since the last message about it
        self._ends_at: float | None = None  # monotonic; None before `finish`
        self.num_dropped = 0
        self._thread: threading.Thread | None = None  # started by the first text

    def write(self, text: bytes) -> None:
        """Queue a text, usually a line, or drop it."""
        with self._changed:
            if self._num_bytes + len(text) > MAX_QUEUED_BYTES:
                self._drop()
                return
            self._texts.append(text)
            self._num_bytes += len(text)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="yaie-log", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        if self._ends_at is not None:
            self.flush(self._ends_at - time.monotonic())

    def flush(self, timeout_s: float) -> None:
        """Wait until all is written, for at most `timeout_s`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._num_bytes, max(0.0, timeout_s))

    def finish(self, *, is_ending: bool = True) -> None:
        """Write at once from now on, as the process may end; all waits take `FLUSH_S` at most."""
        if not is_ending:
            self._ends_at = None
        elif self._ends_at is None:
            self._ends_at = time.monotonic() + FLUSH_S
            self.flush(FLUSH_S)

    def _drop(self) -> None:
        self.num_dropped += 1
        self._num_untold += 1

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._texts)
                text = self._texts.popleft()
            is_written = self._write_whole(text)
            with self._changed:
                num_untold = self._num_untold if is_written else 0
                if is_written:
                    self._num_untold = 0
                else:
                    self._drop()
                self._num_bytes -= len(text)
                self._changed.notify_all()
            if num_untold:
                logger.warning(
                    "%d log lines were dropped: the log was not read in time", num_untold
                )

    def _write_whole(self, text: bytes) -> bool:
        rest = memoryview(text)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # another program made the descriptor non-blocking
                waiting = select.poll()
                waiting.register(self._descriptor, select.POLLOUT)
                waiting.poll()
            except OSError:
                return False
        return True


class QueuedStream(io.TextIOBase):
    """A text stream whose lines go to a `LogWriter`."""

    encoding = "utf-8"

    def __init__(self, stream: TextIO, writer: LogWriter) -> None:
        self._stream = stream
        self.writer = writer
        self._begun = ""  # of a line
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Queue a text, up to its last line break; `flush` queues the rest."""
        with self._lock:
            whole, line_break, self._begun = (self._begun + text).rpartition("\n")
        if line_break:
            self.writer.write((whole + line_break).encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Queue the beginning of a line."""
        with self._lock:
            begun, self._begun = self._begun, ""
        if begun:
            self.writer.write(begun.encode("utf-8", "backslashreplace"))

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Return True for a terminal."""
        return self._stream.isatty()

    def writable(self) -> bool:
        """Return True."""
        return True


_writers: dict[int, LogWriter] = {}  # by descriptor


def writer_of(descriptor: int) -> LogWriter:
    """Return the writer of a descriptor, which all of the process's streams to it share."""
    return _writers.setdefault(descriptor, LogWriter(descriptor))


def queued(stream: TextIO) -> TextIO:
    """Return a queued stream for a stream's descriptor; without one return the stream."""
    if isinstance(stream, QueuedStream):
        return stream
    try:
        descriptor = stream.fileno()
        stream.flush()
    except (AttributeError, OSError, ValueError):  # None, a notebook's, a closed one
        return stream
    return cast(TextIO, QueuedStream(stream, writer_of(descriptor)))


def num_dropped_lines() -> int:
    """Return how many texts were dropped since the start."""
    return sum(writer.num_dropped for writer in _writers.values())


def finish_logs(*, is_ending: bool = True) -> None:
    """Write the queued texts and later ones at once, as the process may end by a signal."""
    for writer in list(_writers.values()):
        writer.finish(is_ending=is_ending)


def forward_lines(descriptor: int) -> threading.Thread:
    """Copy a child's lines to standard error until the descriptor ends, in the returned thread."""
    error = queued(sys.__stderr__) if sys.__stderr__ is not None else None

    def copy() -> None:
        with open(descriptor, "rb") as lines, contextlib.suppress(OSError):
            while line := lines.readline(_MAX_LINE_BYTES):
                if isinstance(error, QueuedStream):  # else it has no descriptor
                    error.writer.write(line)

    thread = threading.Thread(target=copy, name="yaie-engine-log", daemon=True)
    thread.start()
    return thread


atexit.register(finish_logs)
