"""Output of the command line: answers on stdout, notes, warnings and errors on stderr.

Notes appear on a terminal only, warnings always; --quiet stops both. Colour respects NO_COLOR. A
server that logs JSON writes warnings and errors as log records.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import Any, Literal, TextIO

from yaie.process.log_format import JsonFormatter

_quiet = False
_records: logging.Formatter | None = None


class CannotWrite(OSError):
    """Standard output is full or closed."""


class _Output(io.FileIO):
    """Standard output that raises `CannotWrite`."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CannotWrite(error.errno, error.strerror) from error


def prepare_streams() -> None:
    """Make the standard streams usable: open closed ones, and escape unencodable characters."""
    _open_closed_streams()
    # A character outside the encoding is written as an escape, as on stderr: one character must not
    # cost the whole answer, and an escape keeps it readable, unlike `?`. Other handlers were chosen
    # by the user (PYTHONIOENCODING=ascii:replace).
    chosen = sys.stdout.errors not in ("strict", "surrogateescape")
    unbuffered = getattr(sys.stdout, "write_through", False)  # python -u
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(sys.stdout.fileno(), "w", closefd=False)),
        encoding=sys.stdout.encoding,
        errors=sys.stdout.errors if chosen else "backslashreplace",
        line_buffering=is_terminal(sys.stdout),
        write_through=unbuffered,
    )


def _open_closed_streams() -> None:
    """Open the null device for closed standard streams (`>&-`), which are None in Python.

    Files or sockets would otherwise take their numbers. They are opened in number order, since the
    system assigns the lowest free number.
    """
    if sys.stdin is None:
        sys.stdin = _open_null(os.O_RDONLY, "r")
    if sys.stdout is None:
        sys.stdout = _open_null(os.O_RDONLY, "w")  # read-only, so that writing fails
    if sys.stderr is None:
        sys.stderr = _open_null(os.O_WRONLY, "w")


def _open_null(flags: int, mode: Literal["r", "w"]) -> TextIO:
    number = os.open(os.devnull, flags)
    os.set_inheritable(number, True)
    return os.fdopen(number, mode, encoding="utf-8", closefd=False)  # the number stays in use


def be_quiet() -> None:
    """Suppress notes and warnings from now on (--quiet)."""
    global _quiet  # noqa: PLW0603 - one process, one terminal
    _quiet = True


def log_as(log_format: object) -> None:
    """Write warnings and errors as log records from now on if the format is json."""
    global _records  # noqa: PLW0603 - one process, one stderr
    _records = JsonFormatter() if str(log_format).lower() == "json" else None


def write_record(level: int, message: str, **fields: str) -> bool:
    """Write a log record to stderr; return False, and write nothing, where plain text is shown."""
    if _records is None:
        return False
    values = {"name": "yaie.cli", "levelno": level, "levelname": logging.getLevelName(level)}
    record = logging.makeLogRecord({**values, "msg": message, "fields": fields})
    print(_records.format(record), file=sys.stderr, flush=True)
    return True


def is_terminal(stream: TextIO | None) -> bool:
    """Return True if the stream is open and a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def notes_are_shown() -> bool:
    """Return True if stderr is a terminal and --quiet was not given."""
    return not _quiet and is_terminal(sys.stderr)


def note(text: str) -> None:
    """Print a dim remark to stderr if it is a terminal."""
    if notes_are_shown():
        print(dim(text, sys.stderr), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a remark to stderr, dim on a terminal and plain on a file or pipe."""
    if not _quiet:
        print(dim(text, sys.stderr), file=sys.stderr, flush=True)


def aside(text: str) -> None:
    """Print dim text to stderr, without a line break, if notes are shown."""
    if notes_are_shown():
        print(dim(text, sys.stderr), end="", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning to stderr, also to a file or pipe."""
    if not _quiet and not write_record(logging.WARNING, text):
        print(f"warning: {text}", file=sys.stderr, flush=True)


def dim(text: str, stream: TextIO) -> str:
    """Return the text in the terminal's dim style; unchanged on a stream without styles."""
    return _style(text, "2", stream)


def bold(text: str, stream: TextIO) -> str:
    """Return the text in bold; unchanged on a stream without styles."""
    return _style(text, "1", stream)


def red(text: str, stream: TextIO) -> str:
    """Return the text in red; unchanged on a stream without styles."""
    return _style(text, "31", stream)


def green(text: str, stream: TextIO) -> str:
    """Return the text in green; unchanged on a stream without styles."""
    return _style(text, "32", stream)


def _style(text: str, style: str, stream: TextIO) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not is_terminal(stream) else f"\x1b[{style}m{text}\x1b[0m"
