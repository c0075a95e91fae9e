"""What clients need of the engine core, how it is loaded, and the answer to what it did not take.

Used by the engine process and by the two doors within this process; importing it loads no torch.
"""

from __future__ import annotations

import os
import sys
from typing import Protocol

from yaie.config import EngineConfig
from yaie.errors import request_error
from yaie.types import EngineInfo, EngineStats, GenerationRequest, TokenDelta


class Core(Protocol):
    """What this process and the in-process drivers need of `yaie.engine.core.EngineCore`."""

    info: EngineInfo

    @property
    def has_work(self) -> bool:
        """Whether a step would compute or report anything."""

    @property
    def stats(self) -> EngineStats:
        """Counters and gauges as of the last step."""

    def add(self, request: GenerationRequest) -> None:
        """Take a request; a refusal comes out of the next step."""

    def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request or one sequence; unknown ids are no error."""

    def step(self) -> list[TokenDelta]:
        """Compute one step."""

    def use_idle_moment(self) -> bool:
        """Prepare for steps to come, for a millisecond or two; False if there is nothing to do.

        For a process of the engine's own: called while nobody asks for anything.
        """

    def wait_until_saved(self, timeout_s: float | None = None) -> bool:
        """Wait for packed weights that are being written to disk; whether that has ended."""

    def close(self) -> None:
        """Free what it holds; what is not on disk yet is given up."""


def load_engine_core(config: EngineConfig) -> Core:
    """The real core, imported late because it brings torch.

    Raises `StartupError`; for a model that is missing, damaged or not supported before the
    seconds that importing torch takes.
    """
    from yaie.models.folder import open_folder

    open_folder(config.model)

    if "torch" not in sys.modules:
        # Its OpenMP threads read this once, when they are loaded. They would spin for
        # milliseconds after each operation, on the cores that the kernel library and a server need.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

    from yaie.engine.core import EngineCore

    return EngineCore(config)


def refusal(request_id: str, submission: int, error: Exception) -> TokenDelta:
    """The answer to a request that the engine did not take."""
    return TokenDelta(
        request_id=request_id,
        submission=submission,
        index=0,
        finish_reason="error",
        error=request_error(error),
    )
