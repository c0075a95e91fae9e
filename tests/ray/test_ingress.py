"""`yaie.ray:app` behind Ray's proxy: answers, keys, and a rolling update under load."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
pytest.importorskip("ray.serve", reason="needs the extra yaie[ray]: make test-ray")

KEY = {"Authorization": "Bearer alice"}
QUICK = {"RAY_worker_niceness": "0"}  # Ray's workers otherwise come after every other program
START_S = 120.0


class Ingress:
    """The program of `serve_twice`, and its address."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        self.start_statuses = set[int]()  # of requests before the first engine was ready
        settings = ("replicas=2", "num_slots=4000", "threads=1", "drain_s=20")
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.ray.serve_twice", str(port), *settings],
                env={**os.environ, "YAIE_API_KEY": "alice", "YAIE_WARMUP": "false", **QUICK},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def wait_ready(self) -> None:
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(requests.RequestException):
                status = requests.get(self.url + "/readiness", timeout=2).status_code
                if status == 200:
                    return
                self.start_statuses.add(status)
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def update(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert any(line == "updated\n" for line in self.process.stdout), self.log.read_text()

    def ask(self, **body: object) -> requests.Response:
        body = {"model": "builtin", "prompt": "Once upon a time", "max_tokens": 20, **body}
        url = self.url + "/v1/completions"
        return requests.post(url, json=body, headers=KEY, timeout=60, stream="stream" in body)


@pytest.fixture(scope="module")
def ingress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ingress]:
    found = Ingress(tmp_path_factory.mktemp("ray") / "ingress.log")
    try:
        found.wait_ready()
        yield found
        found.process.communicate(timeout=60)
        assert found.process.returncode == 0, found.log.read_text()
    finally:
        found.process.kill()


def test_a_start_answers_503(ingress: Ingress) -> None:
    assert 503 in ingress.start_statuses


def test_answers_have_the_routes_and_keys_of_one_server(ingress: Ingress) -> None:
    assert requests.get(ingress.url + "/v1/models", timeout=10).status_code == 401
    answer = ingress.ask(temperature=0)
    assert answer.status_code == 200 and answer.headers["X-YAIE-Replica"]
    lines = [line for line in ingress.ask(temperature=0, stream=True).iter_lines() if line]
    assert lines[-1] == b"data: [DONE]"
    wrong = ingress.ask(temperature=-1)
    assert wrong.status_code == 400 and wrong.json()["error"]["param"] == "temperature"
    metrics = requests.get(ingress.url + "/metrics", timeout=10).text
    assert 'yaie_replicas{state="ready"}' in metrics


def test_a_rolling_update_loses_no_request(ingress: Ingress) -> None:
    answered, failures = set[str](), list[str]()
    is_over = threading.Event()

    def work(number: int) -> None:
        while not is_over.is_set():
            response = ingress.ask(prompt=f"{number} " * 40, max_tokens=60, stream=True)
            lines = [line for line in response.iter_lines() if line]
            if response.status_code != 200 or lines[-1] != b"data: [DONE]":
                failures.append(f"{response.status_code} {lines[-2:]}")
            answered.add(response.headers.get("X-YAIE-Replica", ""))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    before = set(answered)
    ingress.update()
    time.sleep(2)
    is_over.set()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert answered - before, "no new replica has answered"
