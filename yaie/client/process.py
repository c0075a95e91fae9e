"""`ProcessClient`: the engine in a child process that may die or hang and is then started again.

The server's door to the engine. Everything here runs on one asyncio event loop and nothing
imports torch; the loop never waits for a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager

from yaie.client.gathering import Gathering
from yaie.client.in_flight import InFlight
from yaie.client.messages import (
    Abort,
    Deltas,
    Failed,
    Ready,
    Shutdown,
    ToParent,
    pack_add,
)
from yaie.client.supervisor import WORKER_MODULE, EngineProcess
from yaie.config import EngineConfig
from yaie.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    YaieError,
)
from yaie.stats import EngineStats
from yaie.types import EngineInfo, EngineState, GenerationRequest, TokenDelta

logger = logging.getLogger(__name__)

FIRST_BACK_OFF_S = 0.1
LONGEST_BACK_OFF_S = 30.0
SHUTDOWN_S = 5.0
SLOWER_LOADS = 10  # a later load that takes this many times as long as the first one hangs


class ProcessClient:
    """One engine in a supervised child process. Implements `EngineClient`.

    `stall_s`: the longest time in which the engine may be silent although it was sent something,
    or requests are in flight; beyond it the engine counts as hung: its stacks go to standard error
    and it is killed and restarted. So is one that takes far longer to load than it did at first.
    A first start that fails is final (`FAILED`); a later death leads to a restart, after a
    back-off that doubles from 0.1 s to 30 s until an engine answers or lives on for as long.
    """

    def __init__(
        self,
        config: EngineConfig,
        *,
        stall_s: float = 300.0,
        worker_module: str = WORKER_MODULE,
    ) -> None:
        self._config = config
        self._stall_s = stall_s
        self._worker_module = worker_module
        self._state = EngineState.STARTING
        self._reason = ""
        self._state_changed = asyncio.Event()
        self._info: EngineInfo | None = None
        self._stats = EngineStats()
        self._num_restarts = 0
        self._startup_failure: Failed | None = None
        self._in_flight = InFlight()
        self._gathering = Gathering()
        self._life: EngineProcess | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._closing = False
        self._ready_at: float | None = None  # loop time; None: this life is not ready yet
        self._has_answered = False  # this life
        self._spawned_at = 0.0  # loop time
        self._first_load_s = 0.0
        self._is_owed = False  # whether the engine has to say something
        self._progress_at = 0.0  # loop time of what it said last, or of when it began to owe
        self._stall_timer: asyncio.TimerHandle | None = None

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
        """What the engine said when it became ready; None before that."""
        return self._info

    @property
    def stats(self) -> EngineStats:
        """The latest published statistics; counters begin again with each engine process."""
        return self._stats

    @property
    def num_restarts(self) -> int:
        """How often the engine died and was started again."""
        return self._num_restarts

    @property
    def pid(self) -> int | None:
        """Process id of the present engine process; None while there is none."""
        return self._life.pid if self._life is not None else None

    async def start(self) -> None:
        """Begin to start the engine; returns at once. A second call changes nothing."""
        if self._supervision is None and not self._closing:
            self._supervision = asyncio.create_task(self._supervise(), name="yaie-supervision")

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Wait until the engine is ready.

        Raises the `StartupError` of an engine that cannot start, `EngineStarting` after
        `timeout_s`, `EngineUnavailable` where the client is closed.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while self._state is not EngineState.READY:
                    if self._startup_failure is not None:
                        raise self._startup_failure.error()
                    if self._closing:
                        raise self._unavailable()
                    await self._state_changed.wait()
        except TimeoutError:
            raise EngineStarting(
                f"the engine was not ready within {timeout_s:g} s; it is {self._state.value}"
            ) from None
        assert self._info is not None
        return self._info

    def arriving(self) -> AbstractContextManager[None]:
        """While a request is read: an idle engine begins those that come together together."""
        return self._gathering.arriving()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        """Send a request; yields deltas of all its sequences until each has a finish reason.

        A delta with finish reason "error" ends the whole request. Closing the generator early
        ends the request's sequences within one step. Raises `EngineUnavailable` when the engine
        is not there or dies, `InvalidRequest` where the id is in use or a value cannot travel.
        """
        life = self._life
        if self._state is not EngineState.READY or life is None:
            raise self._unavailable()
        request = self._in_flight.number(request)
        add = pack_add(request)
        was_idle = not self._in_flight.wants_more
        pending = self._in_flight.open(request)
        try:
            self._note_sent()
            self._gathering.send(lambda: life.send(add), is_idle=was_idle)
            while (delta := await pending.take()) is not None:
                yield delta
        finally:
            self._in_flight.close(pending)
            if pending.wants_more and life is self._life:
                self._gathering.release()  # it may not have been sent yet
                self._note_sent()
                life.send(Abort(request.request_id))

    async def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request, or one of its sequences. Unknown ids are no error."""
        self._gathering.release()
        if self._life is not None and self._state is EngineState.READY:
            self._note_sent()
            self._life.send(Abort(request_id, index))

    async def close(self) -> None:
        """Stop the engine process: asked first, then killed. A second call kills at once."""
        self._closing = True
        life, listens = self._life, self._state is EngineState.READY
        self._cancel_stall_timer()
        if self._state is not EngineState.FAILED:
            self._set_state(EngineState.DRAINING, "the engine is being stopped")
        self._in_flight.fail_all(lambda: EngineDraining("the engine was stopped"))
        try:
            if life is not None and listens:  # while it loads or hangs, nobody does
                life.send(Shutdown())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(life.wait(), SHUTDOWN_S)
        finally:
            if life is not None:
                life.kill()
            if self._supervision is not None:
                supervision, self._supervision = self._supervision, None
                if self._life is None:  # it waits to restart, or for a process to be made
                    supervision.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await supervision
            if self._state is not EngineState.FAILED:
                self._set_state(EngineState.DEAD, "the engine was stopped")

    def _set_state(self, state: EngineState, reason: str = "") -> None:
        self._state, self._reason = state, reason
        self._state_changed.set()
        self._state_changed = asyncio.Event()

    def _unavailable(self) -> EngineUnavailable:
        reason = f": {self._reason}" if self._reason else ""
        if self._closing:
            return EngineDraining("the engine is stopped or being stopped")
        if self._state is EngineState.STARTING:
            return EngineStarting(f"the engine is still starting; try again in a moment{reason}")
        if self._state is EngineState.FAILED:
            return EngineUnavailable(f"the engine could not start{reason}")
        return EngineDied(f"the engine is down and is being restarted{reason}")

    # supervision

    async def _supervise(self) -> None:
        back_off_s = FIRST_BACK_OFF_S
        while not self._closing:
            self._set_state(EngineState.STARTING, self._reason)
            cause, was_steady, failed = await self._live_once()
            if self._closing:
                return
            if self._info is None:  # it never was ready: trying again would not help
                self._startup_failure = failed or Failed(
                    "StartupError", f"while it was starting, {cause}", 1
                )
                self._set_state(EngineState.FAILED, self._startup_failure.message)
                return
            if was_steady:
                back_off_s = FIRST_BACK_OFF_S
            self._set_state(EngineState.DEAD, cause)
            logger.error("engine down: %s; restarting in %.1f s", cause, back_off_s)
            await asyncio.sleep(back_off_s)
            back_off_s = min(2 * back_off_s, LONGEST_BACK_OFF_S)
            self._num_restarts += 1

    async def _live_once(self) -> tuple[str, bool, Failed | None]:
        """One life of the engine process: why it ended, whether it was of use, its last words."""
        self._ready_at, self._has_answered, self._is_owed = None, False, False
        loop = asyncio.get_running_loop()
        self._spawned_at = loop.time()
        try:
            life = await EngineProcess.spawn(
                self._config, self._receive, module=self._worker_module
            )
        except Exception as error:  # also a setting that cannot be sent
            reason = f"no engine process could be started: {type(error).__name__}: {error}"
            return reason, False, Failed("StartupError", reason, 1)
        self._life = life
        if self._closing:  # close() came while the process was being made and did not see it
            life.kill()
        watch: asyncio.TimerHandle | None = None
        if self._info is not None:
            longest_s = max(self._stall_s, SLOWER_LOADS * self._first_load_s)
            watch = loop.call_later(longest_s, self._check_load, life, longest_s)
        try:
            cause = await life.ended()
        finally:
            if watch is not None:
                watch.cancel()
            life.kill()
            self._life = None
            self._cancel_stall_timer()
            self._stats = EngineStats()
        if self._state is EngineState.STALLED:
            cause = self._reason
        # One that dies as soon as it is ready would else be loaded again without end.
        was_steady = self._has_answered or (
            self._ready_at is not None and loop.time() - self._ready_at >= LONGEST_BACK_OFF_S
        )
        lost = self._in_flight.fail_all(self._make_death(cause))
        if lost:
            logger.error("%d requests in flight were lost", lost)
        return cause, was_steady, life.failure

    @staticmethod
    def _make_death(cause: str) -> Callable[[], YaieError]:
        return lambda: EngineDied(f"{cause}; the request is lost, send it again")

    def _receive(self, message: ToParent) -> None:
        if isinstance(message, Deltas):
            self._stats = message.stats
            self._has_answered = self._has_answered or bool(message.deltas)
            self._in_flight.deliver(message.deltas)
            self._is_owed = False
            if self._in_flight.wants_more:
                self._note_sent()
        elif isinstance(message, Ready) and not self._closing:
            self._ready_at = asyncio.get_running_loop().time()
            if self._info is None:
                self._first_load_s = self._ready_at - self._spawned_at
            self._info, self._stats = message.info, message.stats
            self._set_state(EngineState.READY)

    # stalls

    def _note_sent(self) -> None:
        """The engine owes something, from now on if it did not before.

        Silence counts from the first thing that it left unanswered: callers that leave sooner than
        it counts as hung, one after the other, must not make it look alive.
        """
        if self._is_owed:
            return
        loop = asyncio.get_running_loop()
        self._is_owed, self._progress_at = True, loop.time()
        if self._stall_timer is None:
            self._stall_timer = loop.call_later(self._stall_s, self._check_progress)

    def _check_progress(self) -> None:
        """Runs once every `stall_s` at most, and not at all while nothing is owed."""
        self._stall_timer = None
        life = self._life
        if life is None or self._closing or not self._is_owed:
            return
        loop = asyncio.get_running_loop()
        left_s = self._progress_at + self._stall_s - loop.time()
        if left_s > 0:
            self._stall_timer = loop.call_later(left_s, self._check_progress)
            return
        self._end_hung(
            life, f"no step was finished for {self._stall_s:g} s with requests in flight"
        )

    def _check_load(self, life: EngineProcess, longest_s: float) -> None:
        if self._ready_at is None and not self._closing:
            self._end_hung(life, f"the model was not loaded again within {longest_s:g} s")

    def _end_hung(self, life: EngineProcess, reason: str) -> None:
        logger.error("%s; engine process %d is killed, its stacks follow", reason, life.pid)
        self._set_state(EngineState.STALLED, reason)
        life.dump_stacks()
        # Written by a signal handler of the process, so that a moment is enough for it.
        asyncio.get_running_loop().call_later(0.2, life.kill)

    def _cancel_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
