"""Application: routes, middleware, error handlers, and a lifespan for the engines.

`create_app` neither starts an engine nor imports torch; `yaie.server.api` defines the application
for `uvicorn server.api:app`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from yaie.base.errors import ConfigError, InvalidRequest, YaieError
from yaie.base.own_package import read_version
from yaie.base.settings import (
    ENGINE_SETTINGS,
    EngineConfig,
    Settings,
    load_settings,
)
from yaie.base.unknown_variables import unknown_variables
from yaie.client.engine_client import EngineClient
from yaie.client.engine_process import EngineProcess
from yaie.client.process_client import ProcessClient
from yaie.process.log_writer import finish_logs
from yaie.server.batches.app_batches import BatchHook, running_batches
from yaie.server.batches.file_store import FORM_BYTES, MAX_FILE_BYTES
from yaie.server.explain.explain_queries import ExplainHook
from yaie.server.http.api_keys import ApiKeys
from yaie.server.http.http_errors import MethodNotAllowed, NotFound, error_response
from yaie.server.http.log_setup import configure_logs
from yaie.server.http.middleware import BodyLimit, RequestContext, routes_at
from yaie.server.http.openapi import describe
from yaie.server.http.web_server import bound_connections, refuse_several_workers
from yaie.server.metrics.engine_aliases import DIALECTS, EngineAliases
from yaie.server.models.service import Hook, Service
from yaie.server.ops.drain import draining_signals
from yaie.server.ops.kv_event_publisher import KVEventPublisher, publisher_of, publishing
from yaie.server.ops.metrics_compat import MetricsCompat
from yaie.server.ops.metrics_listener import metrics_listener
from yaie.server.ops.operator_tools import OperatorTool, OperatorTools, load_tools
from yaie.server.ops.rate_limits import RateLimits
from yaie.server.ops.reload import reloading_signal
from yaie.server.ops.tracing import TracedRequests, TraceHook, Tracing, tracing_of
from yaie.server.ops.workload_trace import WorkloadTrace
from yaie.server.requests.digests import RecentDigests
from yaie.server.responses_api.response_store import ResponseStore
from yaie.server.routes.endpoint_registry import (
    EndpointConfig,
    make_router,
    open_paths,
    standard_endpoints,
    standard_router,
)
from yaie.server.ui.pages import Pages, running_pages

logger = logging.getLogger(__name__)

HOOK_S = 30.0  # limit of the hook at the end
EXIT_S = 1.0  # far more than the event loop needs to end
# The event loop takes the interpreter lock again after each call of the system, a dozen times for a
# probe. Python's default lets a thread that parses or renders text keep the lock 5 ms each time.
SWITCH_S = 0.0005

# Endpoints of other servers, expected by clients, and not of this one.
_NOT_SERVED = {
    *("assistants", "audio", "classify", "fine_tuning", "images", "moderations"),
    *("pooling", "threads", "vector_stores"),
}
_LOCALHOST = "localhost"  # in a list of origins: pages of this computer, on any port
_OF_LOCALHOST = r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?"
# Headers readable by pages of other origins; docs/reference/http-api.md lists them.
EXPOSED_HEADERS = (
    "Retry-After",
    "X-Request-ID",
    "X-Should-Retry",
    "X-YAIE-Folded-Messages",
    "X-YAIE-Ignored-Params",
    "X-YAIE-Max-Tokens",
    "X-YAIE-Replica",
    "X-YAIE-Response-Cache",
    "X-YAIE-Tool-Parse-Error",
)


class Application(FastAPI):
    """Application whose web server gets our limits on connections."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one scope; FastAPI wraps the web server's functions before any layer sees them."""
        if scope["type"] == "lifespan":
            bound_connections(receive)
        await super().__call__(scope, receive, send)


AppSettings = Settings | EngineConfig | str | PathLike[str] | Mapping[str, str | PathLike[str]]


def create_app(
    settings: AppSettings | None = None,
    make_client: Callable[[EngineConfig], EngineClient] | None = None,
    on_fatal: Callable[[YaieError], None] | None = None,
    *,
    tools: Sequence[OperatorTool | Callable[..., Any]] = (),
    endpoints: Iterable[EndpointConfig] | None = None,
    on_startup: Hook | None = None,
    on_shutdown: Hook | None = None,
) -> FastAPI:
    """Build the application; the engine starts with its lifespan.

    `settings`: None reads `YAIE_*`; the name or the folder of a model reads the other settings
    there; an `EngineConfig` leaves the server's at their defaults. `make_client`: None runs the
    engine in a child process. `on_fatal` is called with the error if an engine cannot start; None
    logs it, stops the server as SIGTERM would, and ends the process with the error's exit code.

    `tools`: functions that `/v1/tools` lists. `endpoints`: None serves the standard ones
    (`yaie.server.routes.endpoint_registry`). `on_startup` runs before the engine starts, while the
    port is bound; its error fails the start. `on_shutdown` runs once, after the requests have ended
    and before the engine stops. Raises `ConfigError`.
    """
    refuse_several_workers()
    warnings = [] if isinstance(settings, EngineConfig) else unknown_variables()
    settings = settings_of(settings)
    kv_events = publisher_of(settings, has_process=make_client is None)
    make_client = make_client or process_client(settings, kv_events)
    service = Service(settings, make_client, on_fatal or _stop)
    registry = standard_endpoints() if endpoints is None else tuple(endpoints)
    tracing = tracing_of(settings)
    router = standard_router() if endpoints is None else make_router(registry)
    routes = tuple(router.routes)
    app = Application(
        title=settings.server_name,
        description=settings.server_description,
        version=read_version(),
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's page loads its scripts from another host; see routes/docs.py
        redoc_url=None,
        middleware=_layers(settings, service, registry, routes, tracing),
    )
    app.state.endpoints = registry
    app.state.routes = routes
    app.state.hooks = (on_startup, on_shutdown)
    app.state.service = service
    app.state.kv_events = kv_events
    app.state.tracing = tracing
    _register(app, service, tools)
    app.state.warnings = warnings
    app.state.ends_process = on_fatal is None
    document = functools.cache(lambda: describe(app, open_paths(registry, settings), settings))
    app.openapi = document  # type: ignore[method-assign]
    app.router.routes.extend(routes)  # `include_router` builds them again at the first request
    app.add_exception_handler(YaieError, _answer_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    return app


def _register(
    app: FastAPI, service: Service, tools: Sequence[OperatorTool | Callable[..., Any]]
) -> None:
    """Add the stores and the request hooks, which the service itself does without."""
    settings = service.settings
    named = load_tools(settings.tool_functions) if settings.tool_functions else []
    app.state.operator_tools = OperatorTools([*tools, *named], settings.tool_timeout_s)
    app.state.stored_responses = ResponseStore(settings.response_store_bytes)
    app.state.recent_digests = RecentDigests()
    app.state.batch_jobs = None  # opened with the lifespan
    service.at_stop.append(app.state.operator_tools.close)
    if settings.api_key_file is not None:
        service.at_reload.append(service.keyring.reload)
    service.hooks += [
        RateLimits(settings, service.metrics, service.keyring.public_name),
        ExplainHook(service, app.state.recent_digests),
        BatchHook(),
    ]
    app.state.pages = Pages(service)
    if settings.ui is not False:
        service.hooks.append(app.state.pages.recent)
    for name in settings.compatible_metrics:
        EngineAliases(DIALECTS[name], service.metrics, service.snapshots)
        service.hooks.append(MetricsCompat(DIALECTS[name], service.metrics))
    if app.state.kv_events is not None:
        app.state.kv_events.count_in(service.metrics.registry)
        if settings.has_keys or settings.kv_events_salted:
            app.state.kv_events.hide_name = service.keyring.hide_block
    if settings.workload_trace:
        trace = WorkloadTrace(settings.workload_trace)
        service.hooks.append(trace)
        service.at_stop.append(trace.close)
    if app.state.tracing is not None:
        service.hooks.append(TraceHook())
        app.state.tracing.exporter.count_in(service.metrics.registry)


def settings_of(given: object) -> Settings:
    """Return the settings of an application. Raises `ConfigError`."""
    if isinstance(given, Settings):
        return given
    if isinstance(given, EngineConfig):
        return Settings(**{name: getattr(given, name) for name in ENGINE_SETTINGS})
    if given is None:
        return load_settings()
    if isinstance(given, str | PathLike):
        return load_settings(model=os.fspath(given))
    if isinstance(given, Mapping):
        listed = (f"{name}={os.fspath(model)}" for name, model in given.items())
        return load_settings(models=",".join(listed))
    raise ConfigError(
        "create_app takes the name of a model, models by name, an EngineConfig or Settings, not "
        f"{type(given).__name__}",
        param="settings",
    )


def check_no_tls(settings: Settings) -> None:
    """Raise `ConfigError` for TLS files, which only `yaie serve` reads."""
    if settings.ssl_certfile is not None:
        raise ConfigError(
            "ssl_certfile is for `yaie serve`, and uvicorn would speak plain HTTP; give uvicorn "
            "its own --ssl-certfile and --ssl-keyfile, or run `yaie serve`",
            param="ssl_certfile",
        )


def process_client(
    settings: Settings, kv_events: KVEventPublisher | None = None
) -> Callable[[EngineConfig], EngineClient]:
    """Return the maker of clients that run an engine in a child process."""
    spawn = functools.partial(
        EngineProcess.spawn, warms_up=settings.warmup, log_format=settings.log_format
    )
    return lambda config: ProcessClient(
        config,
        stall_s=settings.stall_s,
        spawn=spawn,
        on_cache_changes=None if kv_events is None else kv_events.publish,
    )


def _stop(error: YaieError) -> None:
    """Log the error of a failed start and stop the web server; see `_lifespan`."""
    logger.error("cannot serve the model: %s", error.message)
    os.kill(os.getpid(), signal.SIGTERM)


def _layers(
    settings: Settings,
    service: Service,
    endpoints: Sequence[EndpointConfig],
    routes: Sequence[BaseRoute],
    tracing: Tracing | None,
) -> list[Middleware]:
    layers = [Middleware(RequestContext, service.metrics, routes, settings.root_path)]
    if tracing is not None:
        generating = [each.path for each in endpoints if each.generates]
        layers.append(Middleware(TracedRequests, tracing, generating))
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    if origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=[origin for origin in origins if origin != _LOCALHOST],
                allow_origin_regex=_OF_LOCALHOST if _LOCALHOST in origins else None,
                allow_methods=["GET", "HEAD", "POST", "DELETE"],
                allow_headers=["*"],
                expose_headers=EXPOSED_HEADERS,
            )
        )
    open_to_all = open_paths(endpoints, settings)
    layers.append(
        Middleware(ApiKeys, service.keyring, open_to_all, service.metrics.refused_keys.inc)
    )
    larger = {"/v1/files": MAX_FILE_BYTES + FORM_BYTES} if settings.batch_dir else {}
    layers.append(Middleware(BodyLimit, settings.max_body_bytes, service.body_memory, larger))
    return layers


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    configure_logs(service.settings.log_level, service.settings.log_format)
    finish_logs(is_ending=False)
    for warning in app.state.warnings:
        logger.warning("%s", warning)
    events = publishing(service, app.state.kv_events)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_S)
        stack.enter_context(draining_signals(service))
        stack.enter_context(reloading_signal(service))
        await stack.enter_async_context(metrics_listener(service))
        stack.enter_context(events)
        on_startup, on_shutdown = app.state.hooks
        service.start(on_startup)
        try:
            async with running_batches(app), running_pages(app):
                yield
        finally:
            await asyncio.shield(_end(service, on_shutdown, app.state.tracing))
            finish_logs()  # the web server may end the process by a signal
        if app.state.ends_process and service.failure is not None:
            await _exit(service.failure.exit_code)


async def _end(service: Service, on_shutdown: Hook | None, tracing: Tracing | None) -> None:
    """Run the hook, then stop the engines, also if the hook fails or takes too long."""
    try:
        if on_shutdown is not None:
            await asyncio.wait_for(on_shutdown(), HOOK_S)
    except Exception as error:
        logger.exception("the on_shutdown hook failed: %s", str(error) or type(error).__name__)
    exported = asyncio.create_task(tracing.close()) if tracing is not None else None
    await service.stop()
    if exported is not None:
        await exported


async def _exit(code: int) -> None:
    """End the process with this code after the clean-up.

    uvicorn raises the signal again after its shutdown, and the process would end as after a
    requested stop (with 0 as a container's first process). A `SystemExit` of the event loop
    precedes that; uvicorn would catch one of this coroutine.
    """
    asyncio.get_running_loop().call_soon(sys.exit, code)
    with contextlib.suppress(asyncio.CancelledError):  # at the end of the loop
        await asyncio.sleep(EXIT_S)


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, YaieError)
    return error_response(error, request.scope)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """Answer an error of the router."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"][:200]
    if error.status_code == 404:
        unknown = NotFound(f"the path {path!r} does not exist; {_advice(request)}")
        return error_response(unknown, request.scope)
    if error.status_code == 405:
        allowed = dict(error.headers or {}).get("Allow", "")  # the methods of one route only
        routes = routes_at(request.app.state.routes, request.scope)
        # A literal path comes before one with a variable, as /v1/responses/{id}.
        if routes := [each for each in routes if "{" not in getattr(each, "path", "{")] or routes:
            methods = set[str]().union(*(getattr(route, "methods", ()) for route in routes))
            allowed = ", ".join(sorted(methods))
        message = f"{path!r} does not accept {request.method[:20]!r}; use {allowed}"
        response = error_response(MethodNotAllowed(message), request.scope)
        response.headers.update({**(error.headers or {}), "Allow": allowed})
        return response
    return error_response(InvalidRequest(str(error.detail)), request.scope)


def _advice(request: Request) -> str:
    """Return the advice for an unknown path."""
    root = request.scope.get("root_path", "")
    path = request.scope["path"].removeprefix(root)
    inner = "/" + path.strip("/").removeprefix("v1/")
    for meant in (f"/v1{inner}", inner):
        if meant != path and routes_at(
            request.app.state.routes, {**request.scope, "path": root + meant}
        ):
            return f"did you mean {root[:200] + meant[:200]!r}?"
    if inner.split("/")[1] in _NOT_SERVED:
        generating = [each.path for each in request.app.state.endpoints if each.generates]
        return f"this server generates text; send requests to {' and '.join(generating)}"
    return f"see {root[:200]}/docs for the endpoints"


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    malformed = InvalidRequest("the path or the query of the request is malformed")
    return error_response(malformed, request.scope)
