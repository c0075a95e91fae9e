"""Servers of the client tests: one that answers, and one that is shutting down."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.clients.questions import KEY, MODEL
from tests.server.real_server import Server

LONG_S = 3600.0
BODY = {"prompt": "the", "max_tokens": 3000, "ignore_eos": True}


class BuiltinServer(Server):
    """Server with the built-in model and a key, in the environment of another Python."""

    wait_s = 200.0  # the first start compiles kernels

    def __init__(self, python: str, log: Path, **variables: str) -> None:
        self.python = python
        given = {"YAIE_SERVED_MODEL_NAME": MODEL, "YAIE_API_KEY": KEY, "YAIE_AUDIT": "false"}
        super().__init__(Path("builtin"), log, **given, **variables)

    def keep_busy(self, request_id: str) -> None:
        """Send requests for many tokens from a thread, until one is ended or refused."""

        def ask() -> str:
            headers = {"X-API-Key": KEY, "X-Request-ID": request_id}
            url = f"{self.url}/v1/completions"
            answer = requests.post(url, json=BODY, headers=headers, timeout=LONG_S)
            return str(answer.json()["choices"][0]["finish_reason"]) if answer.ok else ""

        def run() -> None:
            with contextlib.suppress(requests.RequestException):
                while ask() == "length":
                    pass

        threading.Thread(target=run, daemon=True).start()

    def end(self, request_id: str) -> None:
        """End a running request."""
        url = f"{self.url}/v1/requests/{request_id}"
        requests.delete(url, headers={"X-API-Key": KEY}, timeout=self.wait_s)

    def all_stats(self) -> Any:
        """Return the statistics of server and engine."""
        headers = {"X-API-Key": KEY}
        return requests.get(f"{self.url}/stats", headers=headers, timeout=self.wait_s).json()


def drain(server: BuiltinServer, stack: ExitStack) -> None:
    """Begin the shutdown of a server while a request is in flight, which never ends.

    The engine process is suspended until the stack closes.
    """
    engine = server.engine_pid()
    os.kill(engine, signal.SIGSTOP)
    stack.callback(os.kill, engine, signal.SIGKILL)
    stack.callback(server.process.kill)
    server.keep_busy("held")
    server.wait_until(lambda: server.all_stats()["active_requests"], "a request in flight")
    server.process.send_signal(signal.SIGTERM)
    server.wait_until(lambda: server.get("/health").status_code == 503, "draining")


@contextmanager
def two_servers(python: str, logs: Path) -> Iterator[tuple[str, str]]:
    """Start both servers at once; yield the address of the ready and of the draining one."""
    with ExitStack() as stack:
        long = str(LONG_S)
        ready = BuiltinServer(python, logs / "ready.log")
        stack.callback(ready.stop)
        draining = BuiltinServer(
            python,
            logs / "draining.log",
            YAIE_DRAIN_S=long,
            YAIE_STALL_S=long,
            YAIE_REQUEST_TIMEOUT_S=long,
        )
        stack.callback(draining.process.kill)
        draining.wait_ready()
        drain(draining, stack)
        ready.wait_ready()
        yield ready.url, draining.url
