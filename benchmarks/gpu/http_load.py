"""Bursts of streamed completions behind one prefix, over HTTP, against `yaie serve`."""

from __future__ import annotations

import json
import random
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import requests

from benchmarks.gpu.results import Results

_PATH = "/v1/completions"
_NAME = "measured"
_READ_BYTES = 2**16
_LARGEST_START_S = 80.0
_LARGEST_WAIT_S = 60.0  # for the next bytes of any stream
_COUNTED = re.compile(rb'"completion_tokens":(\d+)')


@dataclass(frozen=True, slots=True)
class Bursts:
    """Sizes of bursts: prompts have `own` tokens behind the `shared` ones, answers `tokens`."""

    sizes: tuple[int, ...]
    shared: int
    own: int
    tokens: int


@dataclass(slots=True)
class _Stream:
    """The connection of one completion."""

    connection: socket.socket
    content: bytearray = field(default_factory=bytearray)
    first_s: float | None = None


def measure_http(results: Results, folder: Path, bursts: Bursts) -> None:
    """Append a line for the start of a server, and one for each burst."""
    shape = folder.name
    with _Server(folder, results.device.type) as server:
        if not results.add("http start", shape, server.wait_until_ready):
            return
        draw = random.Random(0)
        head = [draw.randrange(3, 500) for _ in range(bursts.shared)]
        for size in bursts.sizes:
            prompts = [
                [*head, *(draw.randrange(3, 500) for _ in range(bursts.own))] for _ in range(size)
            ]
            measure = partial(measure_burst, server.port, prompts, bursts.tokens)
            results.add("http", shape, measure, burst=size, shared=bursts.shared, own=bursts.own)


class _Server:
    """`yaie serve` of one model, as a process."""

    def __init__(self, folder: Path, device: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        command = [sys.executable, "-m", "yaie", "serve", str(folder), "--port", str(self.port)]
        command += ["--served-model-name", _NAME, "--device", device]
        self._process = subprocess.Popen(command)

    def wait_until_ready(self) -> dict[str, Any]:
        """Wait for a first answer. Raises `TimeoutError` or `RuntimeError`."""
        began = time.perf_counter()
        body = {"model": _NAME, "prompt": [5, 6, 7], "max_tokens": 2}
        while True:
            try:
                requests.post(
                    f"http://127.0.0.1:{self.port}{_PATH}", json=body, timeout=_LARGEST_START_S
                ).raise_for_status()
            except requests.RequestException as error:
                if self._process.poll() is not None:
                    code = self._process.returncode
                    raise RuntimeError(f"the server ended with exit code {code}") from error
                if time.perf_counter() - began > _LARGEST_START_S:
                    raise TimeoutError(f"no answer after {_LARGEST_START_S:.0f} s") from error
                time.sleep(0.2)
            else:
                return {"ready_s": round(time.perf_counter() - began, 1)}

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def measure_burst(port: int, prompts: list[list[int]], tokens: int) -> dict[str, Any]:
    """Send all prompts at once and read the streams to their ends.

    Returns tokens a second from the first byte sent to the last received, and milliseconds to the
    first token. Raises `RuntimeError` if an answer is short, `TimeoutError` if none goes on.
    """
    requested = [_request(port, prompt, tokens) for prompt in prompts]
    began = time.perf_counter()
    with _connected(port, requested) as streams:
        _read_all(streams)
    seconds = time.perf_counter() - began
    counted = [int(n) for each in streams for n in _COUNTED.findall(each.content)[-1:]]
    if counted != [tokens] * len(prompts):
        shortest = min(streams, key=lambda each: len(each.content))
        raise RuntimeError(
            f"{sum(counted)} of {tokens * len(prompts)} tokens arrived; the shortest answer ends "
            f"with {bytes(shortest.content[-300:])!r}"
        )
    first = sorted(each.first_s - began for each in streams if each.first_s is not None)
    return {
        "tokens_per_s": round(tokens * len(prompts) / seconds, 1),
        "first_token_ms": round(1e3 * statistics.median(first), 1),
        "last_first_token_ms": round(1e3 * first[-1], 1),
    }


def _request(port: int, prompt: list[int], tokens: int) -> bytes:
    body = {
        "model": _NAME,
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "return_token_ids": True,  # an event for each token, also for one without text
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    content = json.dumps(body).encode()
    head = (
        f"POST {_PATH} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


@contextmanager
def _connected(port: int, requested: list[bytes]) -> Iterator[list[_Stream]]:
    streams: list[_Stream] = []
    try:
        for request in requested:
            stream = _Stream(socket.create_connection(("127.0.0.1", port)))
            streams.append(stream)
            stream.connection.sendall(request)
        yield streams
    finally:
        for stream in streams:
            stream.connection.close()


def _read_all(streams: list[_Stream]) -> None:
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.connection, selectors.EVENT_READ, stream)
        while selector.get_map():
            ready = selector.select(_LARGEST_WAIT_S)
            if not ready:
                raise TimeoutError(f"no stream went on for {_LARGEST_WAIT_S:.0f} s")
            for key, _ in ready:
                stream = key.data
                received = stream.connection.recv(_READ_BYTES)
                stream.content += received
                if stream.first_s is None and b"data: " in stream.content:
                    stream.first_s = time.perf_counter()
                if not received:
                    selector.unregister(stream.connection)
