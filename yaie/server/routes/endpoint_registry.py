"""The registry of endpoints: one value for each, to be read, extended and pruned.

An application has exactly the endpoints that are given to `create_app`. By default these are the
standard ones, as the modules in `server/routes` declare them.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response

from yaie.base.errors import ConfigError
from yaie.base.settings import Settings
from yaie.server.http.middleware import METRICS, OPEN_PATHS
from yaie.server.routes import (
    about,
    adapters,
    batches,
    cache,
    completions,
    docs,
    embeddings,
    files,
    health,
    messages,
    models,
    ollama,
    operator_tools,
    ranking,
    responses,
    tokens,
    ui,
)

Handler = Callable[..., Awaitable[Response]]

_ROUTERS = (
    completions.router,
    embeddings.router,
    ranking.router,
    responses.router,
    messages.router,
    ollama.router,
    ollama.embed_router,
    completions.render_router,
    tokens.router,
    operator_tools.router,
    files.router,
    batches.router,
    cache.router,
    models.router,
    adapters.router,
    ollama.models_router,
    ollama.about_router,
    health.router,
    about.router,
    docs.router,
    ui.router,
)
_GENERATING_TAGS = {"completions", "responses", "messages", "ollama"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """One endpoint: its path and methods, its handler, and its place in the OpenAPI document.

    A handler takes a Starlette `Request`, and path variables by name. Its docstring is the
    description. Raises `ConfigError` for a path without a leading slash, or no method.
    """

    path: str
    handler: Handler
    methods: tuple[str, ...] = ("GET",)
    name: str = ""  # the id of its operation; by default the handler's
    summary: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ("extensions",)
    response_model: Any = None  # reply with status 200, for the document
    responses: Mapping[int | str, Any] = field(default_factory=dict)  # replies by status
    openapi_extra: Mapping[str, Any] | None = None
    response_class: type[Response] = JSONResponse  # for the media type in the document
    is_shown: bool = True  # in the document
    is_open: bool = False  # needs no API key

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise ConfigError(f"the path {self.path!r} of an endpoint must begin with '/'")
        if isinstance(self.methods, str) or not self.methods:
            raise ConfigError(f"the endpoint {self.path!r} needs a tuple of methods, as ('GET',)")

    @classmethod
    def of(cls, route: APIRoute) -> EndpointConfig:
        """Return the endpoint that a route declares."""
        return cls(
            path=route.path,
            handler=route.endpoint,
            methods=tuple(sorted(route.methods or ())),
            name=route.name,
            summary=route.summary,
            description=route.description,
            tags=tuple(map(str, route.tags)),
            responses=route.responses,
            openapi_extra=route.openapi_extra,
            response_class=_class_of(route),
            is_shown=route.include_in_schema,
            is_open=route.path in OPEN_PATHS,
        )

    @property
    def generates(self) -> bool:
        """True if the endpoint answers a body with generated text."""
        return (
            self.methods == ("POST",)
            and bool(_GENERATING_TAGS & set(self.tags))
            and "{" not in self.path
            and not self.path.endswith(("_tokens", "/compact"))
        )

    def add_to(self, router: APIRouter) -> None:
        """Add the route of this endpoint."""
        responses = dict(self.responses)
        if self.response_model is not None:
            responses[200] = {"model": self.response_model, **responses.get(200, {})}
        router.add_api_route(
            self.path,
            self.handler,
            methods=list(self.methods),
            name=self.name or getattr(self.handler, "__name__", self.path),
            summary=self.summary,
            description=self.description,
            tags=list(self.tags),
            response_model=None,  # handlers return responses as they are
            responses=responses,
            openapi_extra=dict(self.openapi_extra) if self.openapi_extra else None,
            include_in_schema=self.is_shown,
            response_class=self.response_class,
        )


def _class_of(route: APIRoute) -> type[Response]:
    found: Any = route.response_class
    made: type[Response] = getattr(found, "value", found)  # FastAPI wraps its default
    return made


@functools.cache
def standard_endpoints() -> tuple[EndpointConfig, ...]:
    """Return every endpoint of this server, in the order in which paths are matched."""
    routes = chain.from_iterable(router.routes for router in _ROUTERS)
    return tuple(EndpointConfig.of(route) for route in routes if isinstance(route, APIRoute))


def make_router(endpoints: Iterable[EndpointConfig]) -> APIRouter:
    """Return a router with these endpoints. Raises `ConfigError` for one that exists already."""
    router = APIRouter(generate_unique_id_function=lambda route: route.name)
    known: set[tuple[str, str]] = set()
    for endpoint in endpoints:
        for method in endpoint.methods:
            if (endpoint.path, method) in known:
                raise ConfigError(
                    f"{method} {endpoint.path} has two endpoints; omit the endpoint to replace"
                )
            known.add((endpoint.path, method))
        endpoint.add_to(router)
    return router


@functools.cache
def standard_router() -> APIRouter:
    """Return the router of every standard endpoint; all applications of a process share it."""
    return make_router(standard_endpoints())


def open_paths(endpoints: Iterable[EndpointConfig], settings: Settings) -> frozenset[str]:
    """Return the paths that need no API key, the OpenAPI document's included."""
    closed = {each.path for each in endpoints if not each.is_open}
    closed |= {METRICS} if settings.metrics_auth else set()
    return frozenset(OPEN_PATHS | {each.path for each in endpoints if each.is_open}) - closed
