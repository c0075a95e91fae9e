"""Metrics listener: serves the metrics on a separate port, if the settings name one.

Its connections have the limits of the server's. Every other path is a 404, so that a probe of this
port fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.server import ServerState

from yaie.base.errors import ConfigError, InvalidRequest
from yaie.base.server_settings import METRICS_OFF
from yaie.server.http.http_errors import error_response
from yaie.server.http.middleware import METRICS
from yaie.server.http.protocol import HttpProtocol
from yaie.server.models.service import Service

logger = logging.getLogger(__name__)

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus'


async def text_reply(service: Service, *, with_keys: bool) -> Response:
    """Return the metrics in Prometheus' text format, written in a thread.

    `with_keys`: with the series of single API keys, for a request that has one.
    """
    text = await asyncio.to_thread(service.metrics.text, with_keys=with_keys)
    return Response(text, media_type=TEXT_FORMAT)


@contextlib.asynccontextmanager
async def metrics_listener(service: Service) -> AsyncIterator[None]:
    """Serve the metrics on their own port meanwhile; a taken one fails the service."""
    settings = service.settings
    if settings.metrics_port is None or settings.metrics_port == METRICS_OFF:
        yield
        return

    async def answer(request: Request) -> Response:
        try:
            with_keys = service.keyring.tenant_of(request.scope) is not None
        except InvalidRequest as error:
            return error_response(error, request.scope)
        return await text_reply(service, with_keys=with_keys)

    app = Starlette(routes=[Route(METRICS, answer), Route(f"{METRICS}/", answer)])
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=settings.keep_alive_s,
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: HttpProtocol(config, state, {}, _loop=loop),
            settings.host,
            settings.metrics_port,
        )
    except OSError as error:
        service.fail(
            ConfigError(
                f"cannot listen for metrics on {settings.host}:{settings.metrics_port} "
                f"({error.strerror}); set metrics_port to a free port",
                param="metrics_port",
            )
        )
        yield
        return
    port = server.sockets[0].getsockname()[1]
    logger.info("metrics on http://%s:%d/metrics", settings.host, port)
    try:
        yield
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
