"""Keys of a real server: no way around them, and none in anything that it shows."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import random
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import requests

from tests.server.real_server import WAIT_S, Server
from tests.sizes import large, size
from yaie.server.http.middleware import OPEN_PATHS

pytestmark = pytest.mark.integration

API, ADMIN, TOOL, HUB, OTHER = (f"sentinel{each}" for each in ("Api", "Admin", "Tool", "Hub", "S3"))
SENTINELS = (API, ADMIN, TOOL, HUB, OTHER)
FUNCTIONS = "def fail(x: int) -> int:\n    raise SystemExit(x)\n\nTOOLS = [fail]\n"
BODY = {"prompt": "a", "max_tokens": 2}


class Command(Server):
    """`yaie serve` with keys as flags, as a module or by its script."""

    start: tuple[str, ...] = (sys.executable, "-m", "yaie")
    flags: tuple[str, ...] = ("--api-key", API, f"--admin-key={ADMIN}", "--tool-key", TOOL)

    def command(self) -> list[str]:
        return [*self.start, "serve", str(self.folder), "--port", str(self.port), *self.flags]


class Script(Command):
    start = (str(Path(sysconfig.get_path("scripts")) / "yaie"),)


class Variables(Command):
    flags = ()


class Uvicorn(Server):
    """`uvicorn server.api:app`, which reads variables."""


@pytest.fixture(
    params=[
        Command,
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in (Script, Variables, Uvicorn)),
    ]
)
def started(
    request: pytest.FixtureRequest, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    (tmp_path / "tools_of_a_test.py").write_text(FUNCTIONS)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    keys = {"YAIE_API_KEY": API, "YAIE_ADMIN_KEY": ADMIN, "YAIE_TOOL_KEY": TOOL}
    server: Server = request.param(
        model,
        tmp_path / "log",
        YAIE_TOOL_FUNCTIONS="tools_of_a_test:TOOLS",
        XDG_STATE_HOME=str(tmp_path / "state"),
        HF_TOKEN=HUB,
        AWS_SECRET_ACCESS_KEY=OTHER,
        **(keys if request.param in (Variables, Uvicorn) else {}),
    )
    try:
        server.wait_ready()
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def test_no_key_is_shown_anywhere(started: Server, tmp_path: Path) -> None:
    url, key = started.url, {"X-API-Key": API}
    calls: list[tuple[str, str, Any, dict[str, str]]] = [
        ("POST", "/v1/completions", BODY, key),
        ("POST", "/v1/completions", BODY, {"X-API-Key": API + "x"}),
        ("POST", "/v1/completions", {"prompt": {}}, key),
        ("POST", "/v1/completions", BODY | {"cache_salt": OTHER}, key),
        ("POST", "/v1/cache/flush", {}, {"X-API-Key": ADMIN}),
        ("POST", "/v1/cache/flush", {}, {"Authorization": f"Bearer {ADMIN}x"}),
        ("POST", "/v1/tools/execute", {"name": "fail", "arguments": {"x": 3}},
         {**key, "X-Tool-Key": TOOL}),
        ("GET", "/nothing", None, key),
    ]  # fmt: skip
    paths = ("/metrics", "/stats", "/health", "/openapi.json", "/docs", "/v1/models", "/version")
    for path in (*paths, "/v1/cache/stats", "/v1/tools"):
        calls += [("GET", path, None, key), ("GET", path, None, {})]
    shown = {}
    for method, path, body, headers in calls:
        answer = requests.request(method, url + path, json=body, headers=headers, timeout=WAIT_S)
        assert answer.status_code < 500, answer.text
        shown[f"{method} {path} {headers}"] = answer.text + str(answer.headers)
    engine = started.engine_pid()
    shown["environment of the engine"] = Path(f"/proc/{engine}/environ").read_text()
    for pid in (started.process.pid, engine):
        shown[f"command line of {pid}"] = Path(f"/proc/{pid}/cmdline").read_text()
    os.kill(engine, signal.SIGSEGV)  # a crash writes stacks
    started.wait_until(lambda: started.get("/health").status_code != 200, "a crash")
    started.wait_ready()
    shown["metrics after"] = requests.get(url + "/metrics", headers=key, timeout=WAIT_S).text
    started.process.send_signal(signal.SIGTERM)
    started.process.wait(WAIT_S)
    shown["log"] = started.log.read_text()
    for file in (tmp_path / "state").rglob("*"):
        if file.is_file():
            shown[str(file)] = file.read_bytes().hex()
    assert "yaie_key_requests_total{" in shown[f"GET /metrics {key}"]
    hashes = [hashlib.sha256(each.encode()).hexdigest()[:12] for each in SENTINELS]
    for name, text in shown.items():
        found = [each for each in (*SENTINELS, *hashes) if each in text]
        assert not found, f"{found} in {name}"


@pytest.fixture(scope="module")
def guarded(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("guarded")
    server = Server(
        model, folder / "log", YAIE_API_KEY=API, YAIE_ADMIN_KEY=ADMIN, YAIE_TOOL_KEY=TOOL,
        YAIE_BATCH_DIR=str(folder / "batches"),
    )  # fmt: skip
    try:
        server.wait_ready()
        yield server
    finally:
        server.process.kill()
        server.process.wait()


class RawClient:
    """Requests as bytes, on a connection that is opened again after an error."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def status(self, method: str, target: str, *headers: str, host: str = "a") -> int:
        """Return the status; 0 for a connection that closes without one."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Content-Length: 2", *headers]
        raw = "\r\n".join([*lines, "", "{}"]).encode("latin-1")
        for _ in range(2):  # the server may have closed a kept connection
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), WAIT_S)
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._socket.sendall(raw)
                answer = http.client.HTTPResponse(self._socket, method=method)
                answer.begin()
                answer.read()
                if answer.will_close:
                    self.close()
                return answer.status
            self.close()
        return 0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE", "get", "MADE-UP")
HOSTS = ("a/health?", "a/health#", "a/?x=", "evil/metrics?bar=", "/health", "")
CREDENTIALS = ("", "Authorization: Bearer", "Authorization: Bearer x", "X-API-Key: ",
               f"Authorization: Basic {API}", f"X-API-Key: {API}, {API}",
               f"X-API-Key: {API}\r\nX-API-Key: {API}", f"Cookie: api_key={API}",
               f"X-API-Key: {API[:-1]}", f"Authorization: {API}", f"x-admin-key: {ADMIN}",
               f"X-API-Key: {TOOL}", f"X-API-Key: {ADMIN}", "X-Original-URL: /health",
               "X-HTTP-Method-Override: OPTIONS")  # fmt: skip
TRICKS: tuple[Callable[[str], str], ...] = (
    lambda path: "/" + path,
    lambda path: "/health/.." + path,
    lambda path: "/health" + path,
    lambda path: path + "/",
    lambda path: path + "//",
    lambda path: path + ";/health",
    lambda path: path + "?/health",
    lambda path: path + "#/health",
    lambda path: path + "%3f/health",
    lambda path: path + "%00",
    lambda path: path.upper(),
    lambda path: path.replace("/", "%2f"),
    lambda path: path.replace("/", "//"),
    lambda path: path[:-1] + f"%{ord(path[-1]):02x}",
    lambda path: "http://evil/health?" + path,
    lambda path: "http://evil" + path,
    lambda path: "/docs/../.." + path,
    lambda path: "/%2e%2e" + path,
)


def paths_of(server: Server) -> list[str]:
    """Return every path that the server has, hidden ones too, with values for variables."""
    from yaie.server.routes.endpoint_registry import standard_endpoints

    found = {*server.get("/openapi.json").json()["paths"]}
    found |= {each.path for each in standard_endpoints()}
    filled = {each.partition("{")[0] + "x" * ("{" in each) for each in found}
    return sorted({*OPEN_PATHS, "/v1/models/tiny", "/redoc", "/nothing", *filled})


def is_open(method: str, target: str) -> bool:
    path = unquote(target.partition("?")[0].partition("#")[0])
    path = path.removeprefix("http://evil")
    return (path.rstrip("/") or "/") in OPEN_PATHS


@large
def test_no_path_method_host_or_header_gets_around_the_keys(guarded: Server) -> None:
    paths = paths_of(guarded)
    assert len(paths) > 40
    client = RawClient(guarded.port)
    always = [(method, path, "", "a") for path in paths for method in ("GET", "POST")]
    tries = [(method, path, "", "a") for path in paths for method in METHODS]
    tries += [("GET", path, "", host) for path in paths for host in HOSTS]
    tries += [("POST", path, each, "a") for path in paths[::5] for each in CREDENTIALS]
    tries += [("GET", trick(path), "", "a") for path in paths for trick in TRICKS]
    tries += [("POST", trick(path), "", "a") for path in paths[::5] for trick in TRICKS]
    assert len(tries) > 1500
    tries = [*always, *random.Random(5).sample(tries, size(len(tries)))]
    steps = guarded_steps(guarded)
    around = []
    for method, target, header, host in tries:
        status = client.status(method, target, *filter(None, [header]), host=host)
        if status not in (0, 400, 401) and not is_open(method, target):
            around.append((method, target, header, host, status))
    client.close()
    assert not around
    assert guarded_steps(guarded) == steps


def guarded_steps(server: Server) -> int:
    """Return the steps of the engine: none of the tries may run it."""
    stats = requests.get(server.url + "/stats", headers={"X-API-Key": API}, timeout=WAIT_S)
    steps: int = stats.json()["stats"]["num_steps"]
    return steps
