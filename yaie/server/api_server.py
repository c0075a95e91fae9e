"""`ApiServer`: a server as an object, to be run from Python and to be subclassed.

A subclass overrides handlers, `endpoints`, the hooks, or `make_client` for the engine client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any, Protocol

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from yaie.base.errors import ConfigError, YaieError, nearest_name_hint
from yaie.base.renamed_settings import advice_on
from yaie.base.settings import SETTINGS, EngineConfig, Settings
from yaie.client.engine_client import EngineClient
from yaie.server.app import create_app, process_client, settings_of
from yaie.server.ops.operator_tools import OperatorTool
from yaie.server.routes import completions, health, models, operator_tools
from yaie.server.routes.endpoint_registry import EndpointConfig, standard_endpoints

# Handlers by path, under the names of EasyDeL's base class.
_HANDLERS = {
    "/v1/chat/completions": "chat_completions",
    "/v1/completions": "completions",
    "/health": "health_check",
    "/metrics": "get_metrics",
    "/v1/models": "list_models",
    "/v1/models/{model_id:path}": "get_model",
    "/v1/tools": "list_tools",
    "/v1/tools/execute": "execute_tool",
}


class OwnEngine(Protocol):
    """An engine in this process, such as an `LLM`."""

    @property
    def config(self) -> EngineConfig:
        """Its settings."""

    def as_client(self) -> EngineClient:
        """Return a client of it; closing the client leaves the engine open."""


class ApiServer:
    """A server with one engine and the operator's tools.

    `engine`: the name or the folder of a model, an `EngineConfig` or `Settings`; None reads
    `YAIE_*`. An `LLM` is served from this process and stays its owner's to close. `tools`:
    functions, or `OperatorTool`s, that `/v1/tools` lists; with the setting `tool_key` clients may
    run them. `settings` replace the engine's settings. Raises `ConfigError`.
    """

    def __init__(
        self,
        engine: OwnEngine | Settings | EngineConfig | str | PathLike[str] | None = None,
        *,
        tools: Iterable[OperatorTool | Callable[..., Any]] = (),
        **settings: Any,
    ) -> None:
        own: Any = engine if hasattr(engine, "as_client") else None
        self._own: OwnEngine | None = own
        self.settings = _with(settings_of(own.config if own is not None else engine), settings)
        self.tools = list(tools)

    # -- handlers, under the names of EasyDeL's base class --------------------------------------

    async def chat_completions(self, request: Request) -> Response:
        """Answer a conversation."""
        return await completions.create_chat_completion(request)

    async def completions(self, request: Request) -> Response:
        """Continue one or several prompts."""
        return await completions.create_completion(request)

    async def health_check(self, request: Request) -> Response:
        """Answer 200 while requests are accepted, 503 with the state otherwise."""
        return await health.health(request)

    async def get_metrics(self, request: Request) -> Response:
        """Return the metrics in Prometheus' text format."""
        return await health.metrics(request)

    async def list_models(self, request: Request) -> Response:
        """List the served models."""
        return await models.list_models(request)

    async def get_model(self, request: Request, model_id: str) -> Response:
        """Describe one model; its name may contain slashes."""
        return await models.get_model(request, model_id)

    async def list_tools(self, request: Request) -> Response:
        """List the registered tools."""
        return await operator_tools.list_tools(request)

    async def execute_tool(self, request: Request) -> Response:
        """Run a registered tool."""
        return await operator_tools.execute_tool(request)

    # -- parts to override ------------------------------------------------------------

    @property
    def endpoints(self) -> list[EndpointConfig]:
        """Every endpoint, tools included; override it to extend or prune them."""
        return [self._add_handler(each) for each in standard_endpoints()]

    def make_client(self, config: EngineConfig) -> EngineClient:
        """Return the client of the engine, not started: a child process, or the given `LLM`."""
        if self._own is not None:
            return self._own.as_client()
        return process_client(self.settings)(config)

    async def on_startup(self) -> None:
        """Run before the engine starts; an error here fails the start."""

    async def on_shutdown(self) -> None:
        """Run once after the requests have ended, before the engine stops."""

    # -- running --------------------------------------------------------------------------------

    @cached_property
    def app(self) -> FastAPI:
        """The ASGI application, for uvicorn or another server."""
        return self._make_app(self.settings)

    def run(
        self,
        host: str | None = None,
        port: int | None = None,
        *,
        workers: int = 1,
        reload: bool = False,
        **settings: Any,
    ) -> None:
        """Serve until a signal, on 127.0.0.1:8000 unless the settings or arguments differ.

        Returns after the drain. `settings` replace the object's settings, such as `log_level`,
        `ssl_certfile` and `ssl_keyfile`. Raises `ConfigError`, and the error of an engine that
        cannot start.
        """
        if workers != 1 or reload:
            raise ConfigError(
                "workers and reload are not supported, since each process would load the model; "
                "run one process, or `yaie serve --ray --replicas N`"
            )
        from yaie.base.served_models import engine_configs
        from yaie.server.serving import bind, check_tls, run_server

        named = {"host": host, "port": port, **settings}
        chosen = _with(self.settings, {k: v for k, v in named.items() if v is not None})
        self.settings = chosen  # the engine process uses them too
        check_tls(chosen)
        with bind(chosen.host, chosen.port) as listener:
            run_server(chosen, engine_configs(chosen), listener, self._make_app)

    fire = run

    def _make_app(
        self, settings: Settings, on_fatal: Callable[[YaieError], None] | None = None
    ) -> FastAPI:
        return create_app(
            settings,
            self.make_client,
            on_fatal,
            tools=self.tools,
            endpoints=self.endpoints,
            on_startup=self.on_startup,
            on_shutdown=self.on_shutdown,
        )

    def _add_handler(self, endpoint: EndpointConfig) -> EndpointConfig:
        """Return a standard endpoint with the handler of this object, if it has one."""
        name = _HANDLERS.get(endpoint.path)
        return endpoint if name is None else replace(endpoint, handler=getattr(self, name))


BaseInferenceApiServer = ApiServer  # EasyDeL's name of the class to build on


def _with(settings: Settings, changes: dict[str, Any]) -> Settings:
    """Return settings with some replaced. Raises `ConfigError`, also for an unknown name."""
    for name in changes:
        if name not in SETTINGS:
            hint = f"; {advice}" if (advice := advice_on(name)) else ""
            hint = hint or nearest_name_hint(name, SETTINGS)
            raise ConfigError(f"{name} is not a setting{hint}", param=name)
    return replace(settings, **changes)
