"""Servers of the client tests: one that answers, one that is shutting down, one for retrieval.

With `make test-clients REPLICAS=2` the first two are `yaie serve --ray --replicas 2`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import requests

from tests.clients.matrix import ROOT
from tests.clients.questions import KEY, MODEL
from tests.clients.retrieval import EMBEDDER, RERANKER
from tests.server.real_server import Server

LONG_S = 3600.0
BODY = {"prompt": "the", "max_tokens": 3000, "ignore_eos": True}


class Launch(NamedTuple):
    """Start of the tests' server, in one process or on Ray."""

    python: str
    replicas: int  # on Ray; 0: one engine, without Ray


class BuiltinServer(Server):
    """Server with the built-in model and a key, in the environment of another Python."""

    wait_s = 200.0  # the first start compiles kernels

    def __init__(self, launch: Launch, log: Path, **variables: str) -> None:
        self.python, self.replicas = launch
        self.num_engines = self.replicas or 1
        self.wait_s *= self.num_engines
        given = {"YAIE_SERVED_MODEL_NAME": MODEL, "YAIE_API_KEY": KEY, "YAIE_AUDIT": "false"}
        super().__init__(Path("builtin"), log, **{**given, **variables})

    def command(self) -> list[str]:
        if not self.replicas:
            return super().command()
        options = ("--replicas", str(self.replicas), "--port", str(self.port))
        return [self.python, "-m", "yaie", "serve", "--ray", *options]

    def wait_ready(self) -> None:
        super().wait_ready()
        self.wait_until(self._has_every_engine, "every engine")

    def _has_every_engine(self) -> bool:
        return len(self.engine_pids()) == self.num_engines

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


def start_retrieval(launch: Launch, folder: Path) -> BuiltinServer:
    """Start a server of a tiny embedding model and a tiny reranker, without Ray."""
    writing = [launch.python, "-m", "tests.clients.retrieval_models", str(folder)]
    subprocess.run(writing, cwd=ROOT, check=True)
    models = ",".join(f"{name}={folder / name}" for name in (EMBEDDER, RERANKER))
    # Not the name of a single model, nor a model of that name.
    single = {"YAIE_MODEL": "", "YAIE_SERVED_MODEL_NAME": ""}
    alone = Launch(launch.python, replicas=0)
    server = BuiltinServer(alone, folder / "log", YAIE_MODELS=models, **single)
    server.num_engines = 2
    return server


def drain(server: BuiltinServer, stack: ExitStack) -> None:
    """Begin the shutdown of a server while a request is in flight, which never ends.

    The engine processes are suspended until the stack closes.
    """
    for engine in server.engine_pids():
        os.kill(engine, signal.SIGSTOP)
        stack.callback(os.kill, engine, signal.SIGKILL)
    stack.callback(server.process.kill)
    server.keep_busy("held")
    server.wait_until(lambda: server.all_stats()["active_requests"], "a request in flight")
    server.process.send_signal(signal.SIGTERM)
    server.wait_until(lambda: server.get("/health").status_code == 503, "draining")


@contextmanager
def all_servers(launch: Launch, logs: Path) -> Iterator[tuple[str, str, str]]:
    """Start them at once; yield the addresses of the ready, the draining and the retrieval one."""
    with ExitStack() as stack:
        long = str(LONG_S)
        ready = BuiltinServer(launch, logs / "ready.log")
        stack.callback(ready.stop)
        draining = BuiltinServer(
            launch,
            logs / "draining.log",
            YAIE_DRAIN_S=long,
            YAIE_STALL_S=long,
            YAIE_REQUEST_TIMEOUT_S=long,
        )
        stack.callback(draining.process.kill)
        retrieval = start_retrieval(launch, logs)
        stack.callback(retrieval.stop)
        draining.wait_ready()
        drain(draining, stack)
        ready.wait_ready()
        retrieval.wait_ready()
        yield ready.url, draining.url, retrieval.url
