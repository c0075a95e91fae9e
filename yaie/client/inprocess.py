"""`InProcessClient`: the engine in a thread of this process, for asyncio programs and tests.

The same door as `ProcessClient` without its safety: what ends the engine ends it for good.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from yaie.client.core import Core, refusal
from yaie.client.in_flight import InFlight
from yaie.errors import EngineDied, EngineDraining, EngineStarting, EngineUnavailable
from yaie.types import EngineInfo, EngineState, EngineStats, GenerationRequest, TokenDelta

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Abort:
    request_id: str
    index: int | None


class InProcessClient:
    """A core that was loaded already, stepped by a thread of its own. Implements `EngineClient`.

    Use it from the event loop that called `start`.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._info = core.info
        self._stats = core.stats
        self._state = EngineState.STARTING
        self._reason = ""
        self._in_flight = InFlight()
        self._commands: queue.SimpleQueue[GenerationRequest | _Abort | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="yaie-engine", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()

    @property
    def state(self) -> EngineState:
        """What the engine is doing now; never waits."""
        return self._state

    @property
    def state_reason(self) -> str:
        """One sentence on the state, empty when there is nothing to say."""
        return self._reason

    @property
    def info(self) -> EngineInfo | None:
        """What the engine says of itself."""
        return self._info

    @property
    def stats(self) -> EngineStats:
        """The statistics after the latest step; never waits."""
        return self._stats

    @property
    def num_restarts(self) -> int:
        """Always 0: nothing here restarts."""
        return 0

    async def start(self) -> None:
        """Start the thread. A second call changes nothing."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._state = EngineState.READY
            self._thread.start()

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """The engine is ready once started. Raises `EngineUnavailable` otherwise."""
        if self._state is not EngineState.READY:
            raise self._unavailable()
        return self._info

    def arriving(self) -> AbstractContextManager[None]:
        """Nothing: the engine takes requests between any two steps, and steps begin at once."""
        return nullcontext()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        """Send a request; yields deltas of all its sequences until each has a finish reason.

        A delta with finish reason "error" ends the whole request. Closing the generator early
        ends the request's sequences within one step. Raises `EngineUnavailable` when the engine
        is not there or dies, `InvalidRequest` where the id is in use.
        """
        if self._state is not EngineState.READY:
            raise self._unavailable()
        request = self._in_flight.number(request)
        pending = self._in_flight.open(request)
        try:
            self._commands.put(request)
            while (delta := await pending.take()) is not None:
                yield delta
        finally:
            self._in_flight.close(pending)
            if pending.may_still_run:
                self._commands.put(_Abort(request.request_id, None))

    async def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request, or one of its sequences. Unknown ids are no error."""
        self._commands.put(_Abort(request_id, index))

    async def close(self) -> None:
        """End the thread after its present step and close the core. Safe to call twice."""
        if self._loop is None:  # never started: there is no thread to do it
            self._loop = asyncio.get_running_loop()
            self._core.close()
            self._ended.set()
        elif self._state is EngineState.READY:
            self._state = EngineState.DRAINING
            self._in_flight.fail_all(lambda: EngineDraining("the engine was stopped"))
            self._commands.put(None)
        await self._ended.wait()
        self._state, self._reason = EngineState.DEAD, self._reason or "the engine was stopped"

    def _unavailable(self) -> EngineUnavailable:
        if self._state is EngineState.STARTING:
            return EngineStarting("the engine is not started; call start() first")
        if self._state is EngineState.DRAINING:
            return EngineDraining("the engine is being stopped")
        return EngineDied(self._reason or "the engine was stopped")

    # engine thread

    def _run(self) -> None:
        cause: Exception | None = None
        try:
            self._step_until_closed()
        except Exception as error:
            logger.exception("a step failed; the engine ends")
            cause = error
        try:
            self._core.close()
        except Exception as error:
            logger.exception("the engine could not be closed")
            cause = cause or error
        self._call(self._end, cause)

    def _step_until_closed(self) -> None:
        core, commands = self._core, self._commands
        while True:
            refused: list[TokenDelta] = []
            wait = not core.has_work
            while wait or not commands.empty():
                command = commands.get()  # sleeps only where there is nothing to compute
                wait = False
                if command is None:
                    return
                if isinstance(command, _Abort):
                    core.abort(command.request_id, command.index)
                else:
                    self._add(command, refused)
            deltas = core.step() if core.has_work else []
            if refused or deltas:
                self._call(self._publish, refused + deltas, core.stats)

    def _add(self, request: GenerationRequest, refused: list[TokenDelta]) -> None:
        try:
            self._core.add(request)
        except Exception as error:
            logger.exception("request %s could not be added", request.request_id)
            refused.append(refusal(request.request_id, request.submission, error))

    def _call(self, function: object, *arguments: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(function, *arguments)  # type: ignore[arg-type]
        except RuntimeError:  # the loop is closed, and with it everybody who waited
            logger.debug("nobody is left to hear of %s", function)

    # event loop

    def _publish(self, deltas: list[TokenDelta], stats: EngineStats) -> None:
        self._stats = stats
        self._in_flight.deliver(deltas)

    def _end(self, cause: Exception | None) -> None:
        self._state = EngineState.DEAD
        if cause is not None:
            self._reason = f"a step failed: {type(cause).__name__}: {cause}"
        reason = self._reason
        self._in_flight.fail_all(lambda: EngineDied(f"{reason}; the request is lost"))
        self._ended.set()
