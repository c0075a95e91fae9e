"""An engine that is killed, and a server that is told to end, both under load, many times."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.faults.traffic import Call, send
from tests.server.real_server import Server
from tests.sizes import IS_WHOLE, large

pytestmark = [pytest.mark.integration, large, pytest.mark.timeout(5400)]

NUM_ROUNDS = 100 if IS_WHOLE else 2
NUM_STREAMS, NUM_WHOLE = 16, 4
NUM_SHORT, NUM_LONG = 12, 4
DRAIN_S = 1.0


def ask(stream: bool, max_tokens: int | None = None, choices: int = 1) -> Call:
    return Call(
        "/v1/chat/completions",
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "the plan?"}],
            "stream": stream,
            "ignore_eos": True,
            "max_tokens": max_tokens,
            "n": choices,
        },
    )


def test_a_killed_engine_ends_every_answer_and_comes_back(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(tiny_model_dir, tmp_path / "log")
    try:
        server.wait_ready()
        seconds = [asyncio.run(kill_engine(server)) for _ in range(NUM_ROUNDS)]
        assert len(server.processes("yaie.client.worker")) == 1  # no orphan
        assert server.get("/health").json()["restarts"] == NUM_ROUNDS
    finally:
        server.stop()
    with capsys.disabled():
        print(f"\n{NUM_ROUNDS} kills; the last answer ended after at most {max(seconds):.2f} s")


async def kill_engine(server: Server) -> float:
    """Return the seconds from the kill to the end of the last answer."""
    calls = [ask(True)] * NUM_STREAMS + [ask(False)] * NUM_WHOLE
    tasks = [
        asyncio.create_task(send(server.port, call, f"r{number}"))
        for number, call in enumerate(calls)
    ]
    while server.stats()["stats"]["num_running"] < len(calls):
        await asyncio.sleep(0.01)
    os.kill(server.engine_pid(), signal.SIGKILL)
    began = time.perf_counter()
    answers = await asyncio.gather(*tasks)
    seconds = time.perf_counter() - began
    for answer in answers[:NUM_STREAMS]:
        assert b'"error"' in answer.splitlines()[-2] or b'data: {"error"' in answer, answer[-500:]
    for answer in answers[NUM_STREAMS:]:
        assert answer.startswith(b"HTTP/1.1 503 "), answer
    between = await send(server.port, ask(False, 1), "between")
    assert between[9:12] in (b"503", b"200"), between  # the engine may be back
    await asyncio.to_thread(server.wait_ready)
    again = await send(server.port, ask(False, 4), "again")
    assert again.startswith(b"HTTP/1.1 200 "), again
    return seconds


@pytest.mark.slow
def test_a_drain_finishes_what_it_can_and_tells_the_rest(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = []
    for number in range(NUM_ROUNDS):
        log = tmp_path / f"log{number}"
        server = Server(tiny_model_dir, log, YAIE_DRAIN_S=str(DRAIN_S))
        try:
            server.wait_ready()
            seconds.append(asyncio.run(drain(server)))
        finally:
            server.stop()
    with capsys.disabled():
        late = max(seconds) - DRAIN_S
        print(
            f"\n{NUM_ROUNDS} drains of {DRAIN_S:g} s; the last exit {late:+.2f} s after the limit"
        )


async def drain(server: Server) -> float:
    """Return the seconds from SIGTERM to the exit of a server with short and long answers."""
    calls = [ask(True, 20)] * NUM_SHORT + [ask(True, choices=16)] * NUM_LONG
    tasks = [
        asyncio.create_task(send(server.port, call, f"r{number}"))
        for number, call in enumerate(calls)
    ]
    while server.stats()["stats"]["num_requests"] < len(calls):
        await asyncio.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    began = time.perf_counter()
    answers = await asyncio.gather(*tasks)
    for answer in answers[:NUM_SHORT]:
        assert b"[DONE]" in answer and b'"error"' not in answer, answer[-500:]
    for answer in answers[NUM_SHORT:]:
        assert b"engine_draining" in answer, answer[-500:]
    status = await asyncio.to_thread(server.process.wait, 60)
    assert status in (0, -signal.SIGTERM)
    return time.perf_counter() - began
