"""`uvicorn server.api:app` as a child process of a test."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

WAIT_S = 60.0


class Server:
    """A server process and its address."""

    python = sys.executable  # of the server; tests in another environment set it
    wait_s = WAIT_S

    def __init__(self, folder: Path, log: Path, **variables: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self.folder = folder
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("YAIE_")},
            "YAIE_MODEL": str(folder),
            "YAIE_SERVED_MODEL_NAME": "tiny",
            "YAIE_NUM_SLOTS": "8192",
            "YAIE_THREADS": "1",
            "YAIE_AUDIT": "true",
            "YAIE_WEIGHTS_CACHE": "off",
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                self.command(), env=environment, stdout=out, stderr=subprocess.STDOUT
            )

    def command(self) -> list[str]:
        """Return the command line that starts the server."""
        return [self.python, "-m", "uvicorn", "server.api:app", "--port", str(self.port)]

    def wait_until(self, is_so: Callable[[], Any], what: str | Callable[[], str]) -> Any:
        """Return the first true answer of `is_so`."""
        end = time.monotonic() + self.wait_s
        while time.monotonic() < end:
            with contextlib.suppress(requests.ConnectionError):
                answer = is_so()
                # A response with an error status is falsy, but an answer.
                if answer or isinstance(answer, requests.Response):
                    return answer
            time.sleep(0.02)
        what = what if isinstance(what, str) else what()
        raise AssertionError(f"not within {self.wait_s} s: {what}\n{self.log.read_text()}")

    def wait_ready(self) -> None:
        self.wait_until(lambda: self.get("/health").status_code == 200, "ready")

    def get(self, path: str) -> requests.Response:
        return requests.get(self.url + path, timeout=WAIT_S)

    def post(self, path: str, body: Any, **options: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=WAIT_S, **options)

    def stats(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.get("/stats").json()
        return answer

    def wait_idle(self) -> None:
        self.wait_until(lambda: not self.busy(), lambda: f"idle, but {self.busy()}")

    def busy(self) -> dict[str, int]:
        """Return the counts of `/stats` that are 0 when the server is idle, unless they are."""
        stats = self.stats()
        counts = {name: stats[name] for name in ("active_requests", "waiting_turns")}
        for name in ("num_running", "num_waiting", "num_expected_prompts"):
            counts[name] = stats["stats"][name]
        return {name: count for name, count in counts.items() if count}

    def processes(self, word: str) -> list[int]:
        """Return the processes below the server whose command has `word`."""
        listed = subprocess.run(
            ["ps", "-eo", "pid=,ppid=,args=", "-ww"], capture_output=True, check=True, text=True
        )
        rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
        parents = {int(row[0]): int(row[1]) for row in rows}

        def is_below(pid: int) -> bool:
            while pid in parents and pid != self.process.pid:
                pid = parents[pid]
            return pid == self.process.pid

        return [int(row[0]) for row in rows if word in row[-1] and is_below(int(row[0]))]

    def engine_pids(self) -> list[int]:
        """Wait for engine processes; return them all."""
        found: list[int] = self.wait_until(
            lambda: self.processes("yaie.client.worker"), "an engine process"
        )
        return found

    def engine_pid(self) -> int:
        return self.engine_pids()[0]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(WAIT_S)
        finally:
            self.process.kill()
