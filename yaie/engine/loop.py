"""`EngineLoop`: commands become calls of the core, faults become deltas of their request.

The one loop of the engine: the worker process of the server and `LLM` run it. Pure and
synchronous; the caller decides when to step. One thread at a time may call it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from yaie.base.cache_changes import CacheChange
from yaie.base.errors import request_error
from yaie.base.queries import Answer, Query
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    ExpectedPrompt,
    GenerationRequest,
    Grammar,
    TokenDelta,
)

if TYPE_CHECKING:
    from yaie.text.tokenizer import Tokenizer

STATS_INTERVAL_S = 0.1  # between two reports of a busy engine


class Core(Protocol):
    """Interface of `yaie.engine.core.EngineCore`, whose module imports torch."""

    info: EngineInfo

    @property
    def has_work(self) -> bool:
        """True if a step would compute or report anything."""

    @property
    def stats(self) -> EngineStats:
        """Counters and gauges after the last step."""

    def add(self, request: GenerationRequest) -> None:
        """Queue a request. Raises an error for a request that cannot be run."""

    def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request or one of its sequences; ignore an unknown id."""

    def warm_up(self) -> None:
        """Compute a first batch, before any request, and note its seconds in `info`.

        Tree and statistics stay empty. Raises `StartupError`.
        """

    def use_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Read grammars with `tokenizer`, before any request."""

    def check_grammar(self, grammar: Grammar) -> None:
        """Compile a grammar, on any thread. Raises an error for a grammar that cannot be used."""

    def step(self) -> list[TokenDelta]:
        """Compute one step."""

    def expect(self, prompt: ExpectedPrompt) -> None:
        """Compute a later prompt's beginning in idle moments; ignore an invalid one."""

    def answer(self, query: Query) -> Answer:
        """Answer a query, between two steps. Raises an error for an invalid query."""

    def take_cache_changes(self) -> tuple[CacheChange, ...]:
        """Return the blocks stored and removed since the last call, in order."""

    def use_idle_moment(self) -> bool:
        """Prepare later steps for some milliseconds; return False if it has all been done."""

    def wait_until_saved(self, timeout_s: float | None = None) -> bool:
        """Wait for packed weights that are being written to disk; return False on timeout."""

    def close(self) -> None:
        """Free the model and the pool; stop writing packed weights."""


class EngineLoop:
    """A core, the errors of refused requests, and the times of statistics.

    `has_work`: True if a step would compute or report anything. The core is asked for it once a
    step, and after each command.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.has_work = self._has_core_work = core.has_work
        self._reported_at = -math.inf
        self._refusals: list[TokenDelta] = []  # reported by the next step

    def submit(self, request: GenerationRequest) -> None:
        """Pass a request to the core; a fault becomes the request's error in the next step."""
        try:
            self.core.add(request)
        except Exception as error:  # other requests continue
            self.refuse(request.request_id, request.submission, error)
        else:
            self._note_command()

    def refuse(self, request_id: str, submission: int, error: Exception) -> None:
        """Answer a request with an error in the next step."""
        self.has_work = True
        self._refusals.append(
            TokenDelta(
                request_id=request_id,
                submission=submission,
                index=0,
                finish_reason="error",
                error=request_error(error),
            )
        )

    def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request or one of its sequences; ignore an unknown id."""
        self.core.abort(request_id, index)
        self._note_command()

    def step(self) -> list[TokenDelta]:
        """Compute one step, if there is work, and return all deltas.

        A sequence's error ends its whole request: the other sequences are aborted immediately.
        Raises if the step itself fails; the core is unusable then.
        """
        deltas, self._refusals = self._refusals, []
        if self._has_core_work:
            computed = self.core.step()
            for delta in computed:
                if delta.error is not None:
                    self.core.abort(delta.request_id)
            deltas += computed
            self._has_core_work = self.core.has_work
        self.has_work = self._has_core_work
        return deltas

    def take_stats(self, now: float) -> EngineStats | None:
        """Return the statistics if they are due: every 100 ms, and without work; else None.

        `now`: time of a monotonic clock in seconds.
        """
        if self.has_work and now - self._reported_at < STATS_INTERVAL_S:
            return None
        self._reported_at = now
        return self.core.stats

    def _note_command(self) -> None:
        self._has_core_work = self.core.has_work
        self.has_work = self._has_core_work or bool(self._refusals)
