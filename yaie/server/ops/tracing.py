"""OpenTelemetry traces of generating requests, with the extra `otel`.

A request is a span, and its steps are spans below it: read, load, translate, queue, prefill, decode
and write. Names and attributes follow the conventions for generative AI and contain no prompt and
no answer. Without a collector nothing is imported, and `NO_TRACE` stands in.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yaie.base.errors import ConfigError, YaieError
from yaie.base.own_package import install_command, read_version
from yaie.base.server_settings import ServerConfig
from yaie.base.types import SAMPLING_FIELDS, SamplingParams
from yaie.server.http.http_errors import route_path
from yaie.server.models.request_hook import ReadRequest, RequestHook
from yaie.server.models.response_cache import Replay
from yaie.server.ops.trace_export import WatchedExporter
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation
from yaie.server.requests.call import Call
from yaie.server.requests.comparison import CacheNotes

logger = logging.getLogger(__name__)

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FLUSH_S = 1.0  # limit of the last export: a silent collector must not hold up the end
_NS = 1_000_000_000
_DEFAULTS = SamplingParams()
_ALWAYS = frozenset({"max_tokens", "temperature"})  # shown with their defaults too
_CONVENTIONS = {"n": "choice.count"}  # where a parameter has another name there
_GOOD = frozenset({"stop", "length", "abort", "disconnect"})  # outcomes without a fault here


def tracing_of(settings: ServerConfig) -> Tracing | None:
    """Return the tracing that settings or environment ask for. Raises `ConfigError`."""
    if not settings.traces:
        given = next((each for each in ENDPOINT_VARIABLES if os.environ.get(each)), None)
        if given is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
            return None
    try:
        exporter = make_exporter(settings.traces)
    except ImportError:
        if settings.traces:
            raise ConfigError(
                "traces needs OpenTelemetry, which is not installed; run "
                + install_command("otel"),
                param="traces",
            ) from None
        logger.warning(
            "%s is set, but OpenTelemetry is not installed, so no traces are sent; run %s",
            given,
            install_command("otel"),
        )
        return None
    return Tracing(exporter)


def make_exporter(endpoint: str) -> Any:
    """Return the exporter to a collector; an empty `endpoint` leaves it to the environment."""
    import opentelemetry.sdk.trace  # noqa: F401  # the exporter alone is not enough
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint.rstrip("/") + "/v1/traces" if endpoint else None)


class Tracing:
    """Maker of traces; an OpenTelemetry thread exports them in batches."""

    def __init__(self, exporter: Any) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        named = "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        facts = {"service.version": read_version()}
        if not named and not os.environ.get("OTEL_SERVICE_NAME"):
            facts["service.name"] = "yaie"
        self._provider = TracerProvider(resource=Resource.create(facts), shutdown_on_exit=False)
        self.exporter = WatchedExporter(exporter)
        self._provider.add_span_processor(BatchSpanProcessor(self.exporter))
        self._tracer = self._provider.get_tracer("yaie", read_version())

    def begin(self, scope: Scope) -> RequestTrace:
        """Begin the trace of an HTTP request, below the span that its `traceparent` names."""
        return RequestTrace(self._tracer, scope)

    async def close(self) -> None:
        """Export the last spans, for at most `FLUSH_S`; in an outage return at once."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def shut() -> None:
            self._provider.shutdown()
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=shut, name="yaie-traces", daemon=True).start()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.0 if self.exporter.is_failing else FLUSH_S)


class NoTrace:
    """Trace of a request while tracing is off: it does nothing."""

    def step(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Return the context of a step."""
        return contextlib.nullcontext()

    def note_call(self, call: Call) -> None:
        """Note the translated request."""

    def note_end(self, ended: EndedCall, *, is_cached: bool = False) -> None:
        """Note the end of a generation; `is_cached` for a hit of the response cache."""


NO_TRACE = NoTrace()


class RequestTrace(NoTrace):
    """Span of one request with a span for each step. Times are unix times in nanoseconds."""

    def __init__(self, tracer: Any, scope: Scope) -> None:
        from opentelemetry.trace import SpanKind, get_current_span, set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {
            name: value
            for name in ("traceparent", "tracestate")
            if (value := Headers(scope=scope).get(name)) is not None
        }
        path = route_path(scope)
        is_text = path.endswith("/completions") and not path.endswith("/chat/completions")
        self._operation = "text_completion" if is_text else "chat"
        self._tracer = tracer
        self._began_ns = time.time_ns()
        self._wrote_from_ns: int | None = None
        # A program around this one may have its separate span for the request.
        is_inside = get_current_span().get_span_context().is_valid
        self._span = tracer.start_span(
            self._operation,
            context=None if is_inside else TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            start_time=self._began_ns,
            attributes={
                "gen_ai.operation.name": self._operation,
                "gen_ai.provider.name": "yaie",
                "http.request.method": "POST",
                "http.route": path,
                "yaie.request_id": scope["state"]["request_id"],
            },
        )
        self._below = set_span_in_context(self._span)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record a step of the server; reading begins with the request."""
        began_ns = self._began_ns if name == "read" else time.time_ns()
        failure: dict[str, str] = {}
        try:
            yield
        except BaseException as error:
            failure = {"error.type": _name_of(error)}
            raise
        finally:
            self._add(name, began_ns, time.time_ns(), failure)

    def note_call(self, call: Call) -> None:
        """Describe the request by its parameters."""
        self._span.update_name(f"{self._operation} {call.model}")
        found: dict[str, Any] = {
            "gen_ai.request.model": call.model,
            "gen_ai.response.model": call.model,
            "gen_ai.response.id": call.response_id,
            "gen_ai.request.stream": call.stream,
        }
        for name in SAMPLING_FIELDS:
            value = getattr(call.sampling, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and (name in _ALWAYS or value != getattr(_DEFAULTS, name)):
                found[f"gen_ai.request.{_CONVENTIONS.get(name, name)}"] = value
        self._describe(found)

    def note_end(self, ended: EndedCall, *, is_cached: bool = False) -> None:
        """Add the steps of the engine, from the times that it measured, and the usage."""
        ended_ns = time.time_ns()
        sent_ns = ended_ns - int(ended.total_s * _NS)
        usage = ended.usage
        self._describe(
            {
                "gen_ai.usage.input_tokens": usage.prompt_tokens,
                "gen_ai.usage.output_tokens": usage.completion_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
                "gen_ai.response.finish_reasons": ended.finish_reasons or None,
                "yaie.outcome": ended.outcome,
            }
        )
        if ended.outcome not in _GOOD:
            self._fail(ended.outcome)
        timings = ended.timings
        if is_cached:
            self._describe({"yaie.response_cache": "hit"})
        elif timings and len(timings) == ended.call.num_choices:
            waited_s = max(each.queued_s for each in timings)
            # A sequence that ended without a token has no time of its first.
            first_s = max([waited_s, *(each.first_token_s for each in timings)])
            total_s = max([first_s, *(each.total_s for each in timings)])
            marks = [sent_ns + int(each * _NS) for each in (0.0, waited_s, first_s, total_s)]
            marks = [min(each, ended_ns) for each in marks]
            self._add("queue", marks[0], marks[1])
            self._add("prefill", marks[1], marks[2])
            self._add("decode", marks[2], marks[3])
            if not ended.call.stream:
                self._wrote_from_ns = marks[3]
        else:  # the engine tells the times of a sequence with its last token
            self._add("unfinished", sent_ns, ended_ns)

    def note_reply(self, status: int) -> None:
        """Note the start of the HTTP response; a whole answer is put together before it."""
        self._wrote_from_ns = self._wrote_from_ns or time.time_ns()
        self._describe({"http.response.status_code": status})
        if status >= 500:
            self._fail(str(status))

    def end(self, error: BaseException | None = None) -> None:
        """End the request's span; `error`: an exception that left the application."""
        now_ns = time.time_ns()
        if self._wrote_from_ns is not None:
            self._add("write", self._wrote_from_ns, now_ns)
        if error is not None:
            self._fail(_name_of(error))
        self._span.end(now_ns)

    def _add(
        self, name: str, began_ns: int, ended_ns: int, attributes: dict[str, str] | None = None
    ) -> None:
        span = self._tracer.start_span(
            name, context=self._below, start_time=began_ns, attributes=attributes
        )
        span.end(max(began_ns, ended_ns))

    def _describe(self, attributes: dict[str, Any]) -> None:
        if self._span.is_recording():  # a background response may outlive its HTTP request
            self._span.set_attributes({k: v for k, v in attributes.items() if v is not None})

    def _fail(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode

        if self._span.is_recording():
            self._span.set_attribute("error.type", kind)
            self._span.set_status(StatusCode.ERROR)


def _name_of(error: BaseException) -> str:
    code = error.code if isinstance(error, YaieError) else None
    return code or type(error).__name__


def trace_of(scope: Scope) -> NoTrace:
    """Return the trace of a request."""
    trace: NoTrace = scope["state"].get("trace", NO_TRACE)
    return trace


class TraceHook(RequestHook):
    """Adds a request's parameters, engine steps and usage to its trace."""

    async def before_open(
        self, read: ReadRequest[Any], call: Call, notes: CacheNotes
    ) -> CacheNotes:
        """See `RequestHook.before_open`."""
        trace_of(read.http.scope).note_call(call)
        return notes

    def on_open(self, request: Request, generation: Generation) -> None:
        """See `RequestHook.on_open`."""
        trace = trace_of(request.scope)
        is_cached = isinstance(generation.client, Replay)
        generation.at_close.append(partial(trace.note_end, is_cached=is_cached))


class TracedRequests:
    """ASGI layer that traces the POSTs to `paths`, the endpoints that generate."""

    def __init__(self, app: ASGIApp, tracing: Tracing, paths: Collection[str]) -> None:
        self._app = app
        self._tracing = tracing
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection's scope."""
        is_traced = scope["type"] == "http" and scope["method"] == "POST"
        if not is_traced or route_path(scope) not in self._paths:
            await self._app(scope, receive, send)
            return
        trace = self._tracing.begin(scope)
        scope["state"]["trace"] = trace

        async def send_traced(message: Message) -> None:
            if message["type"] == "http.response.start":
                trace.note_reply(message["status"])
            await send(message)

        failure: BaseException | None = None
        try:
            await self._app(scope, receive, send_traced)
        except BaseException as error:
            failure = error
            raise
        finally:
            trace.end(failure)
