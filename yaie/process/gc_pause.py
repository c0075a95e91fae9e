"""Pause of the garbage collector during startup; afterwards all loaded objects are frozen.

Modules and a model are hundreds of thousands of permanent objects. Scanning them while they are
made takes a sixth to a quarter of the load time. A later scan in the middle of a step delays every
client by a tenth of a second or more. Called by the engine process, `yaie serve` and `yaie run`;
never by `LLM`, whose process belongs to the caller.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import sys
from collections.abc import Iterator


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
