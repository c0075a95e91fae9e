"""The programs of `examples/`, run as a reader would, with a small model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from yaie.models.builtin import BUILTIN_MODEL_DIR

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = {path.name for path in (ROOT / "examples").glob("*.py")}
LOCAL = {
    "fork_and_choose.py": "prompt tokens were cached",
    "tools_loop.py": 'get_weather({"city": "Paris"})',
    "schema.py": "Person(name=",
    "explain_a_miss.py": "date last: 1",
    "offline_batch.py": '{"question": "What is the capital of Greece?"',
}
REMOTE = {
    "openai_client.py": "prompt tokens were cached",
    "several_models.py": "second: ",
}
OWN = "own_endpoint.py"
WAIT_S = 300.0  # the first program compiles the kernels

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not (BUILTIN_MODEL_DIR / "model.safetensors").is_file(), reason="the model is not packaged"
    ),
]


def environment() -> dict[str, str]:
    """Return the variables of an example: one thread, and this checkout first."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("YAIE_")}
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "YAIE_WEIGHTS_CACHE": "off"}


def printed(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running(*command: str | Path) -> Iterator[str]:
    """Run a server whose last argument is its port, and yield its address once it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, *command, str(port)], env=environment())
    url, end = f"http://127.0.0.1:{port}", time.monotonic() + WAIT_S
    try:
        while time.monotonic() < end and server.poll() is None:
            try:
                if requests.get(f"{url}/readiness", timeout=5).ok:
                    break
            except requests.ConnectionError:
                pass
            time.sleep(0.1)
        else:
            raise AssertionError("the server is not ready")
        yield url
    finally:
        server.terminate()
        server.wait(WAIT_S)


@pytest.fixture(scope="module")
def two_models() -> Iterator[str]:
    models = ["--model", "first=builtin", "--model", "second=builtin", "--num-slots", "4096"]
    with running("-m", "yaie", "serve", *models, "--port") as url:
        yield url


def test_every_example_runs_here() -> None:
    assert {*LOCAL, *REMOTE, OWN} == EXAMPLES


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_is_short_and_listed(name: str) -> None:
    assert len((ROOT / "examples" / name).read_text(encoding="utf-8").splitlines()) <= 50
    assert f"({name})" in (ROOT / "examples/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LOCAL)
def test_an_example_in_one_process(name: str) -> None:
    assert LOCAL[name] in printed(name, "builtin")


@pytest.mark.parametrize("name", REMOTE)
def test_an_example_with_a_server(name: str, two_models: str) -> None:
    assert REMOTE[name] in printed(name, two_models)


def test_the_endpoint_of_your_own() -> None:
    with running(ROOT / "examples" / OWN, "builtin") as url:
        answer = requests.get(f"{url}/sentiment", params={"text": "I love it"}, timeout=WAIT_S)
        assert sum(json.loads(answer.text).values()) == pytest.approx(1.0)
        assert requests.get(f"{url}/v1/models", timeout=WAIT_S).ok
