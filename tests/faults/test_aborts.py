"""Clients that leave in every phase of a request, many at once: every slot is free again."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.traffic import LeavingClient, draw_call
from tests.server.real_server import Server
from tests.sizes import IS_WHOLE, large

pytestmark = [pytest.mark.integration, large]

AT_ONCE = 64
NUM_ROUNDS = 157 if IS_WHOLE else 4  # 10,048 clients
MAX_TOKENS = 400


@pytest.mark.timeout(3600)
def test_aborted_requests_free_their_slots(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(
        tiny_model_dir, tmp_path / "log", YAIE_MAX_RUNNING="24", YAIE_PREPARE_TURNS="false"
    )
    times, phases = [], Counter[str]()
    try:
        server.wait_ready()
        fresh = server.stats()["stats"]["num_live_slots"]
        for number in range(NUM_ROUNDS):
            found, seconds = asyncio.run(leave_together(server, random.Random(number)))
            phases += found
            times.append(seconds)
        stats = server.stats()["stats"]
        assert server.process.poll() is None
        log = server.log.read_text()
    finally:
        server.stop()
    assert fresh == stats["num_live_slots"] == 0
    assert stats["num_failed"] == stats["num_audit_failures"] == 0
    assert stats["num_aborted"] > len(times)
    assert "Traceback" not in log
    times.sort()
    with capsys.disabled():
        print(
            f"\n{phases.total()} aborts, {dict(phases)}; all slots free after "
            f"{times[len(times) // 2] * 1000:.0f} ms (median), {times[-1] * 1000:.0f} ms (longest)"
        )


async def leave_together(server: Server, rng: random.Random) -> tuple[Counter[str], float]:
    """Return the phases of clients that left, and the seconds until every slot was free."""
    clients = [
        LeavingClient(
            random.Random(rng.random()),
            server.port,
            draw_call(rng, ("tiny",), MAX_TOKENS),
            f"{rng.getrandbits(64):x}",
        )
        for _ in range(AT_ONCE)
    ]
    tasks = [asyncio.create_task(client.begin()) for client in clients]
    await asyncio.wait(tasks, timeout=rng.random())  # others still wait for their answer
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*(client.leave() for client in clients))
    began = time.perf_counter()
    while True:
        stats = await asyncio.to_thread(server.stats)
        seconds, engine = time.perf_counter() - began, stats["stats"]
        if not (engine["num_live_slots"] or engine["num_waiting"] or stats["active_requests"]):
            return Counter(client.phase for client in clients), seconds
        assert seconds < server.wait_s, stats
