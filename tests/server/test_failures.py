"""When things go wrong: a status if nothing was sent yet, else a last event; never a silent end."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Send

from server import errors as server_errors
from server import generation, streaming
from server.errors import error_body, error_response
from server.routes import completions
from server.schemas.completions import CompletionBody
from server.service import TEXT_THREADS
from server.translate import Call, Translator
from tests.server.conftest import MakeApp
from tests.server.scripted_client import error_script, silent_script
from yaie import errors
from yaie.errors import EngineDied, InvalidRequest, Overloaded, RequestError, YaieError
from yaie.text.answer import Answer, TextPiece
from yaie.types import GenerationRequest, TokenDelta

BODY = {"prompt": "x", "max_tokens": 50}


def all_errors(kind: type[YaieError] = YaieError) -> list[type[YaieError]]:
    return [kind] + [each for sub in kind.__subclasses__() for each in all_errors(sub)]


def test_every_error_has_a_status() -> None:
    for kind in all_errors():
        if kind.__module__ not in (errors.__name__, server_errors.__name__):
            continue
        error = kind("what happened")
        body = error_body(error)["error"]
        assert body["message"] == "what happened"
        assert body["type"]
        response = error_response(error)
        assert response.status_code == kind.status
        assert 400 <= kind.status < 600
        if kind.status == 429 or issubclass(kind, errors.EngineUnavailable):
            assert int(response.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (RequestError("no", 400, None, "prompt"), 400, None),
        (RequestError("long", 400, "context_length_exceeded"), 400, "context_length_exceeded"),
        (RequestError("full", 429, "overloaded"), 429, "overloaded"),
        (RequestError("gone", 503, "engine_died"), 503, "engine_died"),
        (RequestError("/secret/path.py died"), 500, "request_failed"),
        (RequestError("a secret row", 500, "logits_not_finite"), 500, "logits_not_finite"),
    ],
)  # fmt: skip
def test_refusals_by_the_engine(
    make_app: MakeApp, stream: bool, refusal: RequestError, status: int, code: str | None
) -> None:
    http, engine = make_app()
    engine.script = error_script(refusal)
    for path, body in (
        ("/v1/completions", BODY),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
    ):
        response = http.post(path, json={**body, "stream": stream})
        assert response.status_code == status
        error = response.json()["error"]
        assert error["code"] == code
        assert error["param"] == refusal.param
        assert ("Retry-After" in response.headers) is (status in (429, 503))
        assert "secret" not in response.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status"),
    [(EngineDied("died"), 503), (Overloaded("full"), 429),
     (InvalidRequest("bad", param="priority"), 400), (RuntimeError("a bug"), 500)],
)  # fmt: skip
def test_errors_of_the_client(
    make_app: MakeApp, stream: bool, error: Exception, status: int
) -> None:
    http, engine = make_app()
    engine.refusal = error
    response = http.post("/v1/completions", json={**BODY, "stream": stream})
    assert response.status_code == status
    assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    assert "a bug" not in response.text
    if status == 429:
        assert response.headers["Retry-After"] == "1"


def test_an_error_inside_a_stream_is_its_last_event(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(EngineDied("the engine died").to_wire(), after=engine.answer[:3])
    response = http.post("/v1/completions", json={**BODY, "stream": True})
    assert response.status_code == 200
    events = [event for event in response.text.split("\n\n") if event]
    assert "[DONE]" not in response.text
    assert json.loads(events[-1].removeprefix("data: "))["error"]["code"] == "engine_died"
    assert json.loads(events[0].removeprefix("data: "))["choices"][0]["text"]
    # The whole form of the same failure.
    assert http.post("/v1/completions", json=BODY).status_code == 503


def test_a_bug_inside_a_stream_is_its_last_event(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client must not take a stream that broke off for a whole answer."""
    http, engine = make_app()
    push = Answer.push

    def fail_at_third(answer: Answer, delta: TokenDelta) -> bool:
        if delta.token_ids == (engine.answer[2],):
            raise KeyError("a bug")
        return push(answer, delta)

    monkeypatch.setattr(Answer, "push", fail_at_third)
    response = http.post("/v1/completions", json={**BODY, "stream": True})
    events = [event for event in response.text.split("\n\n") if event]
    assert json.loads(events[-1].removeprefix("data: "))["error"]["code"] == "request_failed"
    assert "[DONE]" not in response.text


def test_one_bad_prompt_of_several_ends_the_call(make_app: MakeApp) -> None:
    http, engine = make_app()
    refuse = error_script(RequestError("no", 400, None, "prompt"))

    async def second_fails(request: GenerationRequest) -> Any:
        script = refuse if len(request.prompt_token_ids) == 2 else silent_script
        async for delta in script(request):
            yield delta

    engine.script = second_fails
    response = http.post("/v1/completions", json={"prompt": [[5], [5, 6]]})
    assert response.status_code == 400
    assert len(engine.ended) == 2  # the other was not left behind


@pytest.mark.parametrize("stream", [False, True])
def test_timeouts(make_app: MakeApp, stream: bool) -> None:
    http, engine = make_app(request_timeout_s=0.2)
    engine.script = silent_script
    response = http.post("/v1/completions", json={**BODY, "stream": stream})
    assert response.status_code == 504
    assert response.json()["error"]["code"] == "request_timeout"
    assert len(engine.ended) == 1


def test_a_timeout_inside_a_stream(make_app: MakeApp) -> None:
    http, engine = make_app(request_timeout_s=0.3)

    async def begin_and_hang(request: GenerationRequest) -> Any:
        yield TokenDelta(request_id=request.request_id, index=0, token_ids=(50,))
        async for delta in silent_script(request):
            yield delta

    engine.script = begin_and_hang
    response = http.post("/v1/completions", json={**BODY, "stream": True})
    assert response.status_code == 200
    assert '"code":"request_timeout"' in response.text.split("\n\n")[-2]


def test_the_time_includes_the_line_for_translation(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app(request_timeout_s=0.4)
    translated: list[object] = []
    completion = Translator.completion
    is_over = threading.Event()

    def slow_for_some(translator: Translator, body: CompletionBody) -> Call:
        translated.append(body.prompt)
        if body.prompt == "slow":
            is_over.wait(30)
        return completion(translator, body)

    slow = replace(completions.COMPLETION, translate=slow_for_some)
    monkeypatch.setattr(completions, "COMPLETION", slow)

    def status_of(prompt: str) -> int:
        return http.post("/v1/completions", json={**BODY, "prompt": prompt}).status_code

    try:
        with ThreadPoolExecutor(4) as clients:
            waiting = [clients.submit(status_of, "slow") for _ in range(TEXT_THREADS)]
            while len(translated) < TEXT_THREADS:
                time.sleep(0.01)
            assert status_of("quick") == 504
            assert [each.result() for each in waiting] == [504] * TEXT_THREADS
    finally:
        is_over.set()
    assert status_of("next") == 200
    assert "quick" not in translated  # nobody waited for it any more
    assert len(engine.requests) == 1


def test_a_failing_call_harms_no_other(make_app: MakeApp) -> None:
    http, engine = make_app()
    base = engine.say
    engine.script = error_script(RequestError("x"))
    assert http.post("/v1/completions", json=BODY).status_code == 500
    engine.script = base
    assert http.post("/v1/completions", json=BODY).status_code == 200
    app: Any = http.app
    assert app.state.service.num_active == 0


def test_a_bug_in_a_route_is_a_plain_500(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, _ = make_app()
    app: Any = http.app

    def broken() -> None:
        raise KeyError("/secret")

    monkeypatch.setattr(app.state.service.model(), "translator", broken)
    response = http.post("/v1/completions", json=BODY)
    assert response.status_code == 500
    assert response.json()["error"]["type"] == "internal_error"
    assert response.headers["X-Request-ID"]
    assert "secret" not in response.text


def test_an_error_that_comes_with_the_first_tokens_still_gets_a_status(make_app: MakeApp) -> None:
    http, engine = make_app()
    refuse = error_script(RequestError("no", 400))

    async def both_at_once(request: GenerationRequest) -> Any:
        yield TokenDelta(request_id=request.request_id, index=0, token_ids=(50,))
        async for delta in refuse(request):
            yield delta

    engine.script = both_at_once
    response = http.post("/v1/completions", json={**BODY, "n": 2, "stream": True})
    assert response.status_code == 400


def test_large_bodies_are_read_too(make_app: MakeApp) -> None:
    http, engine = make_app()
    body = {**BODY, "metadata": {"x": "y" * 500_000}}
    assert http.post("/v1/completions", json=body).status_code == 200
    assert http.post("/v1/completions", json={**body, "n": "x"}).status_code == 400
    assert len(engine.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_drain_has_an_end(make_app: MakeApp, stream: bool) -> None:
    http, engine = make_app(drain_s=0.2)
    engine.script = silent_script
    app: Any = http.app
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(http.post, "/v1/completions", json={**BODY, "stream": stream})
        while not engine.requests:
            time.sleep(0.01)
        assert http.portal is not None
        http.portal.call(app.state.service.drain)
        response = asked.result()
    assert (response.status_code, response.json()["error"]["code"]) == (503, "engine_draining")
    assert len(engine.ended) == 1
    assert http.get("/readiness").json()["state"] == "draining"


def ask_with(http: TestClient, send: Send, *, stream: bool = True) -> None:
    """Ask over a connection that stays open and whose writes are `send`."""
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
def test_a_client_that_takes_nothing_is_let_go(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """Its connection stays open, and its window is full: every write waits for ever."""
    monkeypatch.setattr(streaming, "SILENT_READER_S", 0.2)
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
    assert app.state.service.num_active == 0


def test_a_client_that_takes_a_large_event_slowly_gets_all_of_it(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece has the whole time that a client may take nothing."""
    monkeypatch.setattr(streaming, "PIECE_BYTES", 50)
    http, _ = make_app()
    sent: list[Any] = []
    deadlines: list[float | None] = []
    limit = asyncio.timeout

    def watched(delay: float | None) -> asyncio.Timeout:
        deadlines.append(delay)
        return limit(delay)

    async def send(message: Any) -> None:
        sent.append(message)

    monkeypatch.setattr(asyncio, "timeout", watched)
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
    assert deadlines.count(streaming.SILENT_READER_S) == len(sent)


def test_a_large_document_is_sent_in_pieces(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 50)
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


def test_what_may_wait_unread_is_counted_for_each_choice(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()

    async def all_at_once(request: GenerationRequest) -> Any:
        for delta in [delta async for delta in engine.say(request)]:
            yield delta

    engine.script = all_at_once
    num_tokens = len(engine.answer)
    monkeypatch.setattr(generation, "MAX_UNREAD_DELTAS", num_tokens)
    response = http.post("/v1/completions", json={**BODY, "n": 8, "stream": True})
    assert response.text.endswith("data: [DONE]\n\n")
    monkeypatch.setattr(generation, "MAX_UNREAD_DELTAS", num_tokens - 1)
    response = http.post("/v1/completions", json={**BODY, "n": 8, "stream": True})
    assert response.json()["error"]["code"] == "client_too_slow"
    # A whole answer is read at its end only.
    response = http.post("/v1/completions", json={**BODY, "n": 8})
    texts = [choice["text"] for choice in response.json()["choices"]]
    assert texts == ["The tree 🙂 plan."] * 8


def test_an_answer_is_ended_that_would_hold_too_many_log_probabilities(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    scored = {**BODY, "n": 8, "logprobs": 1}
    numbers = 8 * 2 * len(engine.answer)
    monkeypatch.setattr(generation, "MAX_HELD_NUMBERS", numbers)
    assert http.post("/v1/completions", json=scored).status_code == 200
    monkeypatch.setattr(generation, "MAX_HELD_NUMBERS", numbers - 1)
    response = http.post("/v1/completions", json=scored)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "answer_too_large"

    async def slowly(request: GenerationRequest) -> Any:
        async for delta in engine.say(request):
            yield delta
            await asyncio.sleep(0.001)  # so that each is read before the next

    engine.script = slowly
    response = http.post("/v1/completions", json={**scored, "stream": True})
    assert response.text.endswith("data: [DONE]\n\n")
    # Those of a prompt are held in a stream too: they come in its first chunk.
    echoed = {"prompt": [5] * numbers, "echo": True, "logprobs": 1, "max_tokens": 1}
    asked = len(engine.requests)
    response = http.post("/v1/completions", json={**echoed, "stream": True})
    assert response.json()["error"]["code"] == "answer_too_large"
    assert len(engine.requests) == asked  # nothing was computed for it
    fewer = {**echoed, "prompt": [5] * (numbers // 2)}  # two for each but the first
    assert http.post("/v1/completions", json={**fewer, "stream": True}).status_code == 200


def test_what_waits_unread_is_bounded_over_all_choices(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()

    async def all_at_once(request: GenerationRequest) -> Any:
        for delta in [delta async for delta in engine.say(request)]:
            yield delta

    engine.script = all_at_once
    scored = {**BODY, "n": 8, "logprobs": 1, "stream": True}
    numbers = 8 * 3 * len(engine.answer)  # the tokens, their own log-probabilities, and another's
    monkeypatch.setattr(generation, "MAX_HELD_NUMBERS", numbers)
    assert http.post("/v1/completions", json=scored).status_code == 200
    monkeypatch.setattr(generation, "MAX_HELD_NUMBERS", numbers - 1)
    response = http.post("/v1/completions", json=scored)
    assert response.json()["error"]["code"] == "client_too_slow"


def test_others_are_served_while_a_burst_becomes_text(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    turns = 0
    seen: set[int] = set()
    take = Answer.take

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def all_at_once(request: GenerationRequest) -> Any:
        deltas = [delta async for delta in engine.say(request)]
        counting = asyncio.create_task(count_turns())
        try:
            for delta in deltas:
                yield delta
            await asyncio.sleep(3600)
        finally:
            counting.cancel()

    def watched(answer: Answer, index: int) -> TextPiece:
        seen.add(turns)
        return take(answer, index)

    engine.script = all_at_once
    monkeypatch.setattr(Answer, "take", watched)
    monkeypatch.setattr(generation, "TOKENS_IN_A_ROW", len(engine.answer) + 1)
    response = http.post("/v1/completions", json={**BODY, "n": 8})
    assert response.status_code == 200
    assert len(seen) == 4  # after each second choice
