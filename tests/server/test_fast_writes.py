"""Events that are written without a task: the bytes of the long way, and its care for clients."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from uvicorn.server import ServerState

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from tests.server.wire import FakeTransport
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.server.http.fast_writes import EXTENSION, WRITER, FastWriter, find_writer
from yaie.server.http.protocol import HttpProtocol
from yaie.server.replies import delivery
from yaie.server.routes.completions import create_completion

CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}]}
BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", CHAT),
    ("/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": True}}),
    ("/v1/chat/completions", {**CHAT, "stop": ["pl"]}),
    ("/v1/chat/completions", {**CHAT, "logprobs": True}),
    ("/v1/chat/completions", {**CHAT, "n": 2}),
    ("/v1/chat/completions", {**CHAT, "return_token_ids": True}),
    ("/v1/completions", {"prompt": "x"}),
    ("/v1/completions", {"prompt": "x", "echo": True, "max_tokens": 5}),
    ("/v1/responses", {"input": "x"}),
    ("/v1/messages", {**CHAT, "max_tokens": 50}),
]
MIDDLE = 3  # deltas before a test acts
# Differ between two answers to the same request.
_OWN = re.compile(rb'"(id|item_id|created\w*|completed_at|\w*time|tokens_per_second)":[^,}]+')
Act = Callable[[HttpProtocol, int], None]


def nothing(protocol: HttpProtocol, number: int) -> None:
    """Leave the connection as it is."""


class Asked:
    """One request on a connection of the protocol, in the loop of a running application."""

    def __init__(self, http: TestClient, engine: ScriptedClient, act: Act = nothing) -> None:
        self.http, self.engine, self.act = http, engine, act
        self.writes: list[bytes] = []  # straight to the connection
        self._protocol: HttpProtocol

    def stream(self, path: str, body: dict[str, Any]) -> bytes:
        """Return the events, from a request to the end of its response or connection."""
        self.engine.script = self._say
        assert self.http.portal is not None
        written: bytes = self.http.portal.call(self._ask, path, {**body, "stream": True})
        head, _, chunks = written.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        return _OWN.sub(b"", join(chunks))

    async def _say(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        number = 0
        async for delta in self.engine.say(request):
            await asyncio.sleep(0.01)  # the reader waits
            if number == 1:
                yield TokenDelta(request_id=request.request_id, index=0)
            self.act(self._protocol, number)
            yield delta
            number += 1

    async def _ask(self, path: str, body: dict[str, Any]) -> bytes:
        loop = asyncio.get_running_loop()
        config = uvicorn.Config(self.http.app, ws="none", log_level="error", lifespan="off")
        protocol = self._protocol = HttpProtocol(config, ServerState(), {}, _loop=loop)
        transport = FakeTransport(loop, protocol)
        protocol.connection_made(transport)
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        transport.feed(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        async with asyncio.timeout(20):
            while not transport.written.endswith(b"0\r\n\r\n") and not transport.is_closing():
                await asyncio.sleep(0.01)
        transport.close()
        return bytes(transport.written)


def join(chunks: bytes) -> bytes:
    """Return the parts of a chunked body, each behind a mark."""
    parts = []
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        length = int(size, 16)
        assert rest[length : length + 2] == b"\r\n"
        parts.append(rest[:length])
        chunks = rest[length + 2 :]
    return b"|".join(parts)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Bodies that were written straight to the connection."""
    found: list[bytes] = []
    write = FastWriter.write

    def noted(self: FastWriter, body: bytes) -> None:
        found.append(body)
        write(self, body)

    monkeypatch.setattr(FastWriter, "write", noted)
    return found


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_the_bytes_are_those_of_the_long_way(
    make_app: MakeApp,
    monkeypatch: pytest.MonkeyPatch,
    writes: list[bytes],
    path: str,
    body: dict[str, Any],
) -> None:
    asked = Asked(*make_app())
    direct = asked.stream(path, body)
    assert bool(writes) == ({"stop", "logprobs", "n"}.isdisjoint(body))
    monkeypatch.setattr(delivery, "find_writer", lambda scope: None)
    num_direct = len(writes)
    assert asked.stream(path, body) == direct
    assert len(writes) == num_direct
    assert len(asked.engine.ended) == 2


def test_a_client_that_does_not_keep_up_gets_no_direct_write(
    make_app: MakeApp, writes: list[bytes]
) -> None:
    """Its buffer is full for some steps; what waited comes as one piece."""
    during: list[int] = []

    def act(protocol: HttpProtocol, number: int) -> None:
        if number == MIDDLE:
            protocol.pause_writing()
        if number in (MIDDLE, MIDDLE + 3):
            during.append(len(writes))
        if number == MIDDLE + 3:
            protocol.resume_writing()

    http, engine = make_app()
    engine.answer = engine.answer[:-1] * 2 + engine.answer[-1:]
    asked = Asked(http, engine, act)
    text = b"".join(re.findall(rb'"text":"([^"]*)"', asked.stream(*BODIES[6])))
    assert text.decode() == "The tree 🙂 plan" * 2 + "."
    assert during[0] == during[1] < len(writes)


def test_a_disconnect_ends_the_request(make_app: MakeApp, writes: list[bytes]) -> None:
    def act(protocol: HttpProtocol, number: int) -> None:
        if number == MIDDLE:
            protocol.transport.close()

    asked = Asked(*make_app(), act)
    asked.stream(*BODIES[6])
    assert len(asked.engine.ended) == 1
    assert 0 < len(writes) <= MIDDLE
    app: Any = asked.http.app
    assert len(app.state.service.active) == 0


def test_direct_writes_count_in_the_metrics(make_app: MakeApp, writes: list[bytes]) -> None:
    asked = Asked(*make_app())
    asked.stream(*BODIES[6])
    found = asked.http.get("/metrics").text
    counted = re.search(r"^yaie_inter_token_seconds_count(?:{.*})? (\S+)$", found, re.MULTILINE)
    assert counted is not None
    assert float(counted[1]) == len(asked.engine.answer) - 1
    assert writes


class _App:
    """An application with some layers."""

    def __init__(self, *layers: Any) -> None:
        self.user_middleware = [Middleware(each) for each in layers]


class Watcher:
    """A layer of the operator's own, which may want to see every part of a body."""


async def own_handler() -> None:
    """Stand for a handler of the operator's own."""


@pytest.mark.parametrize(
    ("handler", "layers", "chunked", "is_direct"),
    [
        (create_completion, (HttpProtocol,), True, True),
        (create_completion, (HttpProtocol, Watcher), True, False),
        (own_handler, (), True, False),
        (create_completion, (), False, False),
    ],
)
def test_unknown_layers_and_handlers_see_every_part(
    handler: Any, layers: tuple[Any, ...], chunked: bool, is_direct: bool
) -> None:
    facts = {"chunked_encoding": chunked, "scope": {"method": "POST"}}
    writer = FastWriter(SimpleNamespace(flow=None, transport=None, **facts))  # type: ignore[arg-type]
    scope = {"app": _App(*layers), "endpoint": handler, "extensions": {EXTENSION: {WRITER: writer}}}
    assert (find_writer(scope) is writer) == is_direct
    assert find_writer({}) is None
