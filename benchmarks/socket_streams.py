"""Cost of a streamed token with HTTP: from the engine's frame to the bytes in a socket.

`python -m benchmarks.socket_streams` prints JSON. The application runs in uvicorn as `yaie serve`
starts it, with a client in place of the engine, which delivers one token to each stream at a
steady rate. Another process reads the connections. Figures are processor time of the server's
process for a token, the system's calls included: medians over groups of steps.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import uvicorn

from benchmarks.streams import PATHS, TEXT, StandInClient
from yaie.base.settings import EngineConfig, Settings
from yaie.base.types import EngineState
from yaie.bench.machine import describe_machine
from yaie.server.app import create_app
from yaie.server.http.protocol import HttpProtocol

STEPS_A_SECOND = 8
_GROUP = 8  # steps
_MAX_TOKENS = 2**14
_READ_BYTES = 2**16


async def _measure(path: str, streams: int, groups: int) -> dict[str, Any]:
    """Return the figures of one endpoint with so many streams."""
    made: list[StandInClient] = []

    def make_client(config: EngineConfig) -> StandInClient:
        made.append(StandInClient(config))
        return made[0]

    app = create_app(Settings(model="builtin", log_level="warning"), make_client, _fail)
    config = uvicorn.Config(app, http=HttpProtocol, ws="none", log_level="warning")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=streams) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started or app.state.service.model().state is not EngineState.READY:
            await asyncio.sleep(0.01)
        (client,) = made
        client.text = app.state.service.model().tokenizer.encode(TEXT)
        port = listener.getsockname()[1]
        reader = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.socket_streams", "--read", path),
            *("--port", str(port), "--streams", str(streams)),
            stdout=asyncio.subprocess.PIPE,
        )
        while client.num_streams < streams:
            await asyncio.sleep(0.01)
        frames = [client.next_frame() for _ in range((groups + 1) * _GROUP)]
        times = [
            await _deliver(client, frames[first : first + _GROUP], streams)
            for first in range(0, len(frames), _GROUP)
        ]
        client.receive(client.next_frame(is_last=True))
        read, _ = await reader.communicate()
        server.should_exit = True
        await serving
    tokens = (len(frames) + 1) * streams
    if int(read) != tokens:
        raise RuntimeError(f"{int(read)} of {tokens} tokens were read")
    return {
        "path": path,
        "streams": streams,
        "microseconds_a_token": round(statistics.median(times[1:]) * 1e6, 2),
    }


async def _deliver(client: StandInClient, frames: list[bytes], streams: int) -> float:
    """Return the processor seconds of a token."""
    began_s = time.process_time()
    for frame in frames:
        client.receive(frame)
        await asyncio.sleep(1 / STEPS_A_SECOND)
    return (time.process_time() - began_s) / (len(frames) * streams)


def _fail(error: Exception) -> None:
    raise error


def read_streams(path: str, port: int, streams: int) -> int:
    """Ask for streams, read them to their ends, and return the number of tokens."""
    body = {**PATHS[path], "stream": True, "max_tokens": _MAX_TOKENS, "ignore_eos": True}
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    num_tokens = 0
    with selectors.DefaultSelector() as selector:
        for _ in range(streams):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(head.encode() + content)
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                connection = key.fileobj  # type: ignore[assignment]
                received = connection.recv(_READ_BYTES)
                num_tokens += received.count(_TOKEN[path])
                if not received:
                    selector.unregister(connection)
                    connection.close()
    return num_tokens


_TOKEN = {"/v1/chat/completions": b'"delta":{"content"', "/v1/completions": b'"text":"'}


def measure_streams(streams: int, groups: int) -> dict[str, Any]:
    """Measure every endpoint, in the event loop that uvicorn would choose."""
    gc.disable()  # its pauses belong to no token
    factory: Callable[[], asyncio.AbstractEventLoop] | None
    factory = uvicorn.Config(app="", loop="auto").get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        found = [runner.run(_measure(path, streams, groups)) for path in PATHS]
    return {"benchmark": "socket-streams", "machine": describe_machine(), "streams": found}


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Streamed tokens with HTTP.")
    parser.add_argument("--streams", type=int, default=256)
    parser.add_argument("--groups", type=int, default=8, help=f"of {_GROUP} steps each")
    parser.add_argument("--read", metavar="PATH", help="be the clients of another process")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.read:
        print(read_streams(options.read, options.port, options.streams))
    else:
        print(json.dumps(measure_streams(options.streams, options.groups), indent=2))


if __name__ == "__main__":
    main()
