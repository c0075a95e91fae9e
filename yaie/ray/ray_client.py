"""`RayClient`: the replicas of a deployment as one engine. Implements `EngineClient`.

Ray is behind two protocols, `Handle` and `Connect`; this module does not import it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from yaie.base.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    StartupError,
    YaieError,
)
from yaie.base.queries import ENGINE_ANSWER_S, Answer, Query
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    TokenDelta,
)
from yaie.client.engine_client import log_sink_error
from yaie.client.submission import Sink, Submission, Submissions
from yaie.kvcache.block_names import root_name, routing_names
from yaie.kvcache.node import as_tokens
from yaie.ray.engine_replica import ReplicaStatus, failure_of
from yaie.ray.relay import Relay, ReplicaStream
from yaie.ray.replica_totals import ReplicaTotals, merge_answers, whole_info
from yaie.ray.route import Route
from yaie.ray.router_metrics import RouterLog

logger = logging.getLogger(__name__)

POLL_S = 0.5
STATUS_S = 10.0  # limit of a replica's answer


class Handle(Protocol):
    """Replicas of one deployment, as `RayClient` uses them."""

    def generate(self, packed: bytes, route: Route) -> ReplicaStream:
        """Send a request to the replica that the router chooses."""

    def expect(self, prompt: ExpectedPrompt, route: Route) -> None:
        """Send an expected prompt to the replica that the router chooses."""

    async def ask_all(self, method: str, *arguments: Any, timeout_s: float) -> list[Any]:
        """Call a method of every replica; return results and exceptions.

        Raises an exception if no replica runs.
        """


class Connection(Protocol):
    """Access to a deployment."""

    async def open(self) -> Handle:
        """Start or find the deployment. Raises `StartupError`."""

    async def check(self, *, is_starting: bool) -> None:
        """Raise `StartupError` if the deployment cannot start, `EngineDied` if Ray has ended."""

    async def close(self) -> None:
        """Give up the deployment, if it was started here."""


class RayClient:
    """Replicas of one engine. A replica that starts or stops changes nothing for callers."""

    def __init__(self, config: EngineConfig, connection: Connection, log: RouterLog) -> None:
        self._config = config
        self._connection = connection
        self._log = log
        self._handle: Handle | None = None
        self._state, self._reason = EngineState.STARTING, ""
        self._state_changed = asyncio.Event()
        self._failure: YaieError | None = None
        self._info: EngineInfo | None = None
        self._stats = EngineStats()
        self._totals = ReplicaTotals()
        self._submissions = Submissions(log_sink_error)
        self._relays: dict[Submission, tuple[Relay, asyncio.Task[None]]] = {}
        self._others: set[asyncio.Task[Any]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._closing = False
        self.replicas: tuple[ReplicaStatus, ...] = ()  # that answered the last poll
        log.replicas = lambda: self.replicas

    @property
    def state(self) -> EngineState:
        """State of the replicas together: ready while one is."""
        return self._state

    @property
    def state_reason(self) -> str:
        """One sentence on the state; may be empty."""
        return self._reason

    @property
    def info(self) -> EngineInfo | None:
        """Properties of an engine, with the sizes of all together; once one was ready."""
        return self._info

    @property
    def stats(self) -> EngineStats:
        """Totals over the replicas, at most half a second old."""
        return self._stats

    @property
    def num_restarts(self) -> int:
        """Number of engine restarts in the present replicas."""
        return sum(each.num_restarts for each in self.replicas)

    async def start(self) -> None:
        """Begin to watch the replicas, started if need be. A second call returns at once."""
        if self._watching is None and not self._closing:
            self._watching = asyncio.create_task(self._watch(), name="yaie-replicas")

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Wait until a replica is ready.

        Raises `StartupError` if they cannot start, `EngineStarting` after `timeout_s`,
        `EngineUnavailable` if the client is closed.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while self._state is not EngineState.READY:
                    if self._failure is not None:
                        raise self._failure
                    if self._closing:
                        raise self._unavailable()
                    await self._state_changed.wait()
        except TimeoutError:
            raise EngineStarting(f"no replica was ready within {timeout_s:g} s") from None
        assert self._info is not None
        return self._info

    def expect_request(self) -> AbstractContextManager[None]:
        """Surround the reading of a request, without effect."""
        return contextlib.nullcontext()

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Send a request; see `EngineClient`. Raises `EngineUnavailable` unless one is ready."""
        handle = self._handle
        if self._state is not EngineState.READY or handle is None:
            raise self._unavailable()
        request = self._submissions.number(request)
        submission = Submission(request, sink, self._abort)
        self._submissions.add(submission)
        relay = Relay(
            request,
            send=handle.generate,
            names=self._names,
            deliver=lambda delta: self._deliver(submission, relay, delta),
            count_replicas=lambda: len(self.replicas),
            log=self._log,
        )
        task = asyncio.create_task(relay.run(), name=f"yaie-relay {request.request_id}")
        self._relays[submission] = relay, task
        task.add_done_callback(lambda done: self._end_task(submission, done))
        return submission

    def expect_prompt(self, prompt: ExpectedPrompt) -> None:
        """Have the replica that knows most of a later prompt compute its beginning, if ready."""
        if self._state is EngineState.READY and self._handle is not None:
            names = self._routing_names(prompt.token_ids, prompt.owner, prompt.cache_salt)
            self._handle.expect(prompt, Route(names, len(prompt.token_ids)))

    async def ask(self, query: Query, timeout_s: float = ENGINE_ANSWER_S) -> Answer:
        """Ask every replica; return the answers as one. Raises as `EngineClient.ask`."""
        if self._state is not EngineState.READY:
            raise self._unavailable()
        answers = await self._ask_all("ask", query, timeout_s=timeout_s)
        good = [each for each in answers if not isinstance(each, BaseException)]
        if good:
            return merge_answers(good)
        raise failure_of(answers[0]) or EngineDied("the replicas were lost; ask again")

    async def close(self) -> None:
        """End every request and the watch, and the replicas that were started here."""
        self._closing = True
        self._set_state(EngineState.DRAINING, "the replicas are being stopped")
        self._submissions.fail_all(EngineDraining("the engine was stopped"))
        tasks = [*(task for _, task in self._relays.values()), *self._others]
        if self._watching is not None:
            tasks.append(self._watching)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._connection.close()
        if self._failure is None:
            self._set_state(EngineState.DEAD, "the replicas were stopped")

    def _names(self, request: GenerationRequest) -> list[int]:
        return self._routing_names(request.prompt_token_ids, request.owner, request.cache_salt)

    def _routing_names(self, token_ids: Sequence[int], owner: str, salt: str) -> list[int]:
        if not self._config.prefix_cache:
            return []
        root = root_name(self._config.model_name, (owner, salt))
        return routing_names(as_tokens(token_ids), root)

    def _deliver(self, submission: Submission, relay: Relay, delta: TokenDelta) -> None:
        submission.replica = relay.replica
        self._submissions.deliver((delta,))

    def _end_task(self, submission: Submission, task: asyncio.Task[None]) -> None:
        del self._relays[submission]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a relay failed; its request is ended", exc_info=error)
            self._last_delta(submission, EngineDied("the request was lost; send it again"))

    def _abort(self, submission: Submission, index: int | None) -> None:
        relay, task = self._relays.get(submission, (None, None))
        if relay is not None and index is not None and submission.request.sampling.n > 1:
            self._run(self._ask_all("abort", relay.sent_id, index, timeout_s=STATUS_S))
            return
        if index is not None:  # its last delta reports it
            self._last_delta(submission, None)
        self._submissions.remove(submission)
        if task is not None:
            task.cancel()

    def _last_delta(self, submission: Submission, error: YaieError | None) -> None:
        request = submission.request
        self._submissions.deliver(
            [
                TokenDelta(
                    request_id=request.request_id,
                    submission=request.submission,
                    index=0,
                    finish_reason="abort" if error is None else "error",
                    error=None if error is None else error.to_wire(),
                )
            ]
        )

    def _run(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _ask_all(self, method: str, *arguments: Any, timeout_s: float) -> list[Any]:
        if self._handle is None:
            raise self._unavailable()
        try:
            return await self._handle.ask_all(method, *arguments, timeout_s=timeout_s)
        except TimeoutError:
            raise EngineUnavailable(f"a replica did not answer within {timeout_s:g} s") from None
        except Exception as error:
            raise EngineDied(f"no replica answers ({error})") from None

    def _set_state(self, state: EngineState, reason: str = "") -> None:
        self._state, self._reason = state, reason
        self._state_changed.set()
        self._state_changed = asyncio.Event()

    def _unavailable(self) -> EngineUnavailable:
        reason = f" ({self._reason})" if self._reason else ""
        if self._closing:
            return EngineDraining("the engine is stopped or being stopped")
        if self._state is EngineState.FAILED:
            return EngineUnavailable(self._reason)
        if self._info is None:
            return EngineStarting(f"the replicas are starting{reason}; retry in a moment")
        return EngineDied(f"no replica is ready{reason}; retry in a moment")

    # -- the watch ------------------------------------------------------------------------------

    async def _watch(self) -> None:
        try:
            self._handle = await self._connection.open()
        except YaieError as error:
            self._fail(error)
            return
        except Exception as error:
            logger.exception("the replicas could not be started")
            self._fail(StartupError(f"the replicas could not start: {error}"))
            return
        last = ""
        while True:
            try:
                await self._poll()
                last = ""
            except (StartupError, EngineDied) as error:
                self._fail(error)
                return
            except Exception as error:  # Ray may be busy or gone; the next poll tells
                if repr(error) != last:  # once
                    logger.warning("the state of the replicas is unknown", exc_info=error)
                last = repr(error)
            await asyncio.sleep(POLL_S)

    async def _poll(self) -> None:
        await self._connection.check(is_starting=self._info is None)
        try:
            found = await self._ask_all("status", timeout_s=STATUS_S)
        except EngineUnavailable as error:
            if self._state is EngineState.READY and not isinstance(error, EngineDied):
                return  # a replica hangs: all other replicas serve until Ray replaces it
            found, reason = [], error.message
        else:
            reason = ""
        statuses = tuple(each for each in found if isinstance(each, ReplicaStatus))
        _log_changes(self.replicas, statuses)
        self.replicas = statuses
        self._stats = self._totals.update(statuses)
        info = whole_info(statuses)
        if info is not None:
            # The same object while nothing changes: callers keep what they derive from it.
            self._info = self._info if info == self._info else info
            if self._state is not EngineState.READY:
                self._set_state(EngineState.READY)
            return
        if statuses:
            reason = next((each.reason for each in statuses if each.reason), "")
        state = EngineState.STARTING if self._info is None else EngineState.DEAD
        shown = "" if self._info is None else reason
        if (state, shown) != (self._state, self._reason):
            self._set_state(state, shown)

    def _fail(self, error: YaieError) -> None:
        self._failure = error
        self._set_state(EngineState.FAILED, error.message)
        self._submissions.fail_all(EngineDied(error.message))
        for _, task in self._relays.values():
            task.cancel()


def _log_changes(before: Sequence[ReplicaStatus], now: Sequence[ReplicaStatus]) -> None:
    """Log which replicas have become ready, and which are no longer."""
    was_ready, is_ready = (
        {each.replica for each in every if each.state is EngineState.READY}
        for every in (before, now)
    )
    for name in sorted(is_ready - was_ready):
        logger.info("replica %s is ready; ready replicas: %d", name, len(is_ready))
    for name in sorted(was_ready - is_ready):
        reason = next((each.reason for each in now if each.replica == name), "it has ended")
        logger.warning("replica %s is gone (%s); ready replicas: %d", name, reason, len(is_ready))
