"""`InProcessClient`: an engine in this process, for callers with an event loop.

A thread steps the engine while requests are open. The engine shares the interpreter with its
callers and ends with them; a server for many clients is better off with `ProcessClient`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from contextlib import AbstractContextManager, nullcontext

from yaie.base.errors import EngineDied, EngineUnavailable, YaieError
from yaie.base.queries import ENGINE_ANSWER_S, Answer, Query
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    TokenDelta,
)
from yaie.client.local_client import LocalClient
from yaie.client.questions import within
from yaie.client.submission import Sink, Submission


class InProcessClient:
    """One loaded engine, which its owner closes. Implements `EngineClient`."""

    num_restarts = 0

    def __init__(self, engine: LocalClient, info: EngineInfo) -> None:
        self._engine = engine
        self._info = info
        self._state = EngineState.STARTING
        self._reason = ""
        self._open: dict[Submission, asyncio.AbstractEventLoop] = {}
        self._running: set[str] = set()  # ids without a last delta from the engine
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread: threading.Thread | None = None

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
        """Properties of the engine."""
        return self._info

    @property
    def stats(self) -> EngineStats:
        """Statistics after the latest step."""
        return self._engine.stats

    async def start(self) -> None:
        """Start the thread. A second call has no effect."""
        if self._thread is None and not self._is_closing:
            self._thread = threading.Thread(target=self._run, name="yaie-engine", daemon=True)
            self._thread.start()
            self._state = EngineState.READY

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Return the description. Raises `EngineUnavailable` unless started and open."""
        self._require_ready()
        return self._info

    def expect_request(self) -> AbstractContextManager[None]:
        """Surround the reading of a request, without effect."""
        return nullcontext()

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Send a request; `sink` receives its deltas on the event loop and must not raise.

        Raises `EngineUnavailable` unless the engine is ready, `InvalidRequest` if the id is in use.
        """
        self._require_ready()
        loop = asyncio.get_running_loop()

        def arrive(delta: TokenDelta) -> None:  # in the thread that steps
            with self._changed:
                if not inner.is_open:
                    self._running.discard(request.request_id)
            loop.call_soon_threadsafe(self._deliver, outer, delta)

        def abort(submission: Submission, index: int | None) -> None:
            if index is not None:
                inner.abort(index)
            else:
                self._open.pop(submission, None)
                with self._changed:
                    self._running.discard(request.request_id)
                self._engine.abandon([inner])
            self._wake()

        inner = self._engine.prepare(request, arrive)
        outer = Submission(inner.request, sink, abort)
        self._open[outer] = loop
        try:
            self._engine.send([inner])
        except YaieError:
            del self._open[outer]
            raise
        with self._changed:  # not before it is sent: a step without work is an error
            if inner.is_open:
                self._running.add(request.request_id)
            self._changed.notify_all()
        return outer

    def expect_prompt(self, prompt: ExpectedPrompt) -> None:
        """Have no effect: the thread steps only for requests.

        The owner may call the engine at any moment, and would wait for a step in progress.
        """

    async def ask(self, query: Query, timeout_s: float = ENGINE_ANSWER_S) -> Answer:
        """Ask the engine, and wait for the answer, which it gives between two steps.

        Raises `EngineUnavailable` unless the engine is ready, or after `timeout_s`;
        `InvalidRequest` for a wrong query.
        """
        self._require_ready()
        work = asyncio.get_running_loop().run_in_executor(None, self._engine.ask, query)
        return await within(work, timeout_s)

    async def close(self) -> None:
        """End the open requests and the thread; the engine stays loaded for its owner."""
        self._is_closing = True
        if self._state is not EngineState.FAILED:
            self._state, self._reason = EngineState.DEAD, "the engine was stopped"
        for submission in list(self._open):
            self._fail(submission, EngineUnavailable("the engine was stopped"))
        self._wake()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _require_ready(self) -> None:
        if self._state is not EngineState.READY:
            reason = f" ({self._reason})" if self._reason else ""
            raise EngineUnavailable(f"the engine is {self._state.value}{reason}")

    def _deliver(self, submission: Submission, delta: TokenDelta) -> None:
        """Give a delta to its caller, on the event loop."""
        if not submission.is_open:
            return
        sink = submission.sink
        if delta.finish_reason is not None:
            submission.unfinished.discard(delta.index)
        if delta.error is not None or not submission.unfinished:
            self._open.pop(submission, None)
            submission.end()
        sink(delta)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _has_work(self) -> bool:
        return bool(self._running) or self._engine.has_commands

    def _run(self) -> None:
        """Step the engine while a request is open."""
        while True:
            with self._changed:
                while not (self._is_closing or self._has_work()):
                    self._changed.wait()
            try:
                self._engine.wait_until(lambda: not self._has_work())
            except YaieError as error:
                self._end(error)
                return
            if self._is_closing:
                return

    def _end(self, error: YaieError) -> None:
        """End every request: the engine is dead."""
        self._state, self._reason = EngineState.FAILED, error.message
        for submission, loop in list(self._open.items()):
            with contextlib.suppress(RuntimeError):  # a loop that has ended
                loop.call_soon_threadsafe(self._fail, submission, EngineDied(error.message))

    def _fail(self, submission: Submission, error: YaieError) -> None:
        if not submission.is_open:
            return
        sink, request = submission.sink, submission.request
        submission.close()
        sink(
            TokenDelta(
                request_id=request.request_id,
                submission=request.submission,
                index=0,
                finish_reason="error",
                error=error.to_wire(),
            )
        )
