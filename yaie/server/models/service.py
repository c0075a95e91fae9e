"""State of one application: its models by name, and their shared resources.

Started and stopped by the lifespan in `app.py`. The start returns at once: the port is bound and
probes are answered while weights load.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import HTTPConnection
from starlette.types import Receive

from yaie.base.errors import EngineDraining, EngineUnavailable, StartupError, YaieError
from yaie.base.served_models import engine_configs
from yaie.base.settings import EngineConfig, Settings
from yaie.base.types import EngineState
from yaie.client.engine_client import EngineClient
from yaie.server.http.api_keys import Keyring
from yaie.server.http.body_memory import BodyMemory
from yaie.server.http.http_errors import timeout_error
from yaie.server.metrics.adapter_metrics import AdapterMetrics
from yaie.server.metrics.prometheus import Metrics, Snapshot
from yaie.server.metrics.service_collector import ServiceCollector, ServiceFacts
from yaie.server.metrics.status import ServerStatus, StatusLog, status_of
from yaie.server.models.active_calls import ActiveCalls
from yaie.server.models.model_pool import ModelPool
from yaie.server.models.next_turn_prefill import NextTurnPrefill
from yaie.server.models.request_hook import RequestHook
from yaie.server.models.response_cache import ResponseCache
from yaie.server.models.served_model import (
    Residence,
    ServedModel,
    check_adapter_names,
    find_model,
    snapshots_of,
)
from yaie.server.replies.delivery import unless_gone
from yaie.server.replies.detokenize_budget import DetokenizeBudget
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation
from yaie.server.replies.unread_tokens import UnreadMemory
from yaie.server.requests.call import Call, Caller
from yaie.server.requests.request_defaults import RequestDefaults
from yaie.server.requests.translator import Translator
from yaie.text.template_renderer import MAX_PROCESSES
from yaie.text.text_threads import TextThreads

logger = logging.getLogger(__name__)

WRITING_THREADS = 2  # separate: requests must not wait behind large responses
Hook = Callable[[], Awaitable[object]]
_NOT_ALIVE = (EngineState.FAILED, EngineState.STALLED)
_Body = TypeVar("_Body")
_Result = TypeVar("_Result")


class Service:
    """Models, requests in flight, metrics and threads of one application.

    `make_client` builds the engine client of a model. `on_fatal` is called with the error if an
    engine cannot start; a retry would not help.
    """

    def __init__(
        self,
        settings: Settings,
        make_client: Callable[[EngineConfig], EngineClient],
        on_fatal: Callable[[YaieError], None],
    ) -> None:
        self.settings = settings
        self.hooks: list[RequestHook] = []
        self.at_stop: list[Callable[[], None]] = []
        self.at_reload: list[Callable[[], None]] = []  # at SIGHUP
        self.at_drain: list[Hook] = []  # ends of work without a waiting client
        self.keyring = Keyring(settings)
        self.metrics = Metrics(self.snapshots, settings.kv_block_size)
        self._detokenize_budget = DetokenizeBudget()
        self._unread_memory = UnreadMemory()
        self.body_memory = BodyMemory(settings.max_body_bytes)
        self.is_draining = False
        self.was_cut_short = False  # a second signal ended requests in flight
        self.started_at = time.time()  # unix time, seconds
        self.rate = self.metrics.rate
        self._status_log = StatusLog()
        registry = self.metrics.registry
        self.response_cache = ResponseCache(settings, registry)
        ServiceCollector(self._facts, self.rate).register(registry)
        self._adapter_metrics = AdapterMetrics(registry)
        self._on_fatal = on_fatal
        self._starting: list[asyncio.Task[None]] = []
        self.active = ActiveCalls()
        self._later: set[asyncio.Task[None]] = set()
        self.next_turn_prefill = NextTurnPrefill(
            lambda: self.active.is_idle, is_on=settings.prepare_turns
        )
        self._text_threads = TextThreads(settings.text_threads, num_waiting=MAX_PROCESSES)
        self.run_in_thread = self._text_threads.run
        self._writers = ThreadPoolExecutor(WRITING_THREADS, thread_name_prefix="yaie-write")
        served = [
            ServedModel(config, make_client, self.run_in_thread, RequestDefaults.of(settings))
            for config in engine_configs(settings)
        ]
        check_adapter_names(served)
        self.models = {model.name: model for model in served}
        self.model_pool = ModelPool(served, settings.memory_bytes, settings.unload_idle_s)

    def model(self, name: str | None = None) -> ServedModel:
        """Return a model by name, by default the first. Raises `UnknownModel`.

        An empty name is a default too: clients send it for an unset option. The tag `:latest` is
        optional, as for Ollama's clients.
        """
        if not name:
            return next(iter(self.models.values()))
        return find_model(self.models.values(), name)

    def snapshots(self) -> dict[str, Snapshot]:
        """Return the engines at this moment by model name, for a scrape."""
        return snapshots_of(self.models, self.state)

    @property
    def failure(self) -> YaieError | None:
        """Error of a failed start, if any."""
        return self._decisive_model.failure

    @property
    def state(self) -> EngineState:
        """State of the whole service: ready when every model is that is to be in memory."""
        state = self._decisive_model.state
        if state is EngineState.UNLOADED:
            state = EngineState.READY
        is_draining = self.is_draining and state not in _NOT_ALIVE
        return EngineState.DRAINING if is_draining else state

    @property
    def is_alive(self) -> bool:
        """False if an engine cannot start, hung, or cannot be restarted."""
        return self.state not in _NOT_ALIVE

    @property
    def status(self) -> ServerStatus:
        """Status of the service; a change is logged."""
        status = status_of(self.state, is_full=self.is_full)
        self._status_log.see(status, self.state_reason)
        return status

    @property
    def is_full(self) -> bool:
        """True if a model's waiting queue is full."""
        return any(model.is_full for model in self.models.values())

    @property
    def num_waiting(self) -> int:
        """Waiting requests of all models."""
        return sum(model.stats.num_waiting for model in self.models.values())

    @property
    def state_reason(self) -> str:
        """One sentence on the state; empty for a normal one."""
        return self._decisive_model.state_reason

    @property
    def num_restarts(self) -> int:
        """Number of times an engine died and was started again."""
        return sum(model.num_restarts for model in self.models.values())

    @property
    def num_running(self) -> int:
        """Live sequences of all models."""
        return sum(model.stats.num_running for model in self.models.values())

    def start(self, before: Hook | None = None) -> None:
        """Begin to start every model, unless each is loaded at its first request; return.

        `before` runs first. Its error fails the start.
        """
        if before is not None:
            for model in self.models.values():
                model.residence = Residence.STARTING
            self._starting = [asyncio.create_task(self._start_after(before), name="yaie-hook")]
            return
        if self.settings.lazy_load:
            return
        for model in self.models.values():
            model.residence = Residence.STARTING
        _ = self.status
        self._starting = [
            asyncio.create_task(self._start(model), name=f"yaie-start {model.name}")
            for model in self.models.values()
        ]

    async def _start_after(self, hook: Hook) -> None:
        try:
            await hook()
        except Exception as error:
            logger.exception("the on_startup hook failed")
            self.fail(StartupError(f"on_startup failed: {type(error).__name__}: {error}"))
            return
        for model in self.models.values():
            model.residence = Residence.ABSENT
        self.start()

    async def _start(self, model: ServedModel) -> None:
        try:
            await self.model_pool.start(model)
            _ = self.status
        except EngineUnavailable as error:  # closed, or restarting
            logger.info("stopped waiting for %s: %s", model.name, error.message)
        except YaieError as error:
            self._fail(model, error)
        except Exception as error:
            logger.exception("%s failed to start", model.name)
            reason = f"{model.name} failed to start: {type(error).__name__}: {error}"
            self._fail(model, StartupError(reason))

    def fail(self, error: YaieError) -> None:
        """End the service: it cannot start, and a retry would not help."""
        for model in self.models.values():
            model.failure = error
        self._on_fatal(error)

    def _fail(self, model: ServedModel, error: YaieError) -> None:
        model.failure = error
        self._on_fatal(error)

    async def stop(self) -> None:
        """End every request; stop the engines and the threads."""
        self.is_draining = True
        self.next_turn_prefill.stop()
        self.active.fail(EngineDraining("the server was stopped"))
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, *self._later, return_exceptions=True)
        await self.model_pool.stop()
        await asyncio.gather(*(model.close() for model in self.models.values()))
        for end in self.at_stop:
            end()
        self._text_threads.close()
        self._writers.shutdown(wait=False, cancel_futures=True)

    async def drain(self) -> None:
        """Refuse new requests and wait for those in flight, at most `drain_s` seconds."""
        self.is_draining = True
        _ = self.status
        for end in self.at_drain:
            await end()
        if self.active:
            logger.info("draining: %s in flight", _requests(len(self.active)))
        try:
            await self.active.wait_idle(self.settings.drain_s)
        except TimeoutError:
            self.end_all()

    def end_all(self) -> None:
        """End the requests in flight with an error: the drain timed out or was cut short."""
        if self.active:
            logger.warning("the shutdown ends %s in flight", _requests(len(self.active)))
        self.active.fail(EngineDraining("the server shut down before the answer was complete"))

    @contextlib.contextmanager
    def expect_request(self) -> Iterator[None]:
        """Announce a completion request while it is read: idle engines wait for it."""
        with contextlib.ExitStack() as stack:
            for model in self.models.values():
                stack.enter_context(model.expect_request())
            yield

    def owner(self, request: HTTPConnection) -> str:
        """Return the cache owner of a request; empty if all keys share prefixes."""
        return "" if self.settings.share_cache else self.tenant(request)

    def tenant(self, request: HTTPConnection) -> str:
        """Return the tenant of a request's key; empty without a key."""
        tenant: str = getattr(request.state, "tenant", "")
        return tenant

    def shows_held(self, request: HTTPConnection) -> bool:
        """Return True if only the request's key has texts in its namespace.

        Without keys everyone is one tenant.
        """
        return bool(self.owner(request)) or not self.settings.has_keys

    def check_available(self, model: ServedModel) -> None:
        """Raise `EngineUnavailable` with the reason unless the model takes requests."""
        self._check_serving(model)
        model.check_available()

    def _check_serving(self, model: ServedModel) -> None:
        if self.is_draining and model.failure is None:
            raise EngineDraining("the server is shutting down and takes no new requests")

    async def translate(
        self,
        model: ServedModel,
        translate: Callable[[Translator, _Body], _Result],
        body: _Body,
        deadline: float,
        caller: Caller | None = None,
        *,
        tenant: str = "",
        num_bytes: int | None = None,
    ) -> _Result:
        """Return a body's call or tokens, computed in a text thread until `deadline` (loop time).

        `tenant` and `num_bytes`: see `TextThreads.run`.
        Work cancelled before its turn is skipped.
        """
        self._check_serving(model)
        translator = model.translator()  # checks that the model is available
        if caller is not None:
            translator = translator.for_caller(caller)
        try:
            async with asyncio.timeout_at(deadline):
                return await self.run_in_thread(
                    translate,
                    translator,
                    body,
                    tenant=tenant,
                    num_bytes=num_bytes,
                )
        except TimeoutError:
            raise timeout_error(self.settings.request_timeout_s) from None

    async def use(
        self, model: ServedModel, receive: Receive, deadline: float
    ) -> contextlib.ExitStack:
        """Use a model, loading it first if needed; `deadline`: loop time.

        Raises `EngineUnavailable`, `RequestTimedOut`, or `ClientGone` for a client that leaves.
        """
        used = contextlib.ExitStack()
        with self.model_pool.waiting(model):
            while not model.is_resident:
                try:
                    async with asyncio.timeout_at(deadline):
                        await unless_gone(receive, self.model_pool.load(model))
                except TimeoutError:
                    raise timeout_error(self.settings.request_timeout_s) from None
            used.enter_context(self.model_pool.use(model))
        return used

    def open(
        self,
        model: ServedModel,
        call: Call,
        http_id: str,
        deadline: float,
        *,
        timeout_s: float | None = None,
        load_s: float = 0.0,
        num_bytes: int = 0,
    ) -> Generation:
        """Start a call in the model's engine; the caller must close the returned generation.

        `http_id`: the X-Request-ID. `deadline`: loop time of the timeout,
        `timeout_s` later than the request. `load_s`: seconds that it waited for the model's load.
        `num_bytes`: of its body, with the stored items that the body names.
        """
        self.check_available(model)  # may have changed while the prompt was tokenized
        generation = Generation(
            call,
            self.response_cache.submitter(model.name, model.client, call),
            http_id=http_id,
            tokenizer=model.tokenizer,
            metrics=self.metrics,
            budget=self._detokenize_budget,
            memory=self._unread_memory,
            deadline=deadline,
            timeout_s=timeout_s or self.settings.request_timeout_s,
            stream_interval=self.settings.stream_interval,
            load_s=load_s,
        )
        client = model.client

        def forget(ended: EndedCall) -> None:
            self.active.discard(generation)
            if adapter := call.requests[0].adapter:
                lost = ended.is_lost
                self._adapter_metrics.note(model.name, adapter, ended.usage, is_lost=lost)
            self.next_turn_prefill.add(client, ended.turn, num_bytes)
            if self.active.is_idle:
                self.next_turn_prefill.resume()
            self.model_pool.leave(model)

        generation.start()
        self.model_pool.enter(model)
        generation.at_close.append(forget)
        self.active.add(generation)
        return generation

    def run_later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work without a waiting client. `stop` waits for its end."""
        task = asyncio.create_task(work)
        self._later.add(task)  # the event loop itself holds tasks weakly
        task.add_done_callback(self._later.discard)

    async def write_in_thread(self, write: Callable[[], bytes]) -> bytes:
        """Run `write`, the serialization of a large reply, in a writing thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, write)

    @property
    def _decisive_model(self) -> ServedModel:
        """Model that decides the service's state: a failed or hung one, else one not ready."""
        models = list(self.models.values())
        failed = (model for model in models if model.state in _NOT_ALIVE)
        good = (EngineState.READY, EngineState.UNLOADED)
        waiting = (model for model in models if model.is_resident and model.state not in good)
        return next(failed, None) or next(waiting, models[0])

    def _facts(self) -> ServiceFacts:
        pids = {name: model.pid for name, model in self.models.items()}
        return ServiceFacts(self.status, self.started_at, pids)


def _requests(number: int) -> str:
    return f"{number} request" + ("" if number == 1 else "s")
