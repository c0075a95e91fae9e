"""`yaie serve`: the service of `uvicorn server.api:app`, with flags and a port bound first.

The app's lifespan starts and supervises the engine. This module reads the settings, binds the port,
checks the model, and turns an engine that cannot start into one error and an exit code.
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
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.cli.completion import complete_model
from yaie.cli.connection import choose_key, find_server
from yaie.cli.failures import USAGE, CommandFailed, usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    SERVER_FLAGS,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.errors import YaieError
from yaie.process.gc_pause import gc_paused_then_frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import FastAPI

    from yaie.config import EngineConfig, Settings

    MakeApp = Callable[[Settings, Callable[[YaieError], None]], FastAPI]

# After the drain, for clients that have not sent or read all of their data.
CLOSE_S = 5
MAX_FILES = 65_536  # open files, connections included


@settings_options((*ENGINE_FLAGS, *SERVER_FLAGS), repeated=("model",))
def serve(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="same as --model",
            show_default=False,
            autocompletion=complete_model,
        ),
    ] = None,
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="file of settings: YAML, TOML or JSON [YAIE_CONFIG]"),
    ] = None,
    settings: dict[str, Any],
) -> None:
    """Serve a model over the OpenAI API. Every flag is also a YAIE_* variable.

    Several models: --model name=path for each.
    """
    from yaie.config import load_settings
    from yaie.model_list import engine_configs

    loaded = load_settings(config, **name_models(name, settings))
    configs = engine_configs(loaded)
    warn_of_unknown_variables()
    check_tls(loaded)
    with bind(loaded.host, loaded.port) as listener:
        for each in configs:
            check_model(each.source)
        introduce(loaded, configs, listener)
        run_server(loaded, listener)


def name_models(name: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with `model` and `models` from MODEL and every --model."""
    given = [each for each in settings.pop("model", []) if each != name]
    if name is not None:
        if not name.strip():  # as a path it would be the current folder
            raise usage_error("MODEL is empty", advice="yaie serve    (the built-in model)")
        given.insert(0, name)
    plain = [each for each in given if not is_named(each)]
    if len(plain) > 1:
        raise usage_error(
            f"several models without names: {', '.join(plain)}",
            advice=" ".join(f"--model NAME={each}" for each in plain),
        )
    named = [each for each in given if is_named(each)]
    if named:
        settings["models"] = ",".join([*named, *filter(None, [settings.get("models")])])
    return settings | ({"model": plain[0]} if plain else {})


def is_named(model: str) -> bool:
    """Return True for name=model; a path may have an equals sign too."""
    name, separator, _ = model.partition("=")
    return bool(separator) and "/" not in name and not Path(model).exists()


def check_model(model: str) -> None:
    """Refuse a model that is missing, damaged or unsupported, before anything is started.

    The weights of a repository are not downloaded here: the service does so and answers health
    probes meanwhile.
    """
    from yaie.models.checkpoint import read_config
    from yaie.models.folder import names_repository, open_folder, resolve_model_path
    from yaie.models.support import check_supported

    if names_repository(model):
        check_supported(read_config(resolve_model_path(model, with_weights=False)))
    else:
        open_folder(model)


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
    except OSError as error:  # of the files, and of TLS
        raise CommandFailed(
            f"cannot use {settings.ssl_certfile} and {settings.ssl_keyfile} for TLS",
            why=f"{error.filename}: {error.strerror}" if error.filename else str(error),
            advice="a certificate and its key in PEM, without a password",
            code="bad-config",
            exit_code=USAGE,
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


def _cannot_listen(host: str, port: int, error: OSError) -> CommandFailed:
    if error.errno == errno.EADDRINUSE:
        is_here = host in ("127.0.0.1", "0.0.0.0", "localhost")
        holder = find_server(port, choose_key(None, is_named=False)) if is_here else None
        return CommandFailed(
            f"port {port} on {host} is taken",
            why=f"{holder or 'another program'} listens there",
            advice=f"--port {port + 1}, or --port 0 for any free one",
            code="port-taken",
        )
    advice = "--host 127.0.0.1 for this machine alone, or --host 0.0.0.0 for all its addresses"
    if error.errno == errno.EACCES:
        advice = "--port 8000: ports below 1024 may be reserved for root"
    return CommandFailed(
        f"cannot listen on {host}:{port}",
        why=error.strerror or str(error),
        advice=advice,
        code="cannot-listen",
    )


def introduce(settings: Settings, configs: Sequence[EngineConfig], listener: socket.socket) -> None:
    """Print the first lines on stderr: the address, the models and a request to try."""
    from yaie.config import BUILTIN_MODEL

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
            f"note: {BUILTIN_MODEL} is a small demonstration model, trained on chats; "
            "/v1/completions (plain continuation) gives poor text",
            file=sys.stderr,
        )
    if not settings.api_keys and host not in ("127.0.0.1", "::1"):
        print("warning: every client of this port may use it; set --api-key", file=sys.stderr)


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


def run_server(
    settings: Settings, listener: socket.socket, make_app: MakeApp | None = None
) -> None:
    """Serve until a signal; return after a drain. Raises the error of an engine that cannot start.

    `make_app(settings, on_fatal)` returns the application; None makes the standard one.
    """
    with gc_paused_then_frozen():
        import uvicorn

        from server.app import create_app
        from server.drain import return_after_drain
        from server.logs import uvicorn_log_config
        from server.protocol import HttpProtocol

    failures: list[YaieError] = []

    def stop(error: YaieError) -> None:
        failures.append(error)
        server.should_exit = True

    app = make_app(settings, stop) if make_app else create_app(settings, on_fatal=stop)
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
