"""Progress: what a slow start is doing, on a line of a terminal or a notebook.

Slow code calls `report`. What it reports is shown while `show_progress` or `log_progress` is open.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, TypeVar

_Part = TypeVar("_Part")

_FIRST_S = 1.0  # a shorter start shows nothing
_EVERY_S = 0.2
_LOGGED_S = 5.0
_LEAST_S = 0.3  # between a log record and the next drawing, so that the record has its own line
_COLUMNS = 80


class _Progress:
    """The running stage, and the thread that shows it every `every_s` seconds."""

    def __init__(self, stage: str, show: Callable[[str], None], every_s: float) -> None:
        self._show = show
        self._every_s = every_s
        self._is_over = threading.Event()
        self._began = time.monotonic()
        self._state = (stage, "")
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def take(self, stage: str, share: str) -> None:
        """Note the running stage; its seconds count from its first report."""
        if stage != self._state[0]:
            self._began = time.monotonic()
        self._state = (stage, share)
        if not stage:
            self._show("")

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        wait_s = max(_FIRST_S, self._every_s)
        while not self._is_over.wait(wait_s):
            stage, share = self._state
            self._show(f"{stage}{share} · {time.monotonic() - self._began:.0f} s" if stage else "")
            wait_s = self._every_s


_shown: _Progress | None = None  # one at a time: a model inside a command adds to the command's


def report(stage: str, done: int = 0, total: int = 0, parts: str = "layers") -> None:
    """Say what runs now, and how many of its parts are done.

    An empty stage is not shown: something else then shows progress, or asks the user.
    """
    if _shown is not None:
        _shown.take(stage, f": {done:,} of {total:,} {parts}" if total else "")


def report_each(
    items: Iterable[_Part], stage: str, total: int, parts: str = "layers"
) -> Iterator[_Part]:
    """Yield the items; report before each how many are done."""
    for done, item in enumerate(items):
        report(stage, done, total, parts)
        yield item


@contextlib.contextmanager
def show_progress(stage: str, *, wanted: bool = True) -> Iterator[None]:
    """Show reports on one line of standard error, from a second on; erase the line at the end.

    `stage` is shown until the first report. Nothing is shown unless standard error is a terminal
    or a notebook's output.
    """
    stream = sys.stderr
    if _shown is not None or not wanted or not _is_seen(stream):
        yield
        return
    line = _Line(stream)
    with line.erased_by_logs(), _showing(_Progress(stage, line.draw, _EVERY_S)):
        yield


@contextlib.contextmanager
def log_progress(logger: logging.Logger, stage: str, *, wanted: bool) -> Iterator[None]:
    """Log reports every five seconds.

    For a process whose parent writes its log to a terminal.
    """
    if _shown is not None or not wanted:
        yield
        return

    def log(text: str) -> None:
        if text:
            logger.info("%s", text)

    with _showing(_Progress(stage, log, _LOGGED_S)):
        yield


@contextlib.contextmanager
def _showing(progress: _Progress) -> Iterator[None]:
    global _shown  # noqa: PLW0603 - one process, one standard error
    _shown = progress
    try:
        yield
    finally:
        _shown = None
        progress.close()


def _is_seen(stream: TextIO | None) -> bool:
    """Return True for a terminal or a notebook's output."""
    if stream is None or stream.closed:
        return False
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")


class _Line:
    """The last line of a terminal, which is drawn again and again.

    It is overwritten by blanks, since notebooks know the carriage return and no other control.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._drawn = ""
        self._erased = 0.0

    def draw(self, text: str) -> None:
        """Replace the line."""
        with self._lock:
            if time.monotonic() - self._erased >= _LEAST_S:
                self._write(text[: self._columns() - 1].rstrip())

    def erase(self) -> None:
        """Leave an empty line, with the cursor at its beginning."""
        with self._lock:
            self._write("")
            self._erased = time.monotonic()

    @contextlib.contextmanager
    def erased_by_logs(self) -> Iterator[None]:
        """Erase the line before each log record, and at the end."""
        make_record = logging.getLogRecordFactory()

        def erase_then_make(*args: Any, **fields: Any) -> logging.LogRecord:
            self.erase()
            return make_record(*args, **fields)

        logging.setLogRecordFactory(erase_then_make)
        try:
            yield
        finally:
            if logging.getLogRecordFactory() is erase_then_make:
                logging.setLogRecordFactory(make_record)
            self.erase()

    def _write(self, text: str) -> None:
        if text == self._drawn:
            return
        blanks = " " * (len(self._drawn) - len(text))
        with contextlib.suppress(OSError, ValueError):  # a closed terminal must not end the start
            self._stream.write(f"\r{text}{blanks}" if text else f"\r{blanks}\r")
            self._stream.flush()
        self._drawn = text

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError):  # a notebook
            return _COLUMNS
