"""The application: routes, layers, error handlers, and a lifespan that starts the engine.

`create_app` builds it without starting anything and without torch; `server.api` holds the one
that `uvicorn server.api:app` serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from itertools import chain

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from server.drain import draining_signals
from server.errors import MethodNotAllowed, NotFound, error_response
from server.logs import configure_logs
from server.middleware import ApiKeys, BodyLimit, RequestContext, routes_at
from server.routes import completions, health, models
from server.service import Service
from yaie.client.base import EngineClient
from yaie.client.process import ProcessClient
from yaie.config import EngineConfig, Settings, load_settings, unknown_variables
from yaie.errors import InvalidRequest, YaieError

logger = logging.getLogger(__name__)

EXIT_S = 1.0  # much more than the event loop takes to end

_ROUTERS = (completions.router, models.router, health.router)
_ROUTES = tuple(chain.from_iterable(router.routes for router in _ROUTERS))
# Parts of OpenAI's API, and of Anthropic's, that clients ask servers of language models for.
_NOT_DONE = {
    *("audio", "embeddings", "files", "images"),
    *("messages", "moderations", "rerank", "responses"),
}
# What a page from elsewhere may read: all that docs/api.md names.
EXPOSED_HEADERS = ("Retry-After", "X-Request-ID", "X-Should-Retry", "X-YAIE-Ignored-Params")


def create_app(
    settings: Settings | None = None,
    make_client: Callable[[EngineConfig], EngineClient] | None = None,
    on_fatal: Callable[[YaieError], None] | None = None,
) -> FastAPI:
    """Build the application; the engine starts with its lifespan.

    `settings`: None reads `YAIE_*`; raises `ConfigError` where they are wrong. `make_client`:
    None runs the engine in a child process. `on_fatal` is told why the engine cannot start; None
    stops the server as SIGTERM would, and ends the process with the error's exit code.
    """
    warnings = unknown_variables() if settings is None else []
    settings = settings or load_settings()
    service = Service(settings, make_client or _in_process_of_its_own(settings), on_fatal or _stop)
    app = FastAPI(
        title="YAIE",
        version=version("yaie"),
        lifespan=_lifespan,
        redirect_slashes=False,
        middleware=_layers(settings, service),
    )
    app.state.service = service
    app.state.warnings = warnings
    app.state.ends_process = on_fatal is None
    for router in _ROUTERS:
        app.include_router(router)
    app.add_exception_handler(YaieError, _answer_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    return app


def _in_process_of_its_own(settings: Settings) -> Callable[[EngineConfig], EngineClient]:
    return lambda config: ProcessClient(config, stall_s=settings.stall_s)


def _stop(error: YaieError) -> None:
    """Log the error of an engine that cannot start and stop the web server; see `_lifespan`."""
    logger.error("cannot serve the model: %s", error.message)
    os.kill(os.getpid(), signal.SIGTERM)


def _layers(settings: Settings, service: Service) -> list[Middleware]:
    layers = [Middleware(RequestContext, metrics=service.metrics, routes=_ROUTES)]
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    if origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=origins,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=EXPOSED_HEADERS,
            )
        )
    layers.append(Middleware(ApiKeys, keys=settings.api_keys))
    layers.append(Middleware(BodyLimit, max_bytes=settings.max_body_bytes))
    return layers


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    configure_logs(service.settings.log_level)
    for warning in app.state.warnings:
        logger.warning("%s", warning)
    with draining_signals(service):
        service.start()
        try:
            yield
        finally:
            await asyncio.shield(service.stop())
        if app.state.ends_process and service.failure is not None:
            await _exit(service.failure.exit_code)


async def _exit(code: int) -> None:
    """End the process with this code, once all is cleaned up.

    uvicorn would raise the signal that stopped it again: an end as after a stop that was asked
    for, with 0 as a container's first process. A `SystemExit` of the event loop comes before
    that, where one of this coroutine would be caught.
    """
    asyncio.get_running_loop().call_soon(sys.exit, code)
    with contextlib.suppress(asyncio.CancelledError):  # which is how the loop ends what it runs
        await asyncio.sleep(EXIT_S)


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, YaieError)
    return error_response(error)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """What the router itself refuses."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"][:200]
    if error.status_code == 404:
        return error_response(NotFound(f"there is no {path!r} here; {_advice(request)}"))
    if error.status_code == 405:
        response = error_response(
            MethodNotAllowed(f"{path!r} cannot be used with {request.method[:20]!r}")
        )
        response.headers.update(error.headers or {})  # with the methods of one route of the path
        if routes := routes_at(_ROUTES, request.scope):
            methods = set[str]().union(*(getattr(route, "methods", ()) for route in routes))
            response.headers["Allow"] = ", ".join(sorted(methods))
        return response
    return error_response(InvalidRequest(str(error.detail)))


def _advice(request: Request) -> str:
    """What to do about a path that is not here."""
    root = request.scope.get("root_path", "")
    path = request.scope["path"].removeprefix(root)
    inner = "/" + path.strip("/").removeprefix("v1/")
    for meant in (f"/v1{inner}", inner):
        if meant != path and routes_at(_ROUTES, {**request.scope, "path": root + meant}):
            return f"did you mean {root[:200] + meant[:200]!r}?"
    if inner.split("/")[1] in _NOT_DONE:
        return "this server continues texts and answers chats"
    return f"see {root[:200]}/docs for what there is"


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response(InvalidRequest("the request's path or query is malformed"))
