"""A thousand streams that wait, in a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.real_server import WAIT_S, Server

pytestmark = pytest.mark.integration

NUM_STREAMS = 1000
MOST_SERVED = 100  # one after the other, while the others come
MOST_BYTES = 256 * 1024  # of the server's memory for a stream
PING = b": ping\n"


def memory_of(server: Server) -> int:
    """Return the resident bytes of the server process."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = [each for each in status.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


async def open_stream(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection whose stream has begun: its first comment, or event, has come."""
    body = {"prompt": "the", "max_tokens": 2000, "stream": True, "ignore_eos": True}
    sent = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
    assert b" 200 " in await reader.readline()
    while not (await reader.readline()).startswith((PING, b"data:")):
        assert not reader.at_eof()
    return reader, writer


def test_a_thousand_idle_streams(start: Callable[..., Server]) -> None:
    """One sequence runs and the streams wait for its place; nothing else suffers."""
    server = start(YAIE_MAX_RUNNING="1", YAIE_STREAM_PING_S="0.5")
    server.wait_ready()
    before = memory_of(server)

    async def hold() -> None:
        async with asyncio.timeout(WAIT_S):
            opened = await asyncio.gather(*(open_stream(server) for _ in range(NUM_STREAMS)))
        stats = await asyncio.to_thread(server.stats)
        assert stats["active_requests"] >= NUM_STREAMS - MOST_SERVED
        assert stats["stats"]["num_waiting"] >= NUM_STREAMS - MOST_SERVED
        assert (memory_of(server) - before) / NUM_STREAMS < MOST_BYTES
        for path in ("/health", "/v1/models"):
            assert (await asyncio.to_thread(server.get, path)).status_code == 200
        for reader, _ in opened[-3:]:  # the connections live
            while await reader.readline() != PING:
                assert not reader.at_eof()
        for _, writer in opened:
            writer.close()

    asyncio.run(hold())
    server.wait_idle()
    assert server.stats()["stats"]["num_live_slots"] == 0
    assert server.post("/v1/completions", {"prompt": "x"}).status_code == 200
