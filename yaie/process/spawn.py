"""Process start: its command line, its environment, and pausing the garbage collector."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line; `-P` keeps files of the working directory out of `sys.path`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Return our environment, with the package's folder on `PYTHONPATH` unless it is installed."""
    environment = dict(os.environ)
    folder = Path(__file__).resolve().parents[2]
    if folder.name not in {"site-packages", "dist-packages"}:
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *([known] if known else [])])
    return environment


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
