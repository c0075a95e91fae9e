"""What the routes work with: the engine's client, the tokenizer, and whether requests are taken.

One per application, started and stopped by the lifespan in `app.py`. Starting returns at once, so
that the port is bound and probes are answered while weights load.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from server.bodies import Body
from server.errors import timed_out
from server.generation import Generation
from server.metrics import Metrics, Snapshot
from server.translate import Call, Translator
from yaie.client.base import EngineClient
from yaie.config import EngineConfig, Settings
from yaie.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    StartupError,
    YaieError,
)
from yaie.models.folder import names_repository, open_folder
from yaie.models.folder_process import find_folder
from yaie.text.tokenizer import Tokenizer, load_tokenizer
from yaie.types import EngineInfo, EngineState, EngineStats

logger = logging.getLogger(__name__)

TEXT_THREADS = 2
WRITING_THREADS = 2  # of their own: requests must not wait until large answers are written
_Result = TypeVar("_Result")


class Service:
    """The state of one application.

    `make_client` builds the engine's client once the model's folder is known; `on_fatal` is
    told why when the engine cannot start, which trying again would not change.
    """

    def __init__(
        self,
        settings: Settings,
        make_client: Callable[[EngineConfig], EngineClient],
        on_fatal: Callable[[YaieError], None],
    ) -> None:
        self.settings = settings
        self.metrics = Metrics(self._snapshot)
        self.failure: YaieError | None = None
        self.is_draining = False
        self.started_at = int(time.time())
        self._make_client = make_client
        self._on_fatal = on_fatal
        self._client: EngineClient | None = None
        self._tokenizer: Tokenizer | None = None
        self._translator: Translator | None = None
        self._translates_for: EngineInfo | None = None
        self._starting: asyncio.Task[None] | None = None
        self._active: set[Generation] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._threads = ThreadPoolExecutor(TEXT_THREADS, thread_name_prefix="yaie-text")
        self._writers = ThreadPoolExecutor(WRITING_THREADS, thread_name_prefix="yaie-write")

    @property
    def model(self) -> str:
        """The name that the model is served under."""
        return self.settings.served_model_name or self.settings.model

    @property
    def state(self) -> EngineState:
        """The engine's state, as far as requests are concerned."""
        if self.failure is not None:
            return EngineState.FAILED
        if self.is_draining:
            return EngineState.DRAINING
        if self._client is None:
            return EngineState.STARTING
        if self._tokenizer is None and self._client.state is EngineState.READY:
            return EngineState.STARTING
        return self._client.state

    @property
    def state_reason(self) -> str:
        """One sentence on the state, empty when there is nothing to say."""
        if self.failure is not None:
            return self.failure.message
        return "" if self._client is None else self._client.state_reason

    @property
    def info(self) -> EngineInfo | None:
        """What the engine said when it became ready; None before that."""
        return None if self._client is None else self._client.info

    @property
    def stats(self) -> EngineStats:
        """The engine's latest statistics."""
        return EngineStats() if self._client is None else self._client.stats

    @property
    def num_restarts(self) -> int:
        """How often the engine died and was started again."""
        return 0 if self._client is None else self._client.num_restarts

    @property
    def num_active(self) -> int:
        """Completion requests that are not answered completely."""
        return len(self._active)

    def start(self) -> None:
        """Begin to start the engine and to load the tokenizer; returns at once."""
        self._starting = asyncio.create_task(self._start(), name="yaie-start")

    async def _start(self) -> None:
        try:
            if names_repository(self.settings.model):
                path = await find_folder(self.settings.model)
            else:
                path = (await self.in_thread(open_folder, self.settings.model)).path
            config = self.settings.engine_config()
            # The folder is found once, for both processes; the name stays what it was.
            self._client = self._make_client(
                replace(config, model=str(path), served_model_name=self.model)
            )
            await self._client.start()
            self._tokenizer = await self.in_thread(load_tokenizer, path)
            info = await self._client.wait_ready()
            numbers = info.dtype + (f", {info.quantization}" if info.quantization else "")
            logger.info("ready: %s (%s, %s) on %s", info.model, info.architecture, numbers,
                        info.device)  # fmt: skip
        except EngineUnavailable as error:
            logger.info("the start was given up: %s", error.message)  # closed, or restarting
        except YaieError as error:
            self._give_up(error)
        except Exception as error:
            logger.exception("the start failed")
            self._give_up(StartupError(f"the start failed: {type(error).__name__}: {error}"))

    def _give_up(self, error: YaieError) -> None:
        if self._client is None:  # else the client has said so
            logger.error("cannot serve %s: %s", self.model, error.message)
        self.failure = error
        self._on_fatal(error)

    async def stop(self) -> None:
        """End every request, stop the engine and the threads."""
        self.is_draining = True
        for generation in list(self._active):
            generation.fail(EngineDraining("the server was stopped"))
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        for threads in (self._threads, self._writers):
            threads.shutdown(wait=False, cancel_futures=True)

    async def drain(self) -> None:
        """Take no more requests; wait until those in flight are answered, `drain_s` at most."""
        self.is_draining = True
        if self._active:
            logger.info("draining: %d requests in flight", len(self._active))
        try:
            await asyncio.wait_for(self._idle.wait(), self.settings.drain_s)
        except TimeoutError:
            self.end_all()

    def end_all(self) -> None:
        """End what is in flight with an error: the time to drain is over, or nobody will wait."""
        if self._active:
            logger.warning("%d requests are ended by the shutdown", len(self._active))
        for generation in list(self._active):
            generation.fail(
                EngineDraining("the server is shutting down, and did not wait for the whole answer")
            )

    def translator(self) -> Translator:
        """What turns bodies into calls. Raises `EngineUnavailable` while nothing is served."""
        self.check_available()
        info = self.info
        assert info is not None and self._tokenizer is not None
        if self._translator is None or self._translates_for is not info:
            self._translator = Translator(self._tokenizer, info)
            self._translates_for = info
        return self._translator

    def expect_request(self) -> AbstractContextManager[None]:
        """Announce a completion request while it is read, so that an idle engine waits for it."""
        return nullcontext() if self._client is None else self._client.arriving()

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer. Only for requests that `check_available` let pass."""
        assert self._tokenizer is not None
        return self._tokenizer

    def check_available(self) -> None:
        """Raise the `EngineUnavailable` that says why no request is taken now, if so."""
        state, reason = self.state, self.state_reason
        because = f": {reason}" if reason else ""
        if state is EngineState.READY:
            return
        if state is EngineState.STARTING:
            raise EngineStarting(f"the model is still loading; try again in a moment{because}")
        if state is EngineState.DRAINING:
            raise EngineDraining("the server is shutting down and takes no new requests")
        if state is EngineState.FAILED:
            raise EngineUnavailable(f"the engine could not start{because}")
        raise EngineDied(f"the engine is down and is being restarted{because}")

    async def translate(
        self, translate: Callable[[Translator, Body], Call], body: Body, deadline: float
    ) -> Call:
        """What a body asks for, worked out in a text thread until `deadline`, of the loop's clock.

        Work that is cancelled before its turn came is not done.
        """
        try:
            async with asyncio.timeout_at(deadline):
                return await self.in_thread(translate, self.translator(), body)
        except TimeoutError:
            raise timed_out(self.settings.request_timeout_s) from None

    def open(self, call: Call, http_id: str, deadline: float) -> Generation:
        """Start a call in the engine; the caller must close what it gets.

        `http_id`: what the answer carries as X-Request-ID, for the log. `deadline`: of the loop's
        clock; the call ends there.
        """
        self.check_available()  # tokenizing took a while
        assert self._client is not None
        generation = Generation(
            call,
            self._client,
            http_id=http_id,
            tokenizer=self.tokenizer,
            metrics=self.metrics,
            deadline=deadline,
            timeout_s=self.settings.request_timeout_s,
            on_close=self._closed,
        )
        generation.start()
        self._active.add(generation)
        self._idle.clear()
        return generation

    async def in_thread(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Run text work without holding up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def write_in_thread(self, write: Callable[[], bytes]) -> bytes:
        """Write an answer that takes long, without holding up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, write)

    def _closed(self, generation: Generation) -> None:
        self._active.discard(generation)
        if not self._active:
            self._idle.set()

    def _snapshot(self) -> Snapshot:
        return self.state, self.info, self.stats, self.num_restarts
