"""Serving: the port is bound first, then uvicorn runs an application until a signal.

`yaie serve` and `ApiServer.run` use it.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import YaieError
from yaie.process.spawn import gc_paused_then_frozen
from yaie.remote.address import key_of
from yaie.remote.discovery import find_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import FastAPI

    from yaie.base.settings import EngineConfig, Settings

    MakeApp = Callable[[Settings, Callable[[YaieError], None]], FastAPI]

# After the drain, for clients that have not sent or read all of their data.
CLOSE_S = 5
MAX_FILES = 65_536  # open files, connections included


def check_tls(settings: Settings) -> None:
    """Refuse files that cannot be used for TLS, before anything is started."""
    if settings.ssl_certfile is None or settings.ssl_keyfile is None:
        return
    import ssl

    try:
        for file in (settings.ssl_certfile, settings.ssl_keyfile):
            Path(file).read_bytes()  # ssl's own error leaves out which file it is
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            settings.ssl_certfile, settings.ssl_keyfile, password=""
        )
    except OSError as error:  # from the files and from TLS
        raise AdvisedError(
            f"cannot use {settings.ssl_certfile} and {settings.ssl_keyfile} for TLS",
            why=f"{error.filename}: {error.strerror}" if error.filename else str(error),
            advice="a PEM certificate and its key without a password",
            code="bad-config",
            exit_code=2,
        ) from None


def bind(host: str, port: int) -> socket.socket:
    """Bind the address; clients cannot connect before the server listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise _cannot_listen(host, port, error) from None
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> AdvisedError:
    if error.errno == errno.EADDRINUSE:
        is_here = host in ("127.0.0.1", "0.0.0.0", "localhost")
        holder = find_server(port, key_of(None, is_named=False)) if is_here else None
        return AdvisedError(
            f"port {port} on {host} is taken",
            why=f"{holder or 'another program'} listens on it",
            advice=f"--port {port + 1}, or --port 0 for a free port",
            code="port-taken",
        )
    advice = "--host 127.0.0.1 for this machine only, or --host 0.0.0.0 for all addresses"
    if error.errno == errno.EACCES:
        advice = "--port 8000: ports below 1024 may be reserved for root"
    return AdvisedError(
        f"cannot listen on {host}:{port}",
        why=error.strerror or str(error),
        advice=advice,
        code="cannot-listen",
    )


def introduce(settings: Settings, configs: Sequence[EngineConfig], listener: socket.socket) -> None:
    """Print the first lines on stderr: the address, the models and a request to try."""
    from yaie.base.settings import BUILTIN_MODEL

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    reachable = "127.0.0.1" if host in ("0.0.0.0", "::") else shown
    name, root = configs[0].model_name, settings.root_path
    scheme = "https" if settings.ssl_certfile else "http"
    names = " and ".join(config.model_name for config in configs)
    when = "when it is loaded" if len(configs) == 1 else "when they are loaded"
    when = "at the first request" if settings.lazy_load else f"{when} (see /readiness)"
    key = " -H 'Authorization: Bearer <YAIE_API_KEY>'" if settings.api_keys else ""
    question = '[{"role": "user", "content": "What is a radix tree?"}]'
    body = f'{{"model": "{name}", "messages": {question}}}'
    print(
        f"YAIE on {scheme}://{shown}:{port}{root} will serve {names} {when}\n"
        f"try: curl {scheme}://{reachable}:{port}/v1/chat/completions{key} "
        f"-H 'Content-Type: application/json' -d '{body}'",
        file=sys.stderr,
        flush=True,
    )
    if configs[0].model == BUILTIN_MODEL:
        print(
            f"note: {BUILTIN_MODEL} is a small demonstration chat model; /v1/completions (plain "
            f"continuation) returns poor text",
            file=sys.stderr,
        )
    if not settings.api_keys and host not in ("127.0.0.1", "::1"):
        print(
            "warning: any client that reaches this port may use it; set --api-key", file=sys.stderr
        )


def _prepare_process() -> None:
    """Raise the limit of open files, and drain when the terminal closes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    # nohup ignores the signal, which must stay so.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _stop_by_hangup)


def _stop_by_hangup(number: int, frame: FrameType | None) -> None:
    """Drain as at SIGTERM, once: a closing terminal sends SIGHUP several times."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.raise_signal(signal.SIGTERM)


def run_server(settings: Settings, listener: socket.socket, make_app: MakeApp) -> None:
    """Serve until a signal; return after a drain. Raises the error of an engine that cannot start.

    `make_app(settings, on_fatal)` returns the application.
    """
    with gc_paused_then_frozen():
        import uvicorn

        from yaie.server.http.log_setup import uvicorn_log_config
        from yaie.server.http.protocol import HttpProtocol
        from yaie.server.ops.drain import return_after_drain

    failures: list[YaieError] = []

    def stop(error: YaieError) -> None:
        failures.append(error)
        server.should_exit = True

    app = make_app(settings, stop)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=HttpProtocol,
            ws="none",
            log_level=settings.log_level,
            log_config=uvicorn_log_config(settings.log_format),
            timeout_graceful_shutdown=CLOSE_S,
            timeout_keep_alive=settings.keep_alive_s,
            server_header=False,
            forwarded_allow_ips=settings.trusted_proxies,
            ssl_certfile=settings.ssl_certfile,
            ssl_keyfile=settings.ssl_keyfile,
        )
    )
    _prepare_process()
    with return_after_drain(app.state.service):
        server.run(sockets=[listener])
    if failures:
        raise failures[0]
