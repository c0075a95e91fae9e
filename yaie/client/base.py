"""The engine as its users see it, wherever it runs.

Implemented by `ProcessClient`: the engine is a child process of the server that may die and is
restarted. `LLM` has no event loop and uses `StepDriver` instead.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Protocol

from yaie.stats import EngineStats
from yaie.types import EngineInfo, EngineState, GenerationRequest, TokenDelta


class EngineClient(Protocol):
    """An asynchronous door to one engine."""

    @property
    def state(self) -> EngineState:
        """What the engine is doing now; never waits."""

    @property
    def state_reason(self) -> str:
        """One sentence on the state, empty when there is nothing to say."""

    @property
    def info(self) -> EngineInfo | None:
        """What the engine said when it became ready; None before that."""

    @property
    def stats(self) -> EngineStats:
        """The latest published statistics; never waits."""

    @property
    def num_restarts(self) -> int:
        """How often the engine died and was started again."""

    async def start(self) -> None:
        """Begin to start the engine; returns at once, `state` tells when it is ready."""

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Wait until the engine is ready. Raises `StartupError` or `EngineUnavailable`."""

    def arriving(self) -> AbstractContextManager[None]:
        """While a request is read: an idle engine begins those that come together together."""

    def generate(self, request: GenerationRequest) -> AsyncIterator[TokenDelta]:
        """Send a request; yields deltas of all its sequences until each has a finish reason.

        Closing the iterator early ends the request's sequences within one step. Raises
        `EngineUnavailable` when the engine is not there or dies; refusals by the engine
        arrive as a delta with finish reason "error".
        """

    async def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request, or one of its sequences. Unknown ids are no error."""

    async def close(self) -> None:
        """Stop the engine and free what it holds."""
