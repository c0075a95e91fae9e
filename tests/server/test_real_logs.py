"""Real servers whose log is not read, cannot be written, or is closed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import requests

from tests.server.real_server import WAIT_S, Server

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full"),
]


class Redirected(Server):
    """A server with another standard output and standard error."""

    to = ""
    is_yaie_serve = True

    def command(self) -> list[str]:
        command = super().command()
        if self.is_yaie_serve:
            command = [sys.executable, "-m", "yaie", "serve", "--port", str(self.port)]
        return ["sh", "-c", f'exec "$@" {self.to}', "sh", *command]


def dropped(server: Server) -> int:
    lines = server.get("/metrics").text.splitlines()
    (line,) = [each for each in lines if each.startswith("yaie_log_lines_dropped_total ")]
    return int(float(line.split()[1]))


@pytest.mark.parametrize(
    "is_yaie_serve",
    [True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["yaie", "uvicorn"],
)
def test_a_log_that_nobody_reads_holds_up_nothing(
    model: Path, tmp_path: Path, is_yaie_serve: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(Redirected, "to", f"> {fifo} 2>&1")
    monkeypatch.setattr(Redirected, "is_yaie_serve", is_yaie_serve)
    server = Redirected(model, tmp_path / "log")
    try:
        server.wait_ready()
        query = "x" * 30_000
        while not dropped(server):  # the pipe and the queue are full
            assert server.get(f"/v1/models?{query}").status_code == 200
        assert server.post("/v1/completions", {"prompt": "x"}).status_code == 200
        os.kill(server.engine_pid(), signal.SIGKILL)  # the next one logs as well
        server.wait_until(lambda: server.stats()["restarts"] == 1, "a restart")
        server.wait_ready()
        text = b""
        end = time.monotonic() + WAIT_S
        while b"log lines were dropped" not in text and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                text = text[-100_000:] + os.read(reader, 65536)
        assert b"log lines were dropped" in text
        with contextlib.suppress(requests.ReadTimeout):
            for _ in range(80):  # full again at the end
                server.get(f"/v1/models?{query}")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT_S) == (0 if is_yaie_serve else -signal.SIGTERM)
    finally:
        server.process.kill()
        server.process.wait()
        os.close(reader)


@pytest.mark.parametrize("to", [">/dev/full 2>&1", pytest.param("2>&-", marks=pytest.mark.slow)])
def test_a_log_that_cannot_be_written_ends_nothing(
    model: Path, tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redirected, "to", to)
    server = Redirected(model, tmp_path / "log")
    try:
        server.wait_ready()
        assert server.post("/v1/completions", {"prompt": "x"}).status_code == 200
        os.kill(server.engine_pid(), signal.SIGKILL)
        server.wait_until(lambda: server.stats()["restarts"] == 1, "a restart")
        server.wait_ready()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT_S) == 0
    finally:
        server.process.kill()
        server.process.wait()
