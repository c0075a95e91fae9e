"""Failures: a status before the first byte, a last event after it, never a silent end."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.server.conftest import MakeApp
from tests.server.scripted_client import error_script, silent_script
from yaie.base import errors
from yaie.base.errors import (
    EngineDied,
    InvalidRequest,
    Overloaded,
    RequestError,
    YaieError,
)
from yaie.base.settings import Settings
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.server.http import http_errors as server_errors
from yaie.server.http.http_errors import error_reply, error_response
from yaie.server.requests.call import Call
from yaie.server.requests.translator import Translator
from yaie.server.routes import completions
from yaie.server.schemas.completions import CompletionBody
from yaie.text.answer import Answer

BODY = {"prompt": "x", "max_tokens": 50}


def all_errors(kind: type[YaieError] = YaieError) -> list[type[YaieError]]:
    return [kind] + [each for sub in kind.__subclasses__() for each in all_errors(sub)]


def test_every_error_has_a_status() -> None:
    for kind in all_errors():
        if kind.__module__ not in (errors.__name__, server_errors.__name__):
            continue
        error = kind("what happened")
        body = msgspec.to_builtins(error_reply(error).error)
        assert body["message"] == "what happened"
        assert body["type"]
        response = error_response(error, {"path": "/"})
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
        (RequestError("late", 503, "queue_timeout", None, 9), 503, "queue_timeout"),
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


@pytest.mark.parametrize("stream", [False, True])
def test_the_retry_time_of_the_engine_is_the_header(make_app: MakeApp, stream: bool) -> None:
    http, engine = make_app()
    engine.script = error_script(Overloaded("full", retry_after_s=41.2).to_wire())
    response = http.post("/v1/completions", json={**BODY, "stream": stream})
    assert (response.status_code, response.headers["Retry-After"]) == (429, "42")


def test_an_error_inside_a_stream_is_its_last_event(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(EngineDied("the engine died").to_wire(), after=engine.answer[:3])
    response = http.post("/v1/completions", json={**BODY, "stream": True})
    assert response.status_code == 200
    events = [event for event in response.text.split("\n\n") if event]
    assert "[DONE]" not in response.text
    assert json.loads(events[-1].removeprefix("data: "))["error"]["code"] == "engine_died"
    assert json.loads(events[0].removeprefix("data: "))["choices"][0]["text"]
    # The same failure without a stream.
    assert http.post("/v1/completions", json=BODY).status_code == 503


def test_a_bug_inside_a_stream_is_its_last_event(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client must not mistake a broken stream for a complete one."""
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
    assert len(engine.ended) == 2  # the other one ended too


@pytest.mark.parametrize("stream", [False, True])
def test_timeouts(make_app: MakeApp, stream: bool) -> None:
    http, engine = make_app(request_timeout_s=0.5)  # time to reach the engine
    engine.script = silent_script
    response = http.post("/v1/completions", json={**BODY, "stream": stream})
    assert response.status_code == 504
    assert response.json()["error"]["code"] == "request_timeout"
    assert len(engine.ended) == 1


def test_a_timeout_inside_a_stream(make_app: MakeApp) -> None:
    http, engine = make_app(request_timeout_s=1.0)  # time for the first token

    async def begin_and_hang(request: GenerationRequest) -> Any:
        yield TokenDelta(request_id=request.request_id, index=0, token_ids=(50,))
        async for delta in silent_script(request):
            yield delta

    engine.script = begin_and_hang
    response = http.post("/v1/completions", json={**BODY, "stream": True})
    assert response.status_code == 200
    assert '"code":"request_timeout"' in response.text.split("\n\n")[-2]


def test_the_timeout_includes_the_wait_for_a_text_thread(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    translated: list[object] = []
    text_threads = Settings.text_threads
    completion = Translator.completion
    is_over = threading.Event()

    def slow_for_some(translator: Translator, body: CompletionBody) -> Call:
        translated.append(body.prompt)
        if body.prompt == "slow":
            is_over.wait(30)
        return completion(translator, body)

    slow = replace(completions.COMPLETION, translate=slow_for_some)
    monkeypatch.setattr(completions, "COMPLETION", slow)

    def status_of(prompt: str, timeout_s: float = 0.4) -> int:
        body = {**BODY, "prompt": prompt, "request_timeout_s": timeout_s}
        return http.post("/v1/completions", json=body).status_code

    try:
        with ThreadPoolExecutor(4) as clients:
            waiting = [clients.submit(status_of, "slow") for _ in range(text_threads)]
            while len(translated) < text_threads:
                time.sleep(0.01)
            assert status_of("quick") == 504
            assert [each.result() for each in waiting] == [504] * text_threads
    finally:
        is_over.set()
    assert status_of("next", 60.0) == 200
    assert "quick" not in translated  # cancelled before its turn
    assert len(engine.requests) == 1


def test_a_failing_call_harms_no_other(make_app: MakeApp) -> None:
    http, engine = make_app()
    base = engine.say
    engine.script = error_script(RequestError("x"))
    assert http.post("/v1/completions", json=BODY).status_code == 500
    engine.script = base
    assert http.post("/v1/completions", json=BODY).status_code == 200
    app: Any = http.app
    assert len(app.state.service.active) == 0


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


def test_an_error_with_the_first_tokens_gets_a_status(make_app: MakeApp) -> None:
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
