"""`EngineClient`: the engine as the server sees it.

Implemented by `ProcessClient` over a supervised child process, and by `InProcessClient`. `LLM`
works without an event loop: its `LocalClient` returns the same `Submission`s and is stepped by the
waiting threads.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Protocol

from yaie.base.queries import ENGINE_ANSWER_S, Answer, Query
from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, EngineState, ExpectedPrompt, GenerationRequest
from yaie.client.submission import Sink, Submission

logger = logging.getLogger(__name__)


class EngineClient(Protocol):
    """An asynchronous client of one engine, used on one event loop."""

    @property
    def state(self) -> EngineState:
        """The engine's state now."""

    @property
    def state_reason(self) -> str:
        """One sentence on the state; may be empty."""

    @property
    def info(self) -> EngineInfo | None:
        """Properties of the engine, once it was ready."""

    @property
    def stats(self) -> EngineStats:
        """The latest published statistics."""

    @property
    def num_restarts(self) -> int:
        """Number of engine restarts after a crash."""

    async def start(self) -> None:
        """Begin to start the engine and return at once; `state` changes when it is ready."""

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Wait until the engine is ready. Raises `StartupError` or `EngineUnavailable`."""

    def expect_request(self) -> AbstractContextManager[None]:
        """Surround the reading of a request, so that a burst starts in one step."""

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Send a request; `sink` receives its deltas on the event loop and must not raise.

        A delta with an error ends the whole request, also when the engine dies. Raises
        `EngineUnavailable` unless the engine is ready, `InvalidRequest` if the id is in use or a
        value cannot be sent.
        """

    def expect_prompt(self, prompt: ExpectedPrompt) -> None:
        """Have the engine compute the beginning of a later prompt in its idle moments, if ready."""

    async def ask(self, query: Query, timeout_s: float = ENGINE_ANSWER_S) -> Answer:
        """Ask the engine, and wait for the answer, which it gives between two steps.

        Raises `EngineUnavailable` unless the engine is ready, if it dies meanwhile, or after
        `timeout_s`; `InvalidRequest` for a wrong query.
        """

    async def close(self) -> None:
        """Stop the engine and free its memory."""


def log_sink_error(request: GenerationRequest, error: Exception) -> None:
    """Log the exception of a request's sink."""
    logger.error(
        "the sink of request %r failed; the request is ended", request.request_id, exc_info=error
    )
