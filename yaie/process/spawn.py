"""Process start: its command line, its environment, and pausing the garbage collector."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import socket
import struct
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from yaie.process.hidden_keys import environment_without_secrets

_BARE_VARIABLES = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV"}
_BARE_PREFIXES = ("PYTHON", "LC_", "LD_", "DYLD_")


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line; `-P` keeps files of the working directory out of `sys.path`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment(keep: Collection[str] = ()) -> dict[str, str]:
    """Return our environment without secrets, except those in `keep`.

    The package's folder is on `PYTHONPATH` unless it is installed.
    """
    environment = environment_without_secrets(keep)
    folder = Path(__file__).resolve().parents[2]
    if folder.name not in {"site-packages", "dist-packages"}:
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *([known] if known else [])])
    return environment


def bare_environment() -> dict[str, str]:
    """Return what Python itself reads of `module_environment`, for a process under limits."""
    return {
        name: value
        for name, value in module_environment().items()
        if name in _BARE_VARIABLES or name.startswith(_BARE_PREFIXES)
    }


def limit_waits(connection: socket.socket, seconds: float) -> None:
    """Limit each wait of a blocking socket in the kernel, without a call to poll before it.

    Reads and writes raise `BlockingIOError` at the limit.
    """
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
    for side in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, side, limit)


@contextlib.contextmanager
def gc_paused_then_frozen() -> Iterator[None]:
    """Pause the garbage collector, then freeze all live objects (`gc.freeze`) on success."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
        atexit.register(_unfreeze_for_triton)
    finally:
        if was_enabled:
            gc.enable()


def _unfreeze_for_triton() -> None:
    """Let the exit free all objects if Triton is loaded: it prints each one that is left.

    torch imports Triton where it is installed. Without it the exit is a quarter second faster.
    """
    if "triton" in sys.modules:
        gc.unfreeze()
