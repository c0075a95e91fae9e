"""The start of `yaie serve --ray`: no cluster, a signal at any phase, Ray's lines and its end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.server.real_server import Server
from yaie.ray.ray_output import show_lines
from yaie.ray.ray_thread import RayThread


def test_engines_lines_are_shown_and_rays_are_debug_logs(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    lines = ["a warning", "I1127 20:19:51.688483 23247 fork_posix.cc:71] skipped"]
    show_lines({"actor_name": "ServeReplica:yaie:Engine", "pid": 7, "lines": lines})
    show_lines({"actor_name": None, "pid": "raylet", "lines": ["a task failed"]})
    assert capsys.readouterr() == ("", "a warning\n")
    assert [each.getMessage() for each in caplog.records] == [
        f"ServeReplica:yaie:Engine: {lines[1]}",
        "raylet: a task failed",
    ]


def test_calls_run_in_order_and_a_call_that_hangs_holds_up_nothing() -> None:
    hangs, order = threading.Event(), list[int]()

    async def call() -> None:
        thread = RayThread()
        first = thread.call(lambda: order.append(1))
        with pytest.raises(ZeroDivisionError):
            await thread.call(lambda: 1 // 0)
        assert first.done()
        hanging = thread.call(hangs.wait)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hanging, 0.01)

    asyncio.run(call())  # it would wait for the threads of its executor
    hangs.set()
    assert order == [1]


@pytest.mark.integration
@pytest.mark.timeout(180)
class TestProcesses:
    """Real processes; needs Ray."""

    @pytest.fixture(autouse=True)
    def _needs_ray(self) -> None:
        pytest.importorskip("ray.serve", reason="needs the extra yaie[ray]: make test-ray")

    @pytest.mark.parametrize(
        ("address", "reason"),
        [
            ("127.0.0.1:1", "refused"),
            ("no-port", "expected auto or HOST:PORT"),
            ("ray://127.0.0.1:10001", "expected auto or HOST:PORT"),
        ],
    )
    def test_no_cluster_is_told_at_once(self, address: str, reason: str) -> None:
        command = [sys.executable, "-m", "yaie", "serve", "--ray", "--ray-address", address]
        done = subprocess.run(
            [*command, "--port", "0"], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 1
        assert f"no Ray cluster is at --ray-address {address}" in done.stderr
        assert reason in done.stderr and "Traceback" not in done.stderr
        assert "YAIE on" not in done.stderr

    def test_a_listener_that_is_no_cluster_is_given_up(self, tmp_path: Path) -> None:
        with socket.create_server(("", 0)) as silent:  # Ray asks the external address
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            server = RayStart(Path("builtin"), tmp_path / "log", YAIE_RAY_ADDRESS=address)
            assert server.process.wait(120) == 1
        assert f"no Ray cluster answers at --ray-address {address}" in server.log.read_text()

    @pytest.mark.parametrize(
        ("phase", "number"),
        [("starting Ray", signal.SIGTERM), ("gcs_server", signal.SIGINT)],
    )
    def test_a_signal_ends_the_start(self, tmp_path: Path, phase: str, number: int) -> None:
        server = RayStart(Path("builtin"), tmp_path / "log")
        try:
            while phase not in server.log.read_text() and not server.processes(phase):
                assert server.process.poll() is None, server.log.read_text()
                time.sleep(0.05)
            server.process.send_signal(number)
            server.process.wait(60)
        finally:
            server.process.kill()
        assert "Traceback" not in server.log.read_text()
        assert "ready" not in server.log.read_text().partition("will serve")[2].partition("\n")[2]
        assert not server.processes("gcs_server")

    def test_the_end_of_ray_ends_the_server(self, tmp_path: Path) -> None:
        server = RayStart(Path("builtin"), tmp_path / "log")
        try:
            server.wait_ready()
            assert "ServeController" not in server.log.read_text()
            (raylet,) = server.processes("raylet/raylet ")
            os.kill(raylet, signal.SIGKILL)
            assert server.process.wait(120) == 5
        finally:
            server.process.kill()
        log = server.log.read_text()
        assert "Ray has ended (raylet)" in log and "start the server again" in log
        assert "state-dump" not in log


class RayStart(Server):
    """`yaie serve --ray` with one replica."""

    wait_s = 150.0

    def command(self) -> list[str]:
        return [self.python, "-m", "yaie", "serve", "--ray", "--port", str(self.port)]
