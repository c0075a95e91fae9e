"""What the command line may print, and where: answers on stdout, everything else on stderr.

Notes for people go to stderr and only when it is a terminal, warnings always; --quiet stops both.
Colour respects NO_COLOR.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, Literal, TextIO

_quiet = False


class CannotWrite(OSError):
    """Standard output takes no more: its disk is full, or it is closed."""


class _Output(io.FileIO):
    """Standard output, whose errors can be told from those of other files."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CannotWrite(error.errno, error.strerror) from error


def prepare_streams() -> None:
    """Make the standard streams of this process usable, whatever the shell made of them."""
    _open_closed_streams()
    # What the encoding has no bytes for is written as an escape, as on stderr: an answer that was
    # computed is not thrown away for one letter, and which letter it was can still be read, where
    # a `?` would hide it. Other handlers were chosen on purpose (PYTHONIOENCODING=ascii:replace).
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
    """Put something where a standard stream is closed (`>&-`), lest a file or socket gets there.

    Python has None for such a stream. In the order of their numbers: the lowest free one is given.
    """
    if sys.stdin is None:
        sys.stdin = _open_null(os.O_RDONLY, "r")
    if sys.stdout is None:
        sys.stdout = _open_null(os.O_RDONLY, "w")  # for reading: then writing fails, as it should
    if sys.stderr is None:
        sys.stderr = _open_null(os.O_WRONLY, "w")


def _open_null(flags: int, mode: Literal["r", "w"]) -> TextIO:
    number = os.open(os.devnull, flags)
    os.set_inheritable(number, True)
    return os.fdopen(number, mode, encoding="utf-8", closefd=False)  # the number stays taken


def be_quiet() -> None:
    """Show no notes or warnings from now on (--quiet); answers and errors are still shown."""
    global _quiet  # noqa: PLW0603 - one process, one terminal
    _quiet = True


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at (or types into) this stream; False for a closed one."""
    return stream is not None and not stream.closed and stream.isatty()


def notes_are_shown() -> bool:
    """Whether notes go anywhere: stderr is a terminal and --quiet was not given."""
    return not _quiet and is_terminal(sys.stderr)


def note(text: str) -> None:
    """A remark for a person: dim, on stderr, and only if it is a terminal."""
    if notes_are_shown():
        print(dim(text, sys.stderr), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A warning, on stderr also where that is no terminal: what was typed has no effect."""
    if not _quiet:
        print(f"warning: {text}", file=sys.stderr, flush=True)


def dim(text: str, stream: TextIO) -> str:
    """The text in the terminal's dim style where the stream can show it."""
    return _styled(text, "2", stream)


def bold(text: str, stream: TextIO) -> str:
    """The text in bold where the stream can show it."""
    return _styled(text, "1", stream)


def red(text: str, stream: TextIO) -> str:
    """The text in red where the stream can show it."""
    return _styled(text, "31", stream)


def green(text: str, stream: TextIO) -> str:
    """The text in green where the stream can show it."""
    return _styled(text, "32", stream)


def _styled(text: str, style: str, stream: TextIO) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not is_terminal(stream) else f"\x1b[{style}m{text}\x1b[0m"
