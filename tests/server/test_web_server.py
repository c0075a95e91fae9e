"""Limits on connections under `uvicorn server.api:app`, which `yaie serve` has too."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import pytest
import requests
import uvicorn

from tests.server.conftest import MakeApp
from tests.server.real_server import WAIT_S, Server
from yaie.server.http import web_server
from yaie.server.http.web_server import TrustedProxies, bound_connections, refuse_several_workers

GET = b"GET /liveness HTTP/1.1\r\n"


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server without an engine; the last test may have ended it."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    server = Server(model, log, YAIE_LAZY_LOAD="true", YAIE_DRAIN_S="1")
    try:
        server.wait_until(lambda: server.get("/liveness"), "an answer")
        yield server
    finally:
        server.stop()


def send(server: Server, data: bytes) -> bytes:
    """Return everything that the server answers before it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as connection:
        received = b""
        with contextlib.suppress(ConnectionError):  # it closes while we send
            connection.sendall(data)
            while part := connection.recv(65536):
                received += part
        return received


@pytest.mark.integration
def test_heads_are_limited_under_a_foreign_uvicorn(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as connection:
        connection.sendall(GET)
        sent = 0
        with pytest.raises(ConnectionError):
            while sent < 64 * 1024**2:
                sent += connection.send(b"X: " + b"a" * 8190 + b"\r\n")
        assert sent < 16 * 1024**2  # the system's buffers


@pytest.mark.integration
@pytest.mark.parametrize(
    "headers",
    [b"", b"Host: a\r\nHost: b\r\n", b"Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"],
)
def test_ambiguous_heads_are_refused_under_a_foreign_uvicorn(
    server: Server, headers: bytes
) -> None:
    assert send(server, GET + headers + b"\r\n").startswith(b"HTTP/1.1 400 ")


@pytest.mark.integration
def test_java_offers_of_http_2_are_answered_under_a_foreign_uvicorn(server: Server) -> None:
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEA"}
    refused = server.post("/v1/completions", {"prompt": "x", "n": "one"}, headers=offer)
    assert "n must be an integer" in refused.text


@pytest.mark.integration
def test_a_forwarded_address_is_logged_only_if_it_is_one(server: Server) -> None:
    def logged(forwarded: str) -> str:
        path = f"/v1/{time.monotonic_ns()}"
        requests.get(server.url + path, headers={"X-Forwarded-For": forwarded}, timeout=WAIT_S)

        def find() -> re.Match[str] | None:
            return re.search(f"(\\S*) - .GET {path}", server.log.read_text(errors="replace"))

        found: re.Match[str] = server.wait_until(find, "a line")
        return found[1].rpartition(":")[0]

    assert logged("6.6.6.6, 203.0.113.7") == "203.0.113.7"
    assert logged("2001:db8::1") == "2001:db8::1"
    for text in ("6.6.6.6\x85EVIL", "fe80::1%\x85EVIL", 'not an ip "x"', "1.2.3.4 " * 4000):
        assert logged(text) == "127.0.0.1"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("203.0.113.7", ("203.0.113.7", 0)),
        ("6.6.6.6, 203.0.113.7:4321, 127.0.0.1", ("203.0.113.7", 4321)),
        ("[2001:db8::1]:99999", ("2001:db8::1", 0)),
        ("garbage, 203.0.113.7", ("203.0.113.7", 0)),
        ("203.0.113.7, garbage", ("", 0)),
        ("fe80::1%\x85EVIL", ("", 0)),
        ("1.2.3.4," * 5000, ("", 0)),
        ("", ("", 0)),
    ],
)
def test_a_proxy_names_an_address_or_nothing(given: str, found: tuple[str, int]) -> None:
    assert TrustedProxies("127.0.0.1").get_trusted_client_address(given) == found


class OtherServer:
    """Web server whose lifespan calls the application, as Hypercorn's does."""

    async def receive(self) -> dict[str, str]:
        return {"type": "lifespan.startup"}


def test_another_web_server_is_told_what_it_does_not_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="yaie"):
        bound_connections(OtherServer().receive)
    assert "is not uvicorn: it limits neither heads nor slow clients" in caplog.text


@pytest.mark.integration
def test_an_incomplete_request_does_not_delay_the_end(server: Server) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{"
    with (
        socket.create_connection(("127.0.0.1", server.port)) as half,
        socket.create_connection(("127.0.0.1", server.port)),
    ):
        half.sendall(head)
        sought = "yaie_http_active_requests 1.0"
        server.wait_until(lambda: sought in server.get("/metrics").text, "the request")
        server.stop()  # fails after a minute: the client sends nothing more


@pytest.mark.integration
def test_a_separate_metrics_port_answers_metrics_only(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    """A probe of the wrong port must not be green."""
    with caplog.at_level(logging.INFO, logger="yaie"):
        http, _ = make_app(metrics_port=0)
    found = re.search(r"metrics on (http://\S+)/metrics", caplog.text)
    assert found is not None
    url = found[1]
    scraped = requests.get(f"{url}/metrics", timeout=WAIT_S)
    assert scraped.status_code == 200 and "yaie_http_responses_total" in scraped.text
    for path in ("", "/", "/stats", "/liveness", "/health", "/v1/models", "/metrics/x"):
        assert requests.get(url + path, timeout=WAIT_S).status_code == 404, path
    assert http.get("/metrics").status_code == 404
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")


class Ended(Exception):
    """The end of a worker process."""


def worker_of_gunicorn(age: int, workers: int) -> Any:
    """Return what uvicorn's lifespan shows of a gunicorn that runs it (`uvicorn_worker`)."""

    class Worker:
        async def callback_notify(self) -> None:
            """Tell gunicorn that the worker lives."""

    worker: Any = Worker()
    worker.age, worker.cfg = age, SimpleNamespace(workers=workers)
    config = uvicorn.Config(lambda: None, callback_notify=worker.callback_notify)
    config.load()
    return SimpleNamespace(config=config)


def worker_of_hypercorn(workers: int) -> Any:
    return SimpleNamespace(config=SimpleNamespace(workers=workers))


@pytest.mark.parametrize(
    ("server", "is_refused", "is_told"),
    [
        (worker_of_gunicorn(1, 2), True, True),
        (worker_of_gunicorn(2, 2), True, False),
        (worker_of_gunicorn(1, 1), False, False),
        (worker_of_hypercorn(2), True, True),
        (worker_of_hypercorn(1), False, False),
    ],
)
def test_workers_of_other_servers_are_refused_once(
    server: Any,
    is_refused: bool,
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        raise Ended

    monkeypatch.setattr(web_server.os, "_exit", end)
    monkeypatch.setattr(multiprocessing.current_process(), "_name", "Process-1")
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    receive = MethodType(lambda self: None, server)
    with contextlib.suppress(Ended):
        bound_connections(receive)  # type: ignore[arg-type]
    assert codes == [3] * is_refused
    assert ("workers (--workers" in capfd.readouterr().err) is is_told


@pytest.mark.parametrize(("number", "is_refused"), [(1, False), (2, True), (3, True)])
def test_a_second_worker_of_granian_is_refused(
    number: int,
    is_refused: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its workers know their own number only; its parent stops the first one then."""
    codes: list[int] = []
    monkeypatch.setattr(web_server.os, "_exit", codes.append)
    worker = multiprocessing.current_process()
    monkeypatch.setattr(worker, "_name", "granian-worker")
    monkeypatch.setattr(worker, "_args", (number, None), raising=False)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    refuse_several_workers()
    assert codes == [3] * is_refused
    assert ("several workers (--workers" in capfd.readouterr().err) is (number == 2)
