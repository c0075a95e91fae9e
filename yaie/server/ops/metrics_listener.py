"""Metrics listener: serves the metrics on a separate port, if the settings name one."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from prometheus_client import start_http_server

from yaie.base.errors import ConfigError
from yaie.base.server_settings import METRICS_OFF
from yaie.server.models.service import Service

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def metrics_listener(service: Service) -> Iterator[None]:
    """Serve the metrics on their own port meanwhile; a taken one fails the service."""
    settings = service.settings
    if settings.metrics_port is None or settings.metrics_port == METRICS_OFF:
        yield
        return
    registry = service.metrics.registry
    try:
        server, thread = start_http_server(settings.metrics_port, settings.host, registry)
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
    logger.info("metrics on http://%s:%d/metrics", settings.host, server.server_port)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
