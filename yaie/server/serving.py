"""Serving: the port is bound first, then uvicorn runs an application until a signal.

`yaie serve` and `ApiServer.run` use it.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import logging
import os
import resource
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import YaieError
from yaie.process.log_writer import queued
from yaie.process.spawn import gc_paused_then_frozen
from yaie.remote.address import key_of
from yaie.remote.discovery import find_server

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

    import uvicorn
    from fastapi import FastAPI

    from yaie.base.settings import EngineConfig, Settings

    MakeApp = Callable[[Settings, Callable[[YaieError], None]], FastAPI]

logger = logging.getLogger(__name__)

_ALL_ADDRESSES = ("0.0.0.0", "::")
_OPEN_S = 0.5  # until the server listens; the page itself waits for the model
MAX_FILES = 65_536  # open files, connections included


def check_tls(settings: Settings) -> None:
    """Refuse files that cannot be used for TLS, before anything is started."""
    if settings.ssl_certfile is None or settings.ssl_keyfile is None:
        return
    import ssl

    try:
        for file in (settings.ssl_certfile, settings.ssl_keyfile):
            Path(file).read_bytes()  # ssl's own error omits the file name
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


def _read_tls(settings: Settings, config: uvicorn.Config) -> ssl.SSLContext:
    """Return a new context for connections. Raises `AdvisedError` and `OSError`."""
    from uvicorn.config import create_ssl_context

    check_tls(settings)
    return create_ssl_context(
        certfile=settings.ssl_certfile or "",
        keyfile=settings.ssl_keyfile,
        password=None,
        ssl_version=config.ssl_version,
        cert_reqs=config.ssl_cert_reqs,
        ca_certs=config.ssl_ca_certs,
        ciphers=config.ssl_ciphers,
    )


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


def page_address(settings: Settings, listener: socket.socket) -> str | None:
    """Return the address of `/ui` for a browser here; None if it is served to none."""
    host, port = listener.getsockname()[:2]
    is_here = host in _ALL_ADDRESSES or host.startswith("127.") or host == "::1"
    if settings.ui is False or not (is_here or settings.ui):
        return None
    shown = "127.0.0.1" if host in _ALL_ADDRESSES else f"[{host}]" if ":" in host else host
    scheme = "https" if settings.ssl_certfile else "http"
    return f"{scheme}://{shown}:{port}{settings.root_path}/ui"


def introduce(settings: Settings, configs: Sequence[EngineConfig], listener: socket.socket) -> None:
    """Show the first lines: the address, the models and a request to try.

    They go to stderr, as log records with `log_format` json.
    """
    from yaie.base.settings import BUILTIN_MODEL

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    reachable = "127.0.0.1" if host in _ALL_ADDRESSES else shown
    name, root = configs[0].model_name, settings.root_path
    scheme = "https" if settings.ssl_certfile else "http"
    names = " and ".join(config.model_name for config in configs)
    when = "when it is loaded" if len(configs) == 1 else "when they are loaded"
    when = "at the first request" if settings.lazy_load else f"{when} (see /readiness)"
    key = " -H 'Authorization: Bearer <YAIE_API_KEY>'" if settings.has_keys else ""
    route, fields = _example_of(configs[0])
    body = json.dumps({"model": name, **fields}, ensure_ascii=False)
    page = page_address(settings, listener)
    lines = [
        ("info", f"YAIE on {scheme}://{shown}:{port}{root} will serve {names} {when}"),
        (
            "info",
            f"try: curl {scheme}://{reachable}:{port}{route}{key} "
            f"-H 'Content-Type: application/json' -d '{body}'",
        ),
    ]
    if page is not None:
        lines.insert(1, ("info", f"see its cache: {page}"))
    if configs[0].model == BUILTIN_MODEL:
        about = (
            f"{BUILTIN_MODEL} is a small demonstration chat model; /v1/completions (plain "
            "continuation) returns poor text"
        )
        lines.append(("info", f"note: {about}"))
    if not settings.has_keys and host not in ("127.0.0.1", "::1"):
        lines.append(("warning", "any client that reaches this port may use it; set --api-key"))
    _show_lines(settings, lines)


def _example_of(config: EngineConfig) -> tuple[str, dict[str, object]]:
    """Return route and body fields of a request that the model can answer, by its files.

    A chat for files that are not on this machine yet, or that are refused later.
    """
    from yaie.models.files.checkpoint import read_config
    from yaie.models.files.model_index import CATALOGUE
    from yaie.models.files.pooling_files import read_embedding
    from yaie.models.files.ranking_files import read_ranking
    from yaie.models.files.revisions import split_revision
    from yaie.models.files.snapshots import find_snapshot

    question = "What is a radix tree?"
    with contextlib.suppress(YaieError, OSError, ValueError):
        named = Path(config.model).expanduser()
        name, revision = split_revision(config.source)
        listed = CATALOGUE.get(name)
        repository = name if listed is None else listed.repository
        folder = named if named.is_dir() else find_snapshot(repository, revision).path
        if folder is not None and folder.is_dir():
            embedding = read_embedding(folder, config.pooling, 0)
            ranking = read_ranking(folder, read_config(folder), config.pooling)
            if ranking is not None and not ranking.info.generates:
                documents = ["A tree of prefixes", "A table of hashes"]
                return "/v1/rerank", {"query": question, "documents": documents}
            if embedding is not None and not embedding.generates:
                return "/v1/embeddings", {"input": question}
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": question}]}


def _show_lines(settings: Settings, lines: Sequence[tuple[str, str]]) -> None:
    """Print lines on stderr, or log them where a log of JSON objects takes no plain text."""
    least = logging.getLevelNamesMapping()[settings.log_level.upper()]
    for level, text in lines:
        number = logging.getLevelNamesMapping()[level.upper()]
        if settings.log_format == "json":
            logger.log(number, "%s", text)
        elif number >= least:
            mark = f"{level}: " if level == "warning" else ""
            print(f"{mark}{text}", file=sys.stderr, flush=True)


def _open_later(page: str) -> None:
    """Open a page in the user's browser once the server listens, in a thread."""
    import threading
    import webbrowser

    timer = threading.Timer(_OPEN_S, webbrowser.open, (page,))
    timer.daemon = True
    timer.start()


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


def end_at_once() -> NoReturn:
    """End the process after a drain; Python would wait for threads, such as a tool that hangs."""
    atexit._run_exitfuncs()  # of the operator's modules, and the log's
    with contextlib.suppress(OSError, ValueError):  # a closed pipe
        sys.stdout.flush()
    os._exit(0)


def _stop_by_hangup(number: int, frame: FrameType | None) -> None:
    """Drain as at SIGTERM, once: a closing terminal sends SIGHUP several times."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.raise_signal(signal.SIGTERM)


def run_server(
    settings: Settings,
    configs: Sequence[EngineConfig],
    listener: socket.socket,
    make_app: MakeApp,
    *,
    opens_page: bool = False,
) -> None:
    """Serve until a signal; return after a drain. Raises the error of an engine that cannot start.

    `make_app(settings, on_fatal)` returns the application. `opens_page`: a browser shows `/ui`.
    """
    with gc_paused_then_frozen():
        import uvicorn

        from yaie.server.http.log_setup import configure_logs, uvicorn_log_config
        from yaie.server.http.protocol import HttpProtocol
        from yaie.server.ops.drain import return_after_drain
        from yaie.server.ops.reload import Certificate

    failures: list[YaieError] = []

    def stop(error: YaieError) -> None:
        failures.append(error)
        server.should_exit = True

    app = make_app(settings, stop)
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        log_level=settings.log_level,
        log_config=uvicorn_log_config(settings.log_format),
        timeout_keep_alive=settings.keep_alive_s,
        server_header=False,
        forwarded_allow_ips=settings.trusted_proxies,
        ssl_certfile=settings.ssl_certfile,
        ssl_keyfile=settings.ssl_keyfile,
    )
    config.load()
    if config.ssl is not None:
        certificate = Certificate(config.ssl, partial(_read_tls, settings, config))
        app.state.service.at_reload.append(certificate.reload)
    server = uvicorn.Server(config)
    sys.stderr = queued(sys.stderr)  # for the first lines, warnings and tracebacks
    configure_logs(settings.log_level, settings.log_format)
    introduce(settings, configs, listener)
    _prepare_process()
    if opens_page and (page := page_address(settings, listener)) is not None:
        _open_later(page)
    with return_after_drain(app.state.service):
        server.run(sockets=[listener])
    if failures:
        raise failures[0]
