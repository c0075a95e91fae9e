"""Errors of the command line: the fact, the reason, the fix and an exit code, without a traceback.

Commands raise `AdvisedError` or an error of `yaie.base.errors`; `main` prints it with
`show_failure`. Exit codes: 0 done, 1 failed, 2 usage, 3 model, 4 memory, 5 server, 124 timeout, 130
Ctrl-C.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import traceback

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import ConfigError, NotEnoughMemory, YaieError
from yaie.cli import terminal

FAILED, USAGE, SERVER_UNREACHABLE, TIMED_OUT, INTERRUPTED = 1, 2, 5, 124, 130

# The next step for errors raised below the command line, by code.
_ADVICE = {
    "model_not_found": "yaie models    (models on this machine, and models by short names)",
    "model_unsupported": "yaie models    (supported architectures, and models by short names)",
    "model_damaged": "yaie models    (models on this machine)",
    "not_enough_memory": "a smaller --num-slots or --max-model-len",
    "context_length_exceeded": "a shorter prompt",
    "bad_config": "yaie serve --help    (every setting and its values)",
    "engine_died": "yaie doctor",
    "engine_unavailable": "yaie doctor",
}


def usage_error(what: str, *, why: str = "", advice: str = "yaie --help") -> AdvisedError:
    """Return the error for a wrong command line: exit code 2."""
    return AdvisedError(what, why=why, advice=advice, code="usage", exit_code=USAGE)


def output_error(error: OSError) -> AdvisedError:
    """Return the error for a full or closed standard output: exit code 1."""
    return AdvisedError(f"cannot write the answer: {error.strerror or error}", code="output")


def show_failure(error: BaseException) -> int:
    """Print an error to stderr, at most one screen, and return its exit code."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        error = NotEnoughMemory(
            "the system is out of memory; free memory, or raise the limit (ulimit -v, container)"
        )
    with contextlib.suppress(OSError):  # stderr cannot be written; the exit code remains
        _show(error)
    return error.exit_code if isinstance(error, YaieError) else FAILED


def _show(error: BaseException) -> None:
    if wants_traceback():
        traceback.print_exception(error)
    if not isinstance(error, YaieError):
        _print_parts(
            "internal",
            f"{type(error).__name__}: {error}",
            "this is a bug in YAIE",
            "the same command with --debug, and report its output",
        )
        return
    code = error.code or error.type.removesuffix("_error")
    if isinstance(error, AdvisedError):
        _print_parts(code, error.message, error.why, error.advice or _advice(error))
    else:
        what, *why = error.message.replace("\n", "; ").split("; ")
        _print_parts(code, what, "\n".join(why), _advice(error))


def _advice(error: YaieError) -> str:
    if isinstance(error, ConfigError) and error.file is not None:
        return f"yaie config check {error.file}    (yaie config schema has every setting)"
    if '"truncate"' in error.message:
        return "a shorter text, or --truncate"
    if isinstance(error, NotEnoughMemory) and error.param == "state_bytes":
        return "a larger --state-bytes, or omit it"
    advice = _ADVICE.get(error.code or "", "")
    is_shortened_by_fewer = error.code == "context_length_exceeded" and error.param == "max_tokens"
    return f"{advice}, or a smaller --max-tokens" if is_shortened_by_fewer else advice


def wants_traceback() -> bool:
    """Return True if --debug or YAIE_DEBUG requests tracebacks."""
    return os.environ.get("YAIE_DEBUG", "") not in ("", "0")


def _print_parts(code: str, what: str, why: str, advice: str) -> None:
    fields = {"code": code, "why": why, "advice": advice}
    if terminal.write_record(logging.ERROR, what, **{k: v for k, v in fields.items() if v}):
        return
    label = terminal.red(f"error[{code.replace('_', '-')}]:", sys.stderr)
    print(f"{label} {what}", file=sys.stderr)
    for line in why.splitlines():
        print(f"  {line}", file=sys.stderr)
    if advice:
        print(f"  try: {advice}", file=sys.stderr)
