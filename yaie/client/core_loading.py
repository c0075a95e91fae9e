"""Loading of the engine core, for the worker process and for `LLM`. Imports torch late."""

from __future__ import annotations

import os
import sys

from yaie.base.settings import EngineConfig
from yaie.engine.loop import Core


def load_engine_core(config: EngineConfig) -> Core:
    """Load the engine core into this process, importing torch with it.

    Raises `StartupError`. A missing, damaged or unsupported model is found first, before the
    seconds that importing torch takes.
    """
    from yaie.models.load.folder import open_folder

    open_folder(config.source)

    if "torch" not in sys.modules:
        # OpenMP reads this once, when it is loaded. By default its threads spin for milliseconds
        # after each operation, on cores that the kernel library and the server need.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

    from yaie.engine.core import EngineCore

    return EngineCore(config)
