"""Processes of YAIE's own start without looking for garbage, and never look where there is none.

Modules and a model are hundreds of thousands of objects that stay. Python would search them again
and again while they are made, a sixth to a quarter of the time that loading takes, and later in the
middle of a step: a tenth of a second and more in which nobody's token gets on. Called by the engine
process, `yaie serve` and `yaie run`; not for `LLM`, whose process is somebody else's.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """Collect no cycles meanwhile; what there is at the end counts as there for good."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
