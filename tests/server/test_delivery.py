"""Delivery of responses: slow readers, large documents and bounds on buffered parts."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Send

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from tests.server.wire import VirtualLoop
from yaie.base.types import GenerationRequest
from yaie.server.replies import delivery, unread_tokens

BODY = {"prompt": "x", "max_tokens": 50}


def ask_with(http: TestClient, send: Send, *, stream: bool = True) -> None:
    """Send a request over a connection with `send` for its writes and without an end."""
    body = json.dumps({**BODY, "stream": stream}).encode()
    arriving = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return arriving.pop() if arriving else await asyncio.Event().wait()

    async def ask() -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": "/v1/completions",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        async with asyncio.timeout(20):
            await http.app(scope, receive, send)

    assert http.portal is not None
    http.portal.call(ask)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_reads_nothing_is_given_up(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """Its connection stays open and its window is full: every write waits forever."""
    monkeypatch.setattr(delivery, "READ_TIMEOUT_S", 0.2)
    http, engine = make_app()
    app: Any = http.app
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    ask_with(http, send, stream=stream)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert len(engine.ended) == 1
    assert len(app.state.service.active) == 0


def test_a_stream_that_fills_the_memory_ends_before_its_read_timeout(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_tokens, "MAX_UNREAD_BYTES", 64 * 8)
    http, engine = make_app(ScriptedClient([50] * 40))
    app: Any = http.app

    async def slowly(request: GenerationRequest) -> Any:
        async for delta in engine.say(request):
            yield delta
            await asyncio.sleep(0.001)  # each is read before the next

    engine.script = slowly

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    ask_with(http, send)  # it waits 20 s, and the read timeout is 60 s
    assert len(engine.ended) == 1
    assert len(app.state.service.active) == 0
    answer = http.post("/v1/completions", json={**BODY, "stream": True})
    assert answer.text.endswith("data: [DONE]\n\n")


def test_a_slow_reader_gets_all_of_a_large_event(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "PIECE_BYTES", 50)
    http, _ = make_app()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    ask_with(http, send)
    bodies = [message for message in sent if message["type"] == "http.response.body"]
    assert max(len(message["body"]) for message in bodies) <= 50
    assert [message["more_body"] for message in bodies] == [True] * (len(bodies) - 1) + [False]
    text = b"".join(message["body"] for message in bodies).decode()
    events = text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert max(map(len, events)) > 50
    said = [json.loads(event[6:])["choices"][0]["text"] for event in events[:-2]]
    assert "".join(said) == "The tree 🙂 plan."


def test_each_write_has_the_whole_read_timeout() -> None:
    loop = VirtualLoop()
    ends: list[float] = []
    delays = [0.0, 59.0, 59.9, 0.0, 30.0, 59.0, 61.0, 1.0]

    async def send(message: Any) -> None:
        await asyncio.sleep(message["delay_s"])
        ends.append(loop.time())

    async def write_all() -> None:
        async with delivery.read_limit(send) as limited_send:
            for delay_s in delays:
                await asyncio.sleep(7.0)  # until there is more to write
                await limited_send({"delay_s": delay_s})

    with closing(loop):
        with pytest.raises(TimeoutError):
            loop.run_until_complete(write_all())
        assert len(ends) == delays.index(61.0)
        assert loop.time() == pytest.approx(ends[-1] + 7.0 + delivery.READ_TIMEOUT_S)


def test_the_read_timeout_leaves_no_timer_behind() -> None:
    loop = VirtualLoop()

    async def send(message: Any) -> None:
        pass

    async def write_once() -> None:
        async with delivery.read_limit(send) as limited_send:
            await limited_send({})
        await asyncio.sleep(10 * delivery.READ_TIMEOUT_S)  # no timeout reaches this task

    with closing(loop):
        loop.run_until_complete(write_once())


def test_a_large_document_is_sent_in_pieces(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "PIECE_BYTES", 50)
    http, _ = make_app()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    ask_with(http, send, stream=False)
    head, *bodies = sent
    document = b"".join(message["body"] for message in bodies)
    assert dict(head["headers"])[b"content-length"] == str(len(document)).encode()
    assert max(len(message["body"]) for message in bodies) <= 50
    assert [message["more_body"] for message in bodies] == [True] * (len(bodies) - 1) + [False]
    assert json.loads(document)["choices"][0]["text"] == "The tree 🙂 plan."


def test_unread_deltas_are_bounded_for_each_choice(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()

    async def all_at_once(request: GenerationRequest) -> Any:
        for delta in [delta async for delta in engine.say(request)]:
            yield delta

    engine.script = all_at_once
    num_tokens = len(engine.answer)
    monkeypatch.setattr(unread_tokens, "MAX_UNREAD_TOKENS", num_tokens)
    response = http.post("/v1/completions", json={**BODY, "n": 8, "stream": True})
    assert response.text.endswith("data: [DONE]\n\n")
    monkeypatch.setattr(unread_tokens, "MAX_UNREAD_TOKENS", num_tokens - 1)
    response = http.post("/v1/completions", json={**BODY, "n": 8, "stream": True})
    assert response.json()["error"]["code"] == "client_too_slow"
    # A whole answer is read at its end only.
    response = http.post("/v1/completions", json={**BODY, "n": 8})
    texts = [choice["text"] for choice in response.json()["choices"]]
    assert texts == ["The tree 🙂 plan."] * 8


def test_too_many_buffered_logprobs_end_the_answer(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    scored = {**BODY, "n": 8, "logprobs": 1}
    numbers = 8 * 2 * len(engine.answer)
    monkeypatch.setattr(unread_tokens, "MAX_STORED_NUMBERS", numbers)
    assert http.post("/v1/completions", json=scored).status_code == 200
    monkeypatch.setattr(unread_tokens, "MAX_STORED_NUMBERS", numbers - 1)
    response = http.post("/v1/completions", json=scored)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "answer_too_large"

    async def slowly(request: GenerationRequest) -> Any:
        async for delta in engine.say(request):
            yield delta
            await asyncio.sleep(0.001)  # each is read before the next

    engine.script = slowly
    response = http.post("/v1/completions", json={**scored, "stream": True})
    assert response.text.endswith("data: [DONE]\n\n")
    # A stream buffers the logprobs of a prompt too: they are in its first chunk.
    echoed = {"prompt": [5] * numbers, "echo": True, "logprobs": 1, "max_tokens": 1}
    asked = len(engine.requests)
    response = http.post("/v1/completions", json={**echoed, "stream": True})
    assert response.json()["error"]["code"] == "answer_too_large"
    assert len(engine.requests) == asked  # refused before the engine
    fewer = {**echoed, "prompt": [5] * (numbers // 2)}  # two for each but the first
    assert http.post("/v1/completions", json={**fewer, "stream": True}).status_code == 200


def test_unread_tokens_are_bounded_over_all_choices(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()

    async def all_at_once(request: GenerationRequest) -> Any:
        for delta in [delta async for delta in engine.say(request)]:
            yield delta

    engine.script = all_at_once
    scored = {**BODY, "n": 8, "logprobs": 1, "stream": True}
    numbers = 8 * 3 * len(engine.answer)  # the tokens, their own log-probabilities, and another's
    monkeypatch.setattr(unread_tokens, "MAX_STORED_NUMBERS", numbers)
    assert http.post("/v1/completions", json=scored).status_code == 200
    monkeypatch.setattr(unread_tokens, "MAX_STORED_NUMBERS", numbers - 1)
    response = http.post("/v1/completions", json=scored)
    assert response.json()["error"]["code"] == "client_too_slow"
