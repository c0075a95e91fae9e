"""ASGI layers around the routes: request ids and unexpected errors, body size.

`RequestContext` is outermost: every response carries the id.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yaie.base.errors import EngineDraining, RequestFailed, YaieError
from yaie.server.http.body_memory import BodyMemory, BodyShare
from yaie.server.http.http_errors import (
    BodyTooLarge,
    error_response,
    is_of_messages,
    route_path,
)
from yaie.server.metrics.prometheus import Metrics

logger = logging.getLogger(__name__)

ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
}  # for /docs
MODELS = "/v1/models/"  # prefix of model names, with or without a final slash
METRICS = "/metrics"
PROBES = frozenset({"/health", "/liveness", "/ping", "/readiness", METRICS})
# Need no key: a browser has no key before its user can enter one on the page. The feed of /ui and
# what the page can do check keys themselves: for them the admin key alone suffices.
PAGE_FOLDER = Path(__file__).parents[1] / "ui" / "page"
_PAGE = {"events", "explain", "abort", *(each.name for each in PAGE_FOLDER.iterdir())}
OPEN_PATHS = frozenset(
    {
        *PROBES,
        *("/", "/docs", "/openapi.json", "/ui", "/version"),
        *(f"/docs/{name}" for name in ASSETS),
        *(f"/ui/{name}" for name in _PAGE),
    }
)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._\-]{1,128}")
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"})


class RequestContext:
    """Layer for request ids, metrics, and a 500 for an uncaught error.

    A trailing slash of the path is dropped, except after a model's name. `root_path` is the prefix
    of a proxy, unless the web server knows one.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, routes: Sequence[BaseRoute], root_path: str = ""
    ) -> None:
        self._app = app
        self._root_path = root_path
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection's scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["root_path"] = scope.get("root_path") or self._root_path
        if _has_spare_slash(route_path(scope)):
            scope["path"] = scope["path"][:-1]  # a redirect would turn a POST into a GET
        asked = Headers(scope=scope).get("x-request-id", "")
        request_id = asked if _REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                if is_of_messages(scope):  # the name that Anthropic's clients read
                    headers["Request-Id"] = request_id
            await send(message)

        began_at = time.monotonic()
        is_counted = route_path(scope) not in PROBES  # a scrape would always see itself
        self._metrics.active.inc(is_counted)
        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            logger.exception("request %s failed inside the server", request_id)
            if status:  # the response has begun: only closing the connection is left
                raise
            error = RequestFailed("the server failed; see the X-Request-ID in its log")
            await error_response(error, scope)(scope, receive, send_with_id)
        except asyncio.CancelledError:  # the web server stops and its grace period is over
            if not status:
                gone = EngineDraining("the server is shutting down; send the request again")
                await error_response(gone, scope)(scope, receive, send_with_id)
        finally:
            self._metrics.active.dec(is_counted)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route = self._route_of(scope)
            self._metrics.responses.labels(route, method, str(status)).inc()
            if is_counted:
                model = scope["state"].get("model", "")
                self._metrics.http_s.labels(route, model).observe(time.monotonic() - began_at)

    def _route_of(self, scope: Scope) -> str:
        """Return the metric label of the request: a route's path, never a client's string."""
        if (route := scope.get("route")) is None:
            # A layer answered before routing: a missing key or a large body.
            route = next(iter(routes_at(self._routes, scope)), None)
        return getattr(route, "path", "other")


def _has_spare_slash(path: str) -> bool:
    of_a_model = path.startswith(MODELS) and path != MODELS
    return path.endswith("/") and path != "/" and not of_a_model


def routes_at(routes: Sequence[BaseRoute], scope: Scope) -> list[BaseRoute]:
    """Return the routes of the path, for any method."""
    return [route for route in routes if route.matches(scope)[0] is not Match.NONE]


class BodyLimit:
    """Limit on each body, and on all bodies in memory, by declared length or while they are read.

    The state of a request has its `body_share`.

    `larger`: limits of single paths, whose bodies are stored elsewhere.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        memory: BodyMemory,
        larger: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._memory = memory
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection's scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = route_path(scope)
        most, is_stored = self._larger.get(path, self._max_bytes), path in self._larger
        declared = Headers(scope=scope).get("content-length", "")
        share = BodyShare(self._memory)
        scope.setdefault("state", {})["body_share"] = share
        num_bytes = num_held = 0

        def hold(wanted: int) -> None:
            """Count the body with `wanted` bytes, unless it is counted with more."""
            nonlocal num_held
            if wanted > most:
                raise self._error(most)
            if not is_stored and wanted > num_held:
                share.add(wanted - num_held)
                num_held = wanted

        async def receive_counted() -> Message:
            nonlocal num_bytes
            message = await receive()
            if message["type"] == "http.request":
                num_bytes += len(message.get("body", b""))
                hold(num_bytes)
            return message

        try:
            if declared.isdecimal():
                hold(int(declared[:20]))
        except YaieError as error:
            await error_response(error, scope)(scope, receive, send)
            return
        try:
            await self._app(scope, receive_counted, send)
        finally:
            share.release()

    def _error(self, most: int) -> BodyTooLarge:
        fix = "send less, or raise YAIE_MAX_BODY_BYTES"
        if most != self._max_bytes:
            fix = "split the file into several files"
        return BodyTooLarge(f"the body is larger than {most} bytes; {fix}")
