"""`ProcessClient`: the engine in a child process, restarted if it dies or hangs.

The server's client of the engine. It runs on one asyncio event loop, which never waits for a
step, and does not import torch.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from yaie.base.cache_changes import BlocksCleared, CacheChange
from yaie.base.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    YaieError,
)
from yaie.base.queries import ENGINE_ANSWER_S, Answer, Query
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, EngineState, ExpectedPrompt, GenerationRequest
from yaie.client.burst import Burst
from yaie.client.engine_client import log_sink_error
from yaie.client.engine_process import EngineProcess
from yaie.client.later_starts import LaterStarts
from yaie.client.questions import Questions, within
from yaie.client.submission import Sink, Submission, Submissions
from yaie.client.supervision import (
    MAX_BACK_OFF_S,
    BackOff,
    Clock,
    LoadWatch,
    LoopClock,
    StallWatch,
    sleep,
)
from yaie.client.wire import (
    Abort,
    Deltas,
    Expect,
    Failed,
    Ping,
    QueryReply,
    Ready,
    Shutdown,
    Submit,
    ToParent,
)
from yaie.process.session_work import SessionWork

logger = logging.getLogger(__name__)

SHUTDOWN_S = 0.3  # for an orderly end; nothing is lost by a kill
STACK_DUMP_S = 0.2  # between the signal for it and the kill; a signal handler writes the stacks


class Spawn(Protocol):
    """A function to start an engine process, such as `EngineProcess.spawn`."""

    def __call__(
        self, config: EngineConfig, on_message: Callable[[ToParent], None]
    ) -> Awaitable[EngineProcess]:
        """Start a process to load `config`, with its messages going to `on_message`."""


class ProcessClient:
    """One engine in a supervised child process. Implements `EngineClient`.

    An engine without a sign of life for `stall_s`, idle or busy, counts as hung: it writes its
    stacks to standard error, is killed and restarted. So is an engine with a far longer load than
    its first one; a first load without work for `stall_s` is ended. The state stays `STALLED`
    until an engine is ready again.

    A first start that fails is final (`FAILED`). A later death leads to a restart, after a pause.
    Pauses double from 0.1 s to 30 s until an engine answers a request or lives for 30 s. Restarts
    that have failed for `stall_s` count as a stall too.

    `on_cache_changes` receives blocks that the engine stores and removes, and `BlocksCleared` when
    the engine ends.
    """

    def __init__(
        self,
        config: EngineConfig,
        *,
        stall_s: float = 300.0,
        spawn: Spawn = EngineProcess.spawn,
        clock: Clock | None = None,
        on_cache_changes: Callable[[tuple[CacheChange, ...]], object] | None = None,
    ) -> None:
        self._starts = LaterStarts(config)
        self._on_cache_changes = on_cache_changes
        self._stall_s = stall_s
        self._spawn = spawn
        self._clock = clock or LoopClock()
        self._state = EngineState.STARTING
        self._reason = ""
        self._state_changed = asyncio.Event()
        self._info: EngineInfo | None = None
        self._stats = EngineStats()
        self._num_restarts = 0
        self._startup_failure: Failed | None = None
        self._submissions = Submissions(log_sink_error)
        self._questions = Questions()
        self._burst = Burst(self._clock)
        self._back_off = BackOff()
        self._stall_watch = StallWatch(
            self._clock,
            stall_s,
            count_beats=lambda: self._child.num_beats if self._child is not None else 0,
            ping=self._ping,
            on_stall=self._end_stalled,
        )
        self._load_watch = LoadWatch(
            self._clock, stall_s, measure_work=self._measure_work, on_stall=self._end_hung
        )
        self._child: EngineProcess | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._closing = False
        self._ready_at: float | None = None  # None until the present process is ready
        self._died_at = 0.0  # clock time of the last engine's end
        self._down_since: float | None = None  # clock time; None before the first engine's end
        self._has_answered = False  # the present process
        self._hang = ""  # why the present process is killed, if it hung

    @property
    def state(self) -> EngineState:
        """The engine's state now."""
        return self._state

    @property
    def state_reason(self) -> str:
        """One sentence on the state; may be empty."""
        return self._reason

    @property
    def info(self) -> EngineInfo | None:
        """Properties of the engine, once it was ready."""
        return self._info

    @property
    def stats(self) -> EngineStats:
        """The latest published statistics; each engine process counts from zero.

        A busy engine publishes them every 100 ms, an idle one after its last step.
        """
        return self._stats

    @property
    def num_restarts(self) -> int:
        """Number of engine restarts after a crash."""
        return self._num_restarts

    @property
    def pid(self) -> int | None:
        """Process id of the present engine process; None between two processes."""
        return self._child.pid if self._child is not None else None

    async def start(self) -> None:
        """Begin to start the engine and return at once. A second call returns at once."""
        if self._supervision is None and not self._closing:
            self._supervision = asyncio.create_task(self._supervise(), name="yaie-supervision")

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Wait until the engine is ready.

        Raises `StartupError` if the engine cannot start, `EngineStarting` after `timeout_s`,
        `EngineUnavailable` if the client is closed.
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

    def expect_request(self) -> AbstractContextManager[None]:
        """Surround the reading of a request, so that a burst starts in one step."""
        return self._burst.expect_request()

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Send a request; `sink` receives its deltas on the event loop and must not raise.

        A delta with an error ends the whole request, also when the engine dies. Raises
        `EngineUnavailable` unless the engine is ready, `InvalidRequest` if the id is in use or a
        value cannot be sent.
        """
        child = self._child
        if self._state is not EngineState.READY or child is None:
            raise self._unavailable()
        request = self._submissions.number(request)
        message = Submit.pack(request)
        is_idle = not self._submissions
        submission = Submission(request, sink, self._abort)
        self._submissions.add(submission)
        self._burst.send(lambda: child.send(message), is_idle=is_idle)
        return submission

    def expect_prompt(self, prompt: ExpectedPrompt) -> None:
        """Have the engine compute the beginning of a later prompt in its idle moments, if ready."""
        if self._state is EngineState.READY and self._child is not None:
            self._child.send(Expect(prompt))
            waiting = self._stats.num_expected_prompts + 1  # until it reports
            self._stats = replace(self._stats, num_expected_prompts=waiting)

    async def ask(self, query: Query, timeout_s: float = ENGINE_ANSWER_S) -> Answer:
        """Ask the engine, and wait for the answer, which it gives between two steps.

        Raises `EngineUnavailable` unless the engine is ready, if it dies meanwhile, or after
        `timeout_s`; `InvalidRequest` for a wrong query.
        """
        child = self._child
        if self._state is not EngineState.READY or child is None:
            raise self._unavailable()
        message, future = self._questions.ask(query)
        child.send(message)
        answer = await within(future, timeout_s)
        self._starts.note(query)
        return answer

    def _abort(self, submission: Submission, index: int | None) -> None:
        if index is None:
            self._submissions.remove(submission)
        self._burst.release()  # the request may still be delayed
        if self._child is not None:
            self._child.send(Abort(submission.request.request_id, index))

    def _ping(self) -> None:
        if self._child is not None:
            self._child.send(Ping())

    async def close(self) -> None:
        """Stop the engine process: by a message, then by a kill. A second call kills at once."""
        self._closing = True
        child, listens = self._child, self._state is EngineState.READY
        self._load_watch.stop()
        self._stall_watch.stop()
        if self._state is not EngineState.FAILED:
            self._set_state(EngineState.DRAINING, "the engine is being stopped")
        self._fail_all(EngineDraining("the engine was stopped"))
        try:
            if child is not None and listens:  # it does not while it loads or hangs
                child.send(Shutdown())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(child.wait(), SHUTDOWN_S)
        finally:
            if child is not None:
                child.kill()
            if self._supervision is not None:
                supervision, self._supervision = self._supervision, None
                if self._child is None:  # a pause before a restart, or a process being made
                    supervision.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await supervision
            if self._state is not EngineState.FAILED:
                self._set_state(EngineState.DEAD, "the engine was stopped")

    def _fail_all(self, error: YaieError) -> int:
        """End every request and question; return the number of requests."""
        self._questions.fail_all(error)
        return self._submissions.fail_all(error)

    def _set_state(self, state: EngineState, reason: str = "") -> None:
        self._state, self._reason = state, reason
        self._state_changed.set()
        self._state_changed = asyncio.Event()

    def _unavailable(self) -> EngineUnavailable:
        reason = f" ({self._reason})" if self._reason else ""
        if self._closing:
            return EngineDraining("the engine is stopped or being stopped")
        if self._state is EngineState.STARTING:
            return EngineStarting(f"the engine is starting{reason}; retry in a moment")
        if self._state is EngineState.FAILED:
            return EngineUnavailable(f"the engine could not start{reason}")
        return EngineDied(f"the engine is being restarted{reason}; retry in a moment")

    # -- supervision ----------------------------------------------------------------------------

    async def _supervise(self) -> None:
        while not self._closing:
            if self._state is not EngineState.STALLED:
                self._set_state(EngineState.STARTING, self._reason)
            cause, was_steady, failed = await self._run_once()
            if self._closing:
                return
            if self._info is None:  # it never was ready: another try would end the same way
                self._startup_failure = failed or Failed(
                    "StartupError", f"while it was starting, {cause}", 1
                )
                self._set_state(EngineState.FAILED, self._startup_failure.message)
                return
            if was_steady:
                self._back_off.reset()
            pause_s = self._back_off.next_s()
            self._set_state(self._state_after_death(), cause)
            logger.error("engine down: %s; restarting in %.1f s", cause, pause_s)
            await sleep(self._clock, pause_s)
            self._num_restarts += 1

    def _state_after_death(self) -> EngineState:
        """Return `STALLED` if the engine hung, or if restarts have failed for `stall_s`."""
        if self._down_since is None:
            self._down_since = self._died_at
        is_lasting = self._clock.time() - self._down_since >= self._stall_s
        is_stalled = is_lasting or self._state is EngineState.STALLED
        return EngineState.STALLED if is_stalled else EngineState.DEAD

    async def _run_once(self) -> tuple[str, bool, Failed | None]:
        """Run one engine process to its end.

        Returns the cause, True if the process served, and its final message.
        """
        self._ready_at, self._has_answered, self._hang = None, False, ""
        try:
            child = await self._spawn(self._starts.config(self._info), self._receive)
        except Exception as error:  # also for a setting without a wire form
            reason = f"no engine process could be started: {type(error).__name__}: {error}"
            return reason, False, Failed("StartupError", reason, 1)
        self._child = child
        self._load_watch.begin()  # not before: a limit that passes needs a process to kill
        if self._closing:  # close() came while the process was being made and did not see it
            child.kill()
        try:
            cause = await child.ended()
        finally:
            child.kill()
            self._child = None
            self._died_at = self._clock.time()
            self._load_watch.stop()
            self._stall_watch.stop()
            self._stats = EngineStats()
            self._report_changes((BlocksCleared(),))
        cause = self._hang or cause
        # Without this an engine dying as soon as it is ready would be reloaded without a pause.
        was_steady = self._has_answered or (
            self._ready_at is not None and self._clock.time() - self._ready_at >= MAX_BACK_OFF_S
        )
        num_lost = self._fail_all(EngineDied(f"{cause}; the request is lost, send it again"))
        if num_lost:
            lost = "1 request" if num_lost == 1 else f"{num_lost} requests"
            logger.error("lost %s in flight", lost)
        return cause, was_steady, child.failure

    def _receive(self, message: ToParent) -> None:
        self._stall_watch.heard()
        if isinstance(message, Deltas):
            self._stats = message.stats or self._stats
            self._has_answered = self._has_answered or bool(message.deltas)
            self._submissions.deliver(message.deltas)
            if message.cache_changes:
                self._report_changes(message.cache_changes)
        elif isinstance(message, QueryReply):
            self._has_answered = True
            self._questions.take(message)
        elif isinstance(message, Ready) and not self._closing:
            self._ready_at = self._clock.time()
            self._load_watch.loaded()
            if self._info is not None:
                logger.info("ready again after %.1f s", self._ready_at - self._died_at)
            self._info, self._stats = message.info, message.stats
            self._set_state(EngineState.READY)
            self._down_since = None
            self._stall_watch.start()

    def _report_changes(self, changes: tuple[CacheChange, ...]) -> None:
        if self._on_cache_changes is not None:
            self._on_cache_changes(changes)

    def _end_stalled(self) -> None:
        self._end_hung(f"the engine gave no sign of life for {self._stall_s:g} s")

    def _measure_work(self) -> SessionWork | None:
        return self._child.measure_work() if self._child is not None else None

    def _end_hung(self, reason: str) -> None:
        child = self._child
        if child is None or self._closing:
            return
        logger.error("%s; engine process %d is killed, its stacks follow", reason, child.pid)
        self._hang = reason
        self._set_state(EngineState.STALLED, reason)
        child.dump_stacks()
        asyncio.get_running_loop().call_later(STACK_DUMP_S, child.kill)
