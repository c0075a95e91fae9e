"""Operator's decisions for requests: defaults, tools, timeouts, and the cuts of streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient, error_script, silent_script
from yaie.base.errors import ConfigError, RequestError
from yaie.base.settings import load_settings
from yaie.base.types import GenerationRequest, TokenDelta

CHAT = "/v1/chat/completions"
ASK = {"messages": [{"role": "user", "content": "x"}]}
TOOL = {"type": "function", "function": {"name": "f"}}


def test_answers_have_a_default_limit(make_app: MakeApp) -> None:
    http, engine = make_app(default_max_tokens=3)
    http.post(CHAT, json=ASK)
    http.post("/v1/completions", json={"prompt": "x"})
    http.post(CHAT, json={**ASK, "max_tokens": 5})
    assert [each.sampling.max_tokens for each in engine.requests] == [3, 3, 5]
    assert http.get("/v1/models/tiny").json()["default_max_tokens"] == 3
    room = make_app(default_max_tokens=10_000)
    room[0].post(CHAT, json=ASK)
    (request,) = room[1].requests
    assert request.sampling.max_tokens == 256 - len(request.prompt_token_ids)


def test_sampling_has_defaults(make_app: MakeApp) -> None:
    http, engine = make_app(default_sampling="temperature=0.25, top_k=7,presence_penalty=1")
    http.post(CHAT, json=ASK)
    http.post(CHAT, json={**ASK, "temperature": 0.5})
    first, second = (each.sampling for each in engine.requests)
    assert (first.temperature, first.top_k, first.presence_penalty) == (0.25, 7, 1.0)
    assert (second.temperature, second.top_k) == (0.5, 7)
    assert http.get("/v1/models/tiny").json()["default_sampling"]["temperature"] == 0.25


def test_the_models_sampling_can_be_left_out(make_app: MakeApp) -> None:
    seen = []
    for model_sampling in (True, False):
        engine = ScriptedClient([5])
        engine.info = replace(INFO, default_sampling={"temperature": 0.125})
        http, _ = make_app(engine, model_sampling=model_sampling)
        http.post(CHAT, json=ASK)
        seen.append(engine.requests[0].sampling.temperature)
    assert seen == [0.125, 1.0]


@pytest.mark.parametrize(
    "text", ["temperature", "n=2", "temperature=hot", "temperature=-1", "top_k=0.5", "max_tokens=5"]
)
def test_wrong_default_sampling_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="default_sampling"):
        load_settings(default_sampling=text)


def test_tools_can_be_switched_off(make_app: MakeApp) -> None:
    http, engine = make_app(tools=False)
    refused = http.post(CHAT, json={**ASK, "tools": [TOOL]})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools")
    assert http.post(CHAT, json={**ASK, "functions": [{"name": "f"}]}).status_code == 400
    responses = {"input": "x", "tools": [{"type": "function", "name": "f"}]}
    assert http.post("/v1/responses", json=responses).status_code == 400
    assert http.post(CHAT, json={**ASK, "tools": []}).status_code == 200
    assert len(engine.requests) == 1
    assert http.get("/v1/models/tiny").json()["capabilities"]["tools"] is False


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_may_lower_its_timeout(make_app: MakeApp, stream: bool) -> None:
    http, engine = make_app(request_timeout_s=60.0)
    engine.script = silent_script
    late = http.post(CHAT, json={**ASK, "request_timeout_s": 0.05, "stream": stream})
    assert late.status_code == 504
    assert "timeout of 0.05 s" in late.json()["error"]["message"]
    strict, engine = make_app(request_timeout_s=0.05)
    engine.script = silent_script
    late = strict.post(CHAT, json={**ASK, "request_timeout_s": 60, "stream": stream})
    assert "timeout of 0.05 s" in late.json()["error"]["message"]


async def _slowly(deltas: AsyncIterator[TokenDelta]) -> AsyncGenerator[TokenDelta, None]:
    async for delta in deltas:
        yield delta
        await asyncio.sleep(0.003)


def texts(http: TestClient, **fields: Any) -> list[str]:
    """Return the texts of a stream's chunks."""
    said = http.post("/v1/completions", json={"prompt": "x", "stream": True, **fields}).text
    chunks = [json.loads(line[6:]) for line in said.split("\n\n") if line.startswith("data: {")]
    return [choice["text"] for chunk in chunks for choice in chunk["choices"] if choice["text"]]


@pytest.mark.parametrize("n", [1, 3])
def test_a_stream_is_cut_as_its_interval_says(make_app: MakeApp, n: int) -> None:
    lengths = {}
    for interval in (1, 3, 100):
        http, engine = make_app(stream_interval=interval)
        engine.script = lambda request, engine=engine: _slowly(engine.say(request))
        found = texts(http, n=n, max_tokens=50)
        assert len("".join(found)) == n * len("The tree 🙂 plan.")
        lengths[interval] = len(found)
        first_len = len(found[0])
        assert first_len <= len("The tree")  # the first token does not wait
    assert lengths[1] > lengths[3] >= lengths[100] >= n


async def _late(
    deltas: AsyncIterator[TokenDelta], wait_s: float
) -> AsyncGenerator[TokenDelta, None]:
    await asyncio.sleep(wait_s)
    async for delta in deltas:
        yield delta


def test_a_silent_stream_is_kept_alive(make_app: MakeApp) -> None:
    http, engine = make_app(stream_ping_s=0.03)

    def late(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        return _late(engine.say(request), 0.2)

    engine.script = late
    said = http.post("/v1/completions", json={"prompt": "x", "stream": True}).text
    events = said.split("\n\n")
    assert 1 <= events.count(": ping") <= 7
    assert events[0] == ": ping"
    assert "".join(texts(http)) == "The tree 🙂 plan."
    assert events[-2] == "data: [DONE]"


def test_a_quick_failure_has_a_status_beside_pings(make_app: MakeApp) -> None:
    http, engine = make_app(stream_ping_s=5.0)
    engine.script = error_script(RequestError("broken", status=500))
    assert http.post("/v1/completions", json={"prompt": "x", "stream": True}).status_code == 500


def test_a_late_failure_is_the_last_event_beside_pings(make_app: MakeApp) -> None:
    http, engine = make_app(stream_ping_s=0.02)

    async def fail_late(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        await asyncio.sleep(0.1)
        async for delta in error_script(RequestError("broken", status=500))(request):
            yield delta

    engine.script = fail_late
    answer = http.post("/v1/completions", json={"prompt": "x", "stream": True})
    assert answer.status_code == 200
    *pings, last = answer.text.strip().split("\n\n")
    assert set(pings) == {": ping"}
    assert json.loads(last.removeprefix("data: "))["error"]
