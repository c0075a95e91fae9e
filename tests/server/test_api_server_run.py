"""`ApiServer.run` as a program: it serves, drains at a signal, and reports a failed hook."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests

pytestmark = pytest.mark.integration

PROGRAM = """
from yaie import ApiServer, LLM, SamplingParams

class Own(ApiServer):
    async def on_startup(self):
        {startup}

    async def on_shutdown(self):
        print("shut down", flush=True)

if __name__ == "__main__":
    with LLM({model!r}, num_slots=600, threads=1) as llm:
        Own(llm).fire(port={port})
        own = SamplingParams(max_tokens=4, ignore_eos=True)
        print("done", llm.generate("the", own)[0].finish_reason, flush=True)
"""
Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def start(tiny_model_dir: Path, tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def run(startup: str) -> tuple[subprocess.Popen[str], str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        script = tmp_path / "program.py"
        script.write_text(PROGRAM.format(startup=startup, model=str(tiny_model_dir), port=port))
        process = subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[2],
            env=_environment(),
        )
        started.append(process)
        return process, f"http://127.0.0.1:{port}"

    yield run
    for process in started:
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}


def test_a_program_serves_its_engine_and_drains_at_a_signal(start: Start) -> None:
    process, url = start("print('started up', flush=True)")
    while True:
        assert process.poll() is None
        with suppress(requests.ConnectionError):
            if requests.get(f"{url}/readiness", timeout=60).ok:
                break
    body = {"prompt": "the lazy dog", "max_tokens": 8, "ignore_eos": True}
    answer = requests.post(f"{url}/v1/completions", json=body, timeout=60).json()
    assert answer["usage"]["completion_tokens"] == 8
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert output.index("started up") < output.index("shut down")
    assert "done length" in output  # the program goes on with its own engine
    assert process.returncode == 0


def test_a_failed_hook_ends_the_program_with_its_reason(start: Start) -> None:
    process, _ = start("raise RuntimeError('no database')")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "on_startup failed: RuntimeError: no database" in output
