"""Web server around the application: the same limits under `yaie serve` and under any uvicorn.

uvicorn makes its connections after the application's lifespan has begun, and then reads its
configuration again. So the application can give it our protocol whichever way it was started.
"""

from __future__ import annotations

import ipaddress
import logging
import multiprocessing
import os
import sys
from typing import Any

import uvicorn
from starlette.types import Receive
from uvicorn.config import STARTUP_FAILURE
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware, _TrustedHosts

from yaie.server.http.protocol import HttpProtocol

logger = logging.getLogger(__name__)

# After the drain, for clients that have not sent or read all of their data.
CLOSE_S = 5
_MAX_FORWARDED_CHARS = 8192  # of X-Forwarded-For; more name no client


def bound_connections(receive: Receive) -> None:
    """Give the web server our limits on connections; `receive` is the lifespan's.

    Logs a line if the web server is not uvicorn. A test client has no connections.
    """
    caller: Any = getattr(receive, "__self__", None)
    name = type(caller).__module__.partition(".")[0]
    if caller is None or name == "anyio":
        return
    config = getattr(caller, "config", None)
    _refuse_other_workers(config)
    if not isinstance(config, uvicorn.Config):
        logger.warning(
            "%s is not uvicorn: it limits neither heads nor slow clients as `yaie serve` does; put "
            "a proxy that does in front of it",
            name,
        )
        return
    if not issubclass(config.http_protocol_class, HttpProtocol):
        config.http_protocol_class = HttpProtocol
    config.ws_protocol_class = None
    if config.timeout_graceful_shutdown is None:
        config.timeout_graceful_shutdown = CLOSE_S
    if isinstance(config.loaded_app, ProxyHeadersMiddleware):
        config.loaded_app.trusted_hosts = TrustedProxies(config.forwarded_allow_ips)


def refuse_several_workers() -> None:
    """End a worker of `uvicorn --workers`: each would load the model.

    uvicorn's parent process stops when a worker ends with `STARTUP_FAILURE`. The first worker tells
    the reason. Workers of Granian know their number only, so its second worker tells and ends, and
    the first serves on.
    """
    worker = multiprocessing.current_process()
    if worker.name == "granian-worker":
        _refuse_granian(*getattr(worker, "_args", ())[:1])
    config = getattr(worker, "_kwargs", {}).get("config")
    if not isinstance(config, uvicorn.Config) or config.workers == 1 or config.should_reload:
        return
    _tell_workers(config.workers, is_first=worker.name.endswith("-1"))
    sys.exit(STARTUP_FAILURE)


def _refuse_granian(number: object = 1) -> None:
    """End a worker of Granian that is not the first."""
    if isinstance(number, int) and number > 1:
        _tell_workers(None, is_first=number == 2)
        os._exit(STARTUP_FAILURE)


def _refuse_other_workers(config: Any) -> None:
    """End a worker of gunicorn or Hypercorn, at its lifespan, if there are several.

    Their parent processes stop when a worker ends with `STARTUP_FAILURE` too.
    """
    # A uvicorn in a gunicorn notifies the gunicorn worker, which has gunicorn's settings.
    notified = getattr(getattr(config, "callback_notify", None), "__self__", None)
    is_first = getattr(notified, "age", None) == 1
    if notified is None:
        is_first = multiprocessing.current_process().name.endswith("-1")
    if notified is None and isinstance(config, uvicorn.Config):
        return
    number = getattr(getattr(notified, "cfg", config), "workers", 1)
    if isinstance(number, int) and number > 1:
        _tell_workers(number, is_first=is_first)
        os._exit(STARTUP_FAILURE)  # they would print the stack of an exception


def _tell_workers(number: int | None, *, is_first: bool) -> None:
    """Print the reason once; `number`: None if only the parent process knows it."""
    if is_first:  # at once: the process ends before its log's thread writes
        print(
            f"error[bad-config]: {number or 'several'} workers (--workers, WEB_CONCURRENCY) would "
            "load the model once each; run one, which uses all processors, or `yaie serve --ray "
            f"--replicas {number or 'N'}`",
            file=sys.__stderr__,
            flush=True,
        )


class TrustedProxies(_TrustedHosts):
    """Proxies whose X-Forwarded-For names the client, if what they name is an IP address."""

    def get_trusted_client_address(self, x_forwarded_for: str) -> tuple[str, int]:
        """Return the client's address and port; an empty address keeps the proxy's."""
        if len(x_forwarded_for) > _MAX_FORWARDED_CHARS:
            return "", 0
        host, port = super().get_trusted_client_address(x_forwarded_for)
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return "", 0
        if isinstance(address, ipaddress.IPv6Address) and address.scope_id:  # any text
            return "", 0
        return str(address), port if 0 < port < 65536 else 0
