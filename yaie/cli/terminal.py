"""What the command line may print, and where: answers on stdout, everything else on stderr.

Notes for people go to stderr and only when it is a terminal, warnings always; --quiet stops both.
Colour respects NO_COLOR.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

_quiet = False


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
