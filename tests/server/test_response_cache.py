"""Answers to identical deterministic requests: what is kept, for whom, and for how long."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient, silent_script
from tests.server.test_operation import samples
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.text.tokenizer import Tokenizer

CHAT = "/v1/chat/completions"
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}], "temperature": 0}
HEADER = "X-YAIE-Response-Cache"
_FRESH = re.compile(
    r'"(id|created|processing_time|tokens_per_second|cached_tokens)":("[^"]*"|[\d.]+)'
)


@pytest.fixture
def pair(make_app: MakeApp) -> tuple[TestClient, ScriptedClient]:
    return make_app(response_cache_bytes=1_000_000)


def ask(http: TestClient, path: str = CHAT, **fields: Any) -> tuple[str | None, str]:
    """Return the header of an answer, and the answer without ids and times."""
    response = http.post(path, json={**ASK, **fields})
    assert response.status_code == 200, response.text
    return response.headers.get(HEADER), _FRESH.sub("", response.text)


def test_the_prompts_of_a_call_are_one_call_to_the_engine(
    pair: tuple[TestClient, ScriptedClient],
) -> None:
    http, engine = pair
    fields = {"prompt": ["one", "two"], "messages": None}
    found = [ask(http, "/v1/completions", **fields)[0] for _ in range(2)]
    assert found == ["miss", "hit"], "the call's name is no part of the answer"
    first, second = engine.requests
    assert first.call == second.call != ""


def test_off_by_default(make_app: MakeApp) -> None:
    http, engine = make_app()
    assert ask(http)[0] is None and ask(http)[0] is None
    assert len(engine.requests) == 2
    assert "yaie_response_cache" not in http.get("/metrics").text


@pytest.mark.parametrize("fields", [{}, {"n": 2}, {"logprobs": True, "top_logprobs": 1}])
def test_a_second_answer_needs_no_engine(
    pair: tuple[TestClient, ScriptedClient], fields: dict[str, Any]
) -> None:
    http, engine = pair
    (first, text), (second, again) = ask(http, **fields), ask(http, **fields)
    assert (first, second) == ("miss", "hit")
    assert text == again
    assert len(engine.requests) == 1
    found = samples(http)
    assert (found["yaie_response_cache_hits_total", ""],
            found["yaie_response_cache_misses_total", ""]) == (1, 1)  # fmt: skip
    assert found["yaie_response_cache_bytes", ""] > 0


def said(text: str) -> str:
    """Return the text of a stream of chat chunks."""
    events = [line[6:] for line in text.split("\n\n") if line.startswith("data: {")]
    chunks = [json.loads(_FRESH.sub('"x":0', event)) for event in events]
    return "".join(c["delta"].get("content", "") for each in chunks for c in each["choices"])


def test_hits_are_streamed_too(pair: tuple[TestClient, ScriptedClient]) -> None:
    http, engine = pair
    whole = http.post(CHAT, json=ASK).json()
    response = http.post(CHAT, json={**ASK, "stream": True})
    assert response.headers[HEADER] == "hit"
    assert said(response.text) == whole["choices"][0]["message"]["content"]
    assert response.text.endswith("data: [DONE]\n\n")
    assert len(engine.requests) == 1


def test_a_stop_string_gives_the_same_again(pair: tuple[TestClient, ScriptedClient]) -> None:
    http, _ = pair
    first, second = (http.post(CHAT, json={**ASK, "stop": "pl"}).json() for _ in range(2))
    assert first["choices"] == second["choices"]
    assert second["choices"][0]["stop_reason"] == "pl"
    usages = first["usage"], second["usage"]
    assert usages[0]["completion_tokens"] == usages[1]["completion_tokens"]
    assert usages[1]["prompt_tokens_details"]["cached_tokens"] == usages[1]["prompt_tokens"]


@pytest.mark.parametrize(
    ("fields", "header"),
    [
        ({"temperature": 1}, None),  # each answer is another draw
        ({"temperature": 1, "seed": 5}, "miss"),
        ({"max_tokens": 2}, "miss"),
        ({"seed": 5}, "miss"),
        ({"cache_salt": "other"}, "miss"),
        ({"messages": [{"role": "user", "content": "y"}]}, "miss"),
        ({"response_format": {"type": "json_object"}}, "miss"),
        ({"stream": True}, "hit"),
        ({"priority": 3}, "hit"),
        ({"metadata": {"a": "b"}}, "hit"),
    ],
)
def test_what_changes_the_answer_is_part_of_the_key(
    pair: tuple[TestClient, ScriptedClient], fields: dict[str, Any], header: str | None
) -> None:
    http, _ = pair
    ask(http)
    assert ask(http, **fields)[0] == header


def test_tenants_share_no_answer(make_app: MakeApp) -> None:
    http, engine = make_app(response_cache_bytes=1_000_000, api_key="a,b")
    headers = [http.post(CHAT, json=ASK, headers={"X-API-Key": key}).headers[HEADER]
               for key in "aabb"]  # fmt: skip
    assert headers == ["miss", "hit", "miss", "hit"]
    assert len(engine.requests) == 2


def test_a_key_with_many_answers_removes_its_own_only(make_app: MakeApp) -> None:
    http, _ = make_app(response_cache_bytes=40_000, api_key="a,b")
    cache = http.app.state.service.response_cache  # type: ignore[attr-defined]

    def send(key: str, text: str) -> str:
        body = ASK | {"messages": [{"role": "user", "content": text}]}
        return http.post(CHAT, json=body, headers={"X-API-Key": key}).headers[HEADER]

    assert send("b", "mine") == "miss"
    number = 0
    while cache.nbytes < 30_000 or number < 40:
        number += 1
        assert send("a", f"flood {number}") == "miss"
    assert send("a", "flood 1") == "miss"
    assert send("b", "mine") == "hit"


def test_old_answers_are_computed_again(make_app: MakeApp) -> None:
    http, _ = make_app(response_cache_bytes=1_000_000, response_cache_s=50.0)
    cache = http.app.state.service.response_cache  # type: ignore[attr-defined]
    now = [0.0]
    cache._clock = lambda: now[0]
    assert ask(http)[0] == "miss"
    now[0] = 50.0
    assert ask(http)[0] == "hit"
    now[0] = 50.1
    assert [ask(http)[0], ask(http)[0]] == ["miss", "hit"]


@pytest.mark.integration
def test_the_least_recently_used_answers_leave_first(
    make_app: MakeApp, tokenizer: Tokenizer
) -> None:
    http, _ = make_app(response_cache_bytes=100_000)
    cache = http.app.state.service.response_cache  # type: ignore[attr-defined]
    ask(http)
    each = cache.nbytes
    for number in range(200):
        ask(http, messages=[{"role": "user", "content": f"{number:03}"}])
        assert ask(http)[0] == "hit"  # in use all the time
        assert 0 < cache.nbytes <= 100_000
    assert len(cache._entries) >= 100_000 // each // 2
    first = [{"role": "user", "content": "000"}]
    assert ask(http, messages=first)[0] == "miss"
    assert cache.nbytes == sum(entry.nbytes for entry in cache._entries.values())


def test_a_large_answer_is_not_kept(make_app: MakeApp) -> None:
    http, _ = make_app(response_cache_bytes=4_000)
    assert [ask(http, n=8)[0], ask(http, n=8)[0]] == ["miss", "miss"]


def test_an_answer_that_failed_is_not_kept(make_app: MakeApp) -> None:
    http, engine = make_app(response_cache_bytes=1_000_000)
    engine.script = silent_script
    assert http.post(CHAT, json={**ASK, "request_timeout_s": 0.1}).status_code == 504
    engine.script = engine.say
    assert ask(http)[0] == "miss"


def test_an_answer_from_before_a_clear_is_not_kept(make_app: MakeApp) -> None:
    """The weights of a name are replaced while a request with the former ones runs."""
    http, engine = make_app(response_cache_bytes=1_000_000)
    cache = http.app.state.service.response_cache  # type: ignore[attr-defined]

    async def replaced(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        cache.clear()
        async for delta in engine.say(request):
            yield delta

    engine.script = replaced
    assert [ask(http)[0], ask(http)[0]] == ["miss", "miss"]
    engine.script = engine.say
    assert [ask(http)[0], ask(http)[0]] == ["miss", "hit"]
