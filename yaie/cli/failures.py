"""How the command line fails: what, why, what to type, and an exit code; never a traceback.

Every command raises `CommandFailed` or one of `yaie.errors`; `main` shows it with `show_failure`.
Exit codes: 0 done, 1 failed, 2 usage, 3 model, 4 memory, 5 server, 124 timeout, 130 Ctrl-C.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback

from yaie.cli import terminal
from yaie.errors import NotEnoughMemory, YaieError

FAILED, USAGE, SERVER_UNREACHABLE, TIMED_OUT, INTERRUPTED = 1, 2, 5, 124, 130

# What to type next, by the code of an error that was raised below the command line.
_ADVICE = {
    "model_not_found": "yaie models    (what is on this machine)",
    "model_unsupported": "yaie models    (the architectures that are supported)",
    "model_damaged": "yaie models    (what is on this machine)",
    "not_enough_memory": "a smaller --num-slots or --max-model-len",
    "context_length_exceeded": "a shorter prompt, or a smaller --max-tokens",
    "bad_config": "yaie serve --help    (every setting and its values)",
    "engine_died": "yaie doctor",
    "engine_unavailable": "yaie doctor",
}


class CommandFailed(YaieError):
    """A command cannot go on: what is wrong, why, and what to type instead."""

    def __init__(
        self, what: str, *, why: str = "", advice: str = "", code: str, exit_code: int = FAILED
    ) -> None:
        super().__init__(what, code=code)
        self.why = why
        self.advice = advice
        self.exit_code = exit_code


def usage_error(what: str, *, why: str = "", advice: str = "yaie --help") -> CommandFailed:
    """The command was typed wrongly: exit code 2."""
    return CommandFailed(what, why=why, advice=advice, code="usage", exit_code=USAGE)


def output_error(error: OSError) -> CommandFailed:
    """Standard output took no more (its disk is full, or it is closed): exit code 1."""
    return CommandFailed(f"cannot write the answer: {error.strerror or error}", code="output")


def show_failure(error: BaseException) -> int:
    """Print an error to stderr as at most one screen, and return the exit code it asks for."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        error = NotEnoughMemory(
            "the system gives this process no more memory; there is no more, or a limit is set "
            "(ulimit -v, a container's)"
        )
    with contextlib.suppress(OSError):  # nobody takes the words (a full disk): the code still tells
        _show(error)
    return error.exit_code if isinstance(error, YaieError) else FAILED


def _show(error: BaseException) -> None:
    if wants_traceback():
        traceback.print_exception(error)
    if not isinstance(error, YaieError):
        _print_parts(
            "internal",
            f"{type(error).__name__}: {error}",
            "this is a fault of YAIE, not of what you typed",
            "the same command with --debug, and report what it prints",
        )
        return
    code = error.code or error.type.removesuffix("_error")
    if isinstance(error, CommandFailed):
        _print_parts(code, error.message, error.why, error.advice or _ADVICE.get(code, ""))
    else:
        what, *why = error.message.replace("\n", "; ").split("; ")
        _print_parts(code, what, "\n".join(why), _ADVICE.get(code, ""))


def wants_traceback() -> bool:
    """Whether the user asked for tracebacks, with --debug or YAIE_DEBUG."""
    return os.environ.get("YAIE_DEBUG", "") not in ("", "0")


def _print_parts(code: str, what: str, why: str, advice: str) -> None:
    label = terminal.red(f"error[{code.replace('_', '-')}]:", sys.stderr)
    print(f"{label} {what}", file=sys.stderr)
    for line in why.splitlines():
        print(f"  {line}", file=sys.stderr)
    if advice:
        print(f"  try: {advice}", file=sys.stderr)
