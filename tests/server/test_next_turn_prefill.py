"""Next turns: the engine is told the beginning of the prompt that the next request sends."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from yaie.base.errors import InvalidRequest
from yaie.server.models import next_turn_prefill
from yaie.server.requests import call
from yaie.text.tokenizer import Tokenizer

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "the plan?"}]
AGAIN = {"role": "user", "content": "And now the tree, please."}
SAID = "The tree 🙂 plan."


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_turn_prefill, "PAUSE_S", 0.0)


def post(http: TestClient, path: str, body: Any) -> Any:
    answer = http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer if body.get("stream") else answer.json()


def expected(engine: ScriptedClient, number: int = 1) -> list[tuple[int, ...]]:
    """Return the expected prompts once there are so many."""
    end = time.monotonic() + 30
    while len(engine.expected) < number and time.monotonic() < end:
        time.sleep(0.002)
    return [prompt.token_ids for prompt in engine.expected]


def check_begins(prompt: tuple[int, ...], known: tuple[int, ...], tokenizer: Tokenizer) -> None:
    """Check that the next prompt begins with the known part, up to the new message."""
    assert prompt[: len(known)] == known
    assert tokenizer.decode(prompt[len(known) :], False).startswith(AGAIN["content"])


@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions(make_app: MakeApp, tokenizer: Tokenizer, stream: bool) -> None:
    http, engine = make_app()
    body = {"messages": ASKED, "stream": stream, "cache_salt": "mine"}
    post(http, "/v1/chat/completions", body)
    (known,) = expected(engine)
    assert engine.expected[0].cache_salt == "mine"
    assert engine.expected[0].owner == engine.requests[0].owner == ""
    answer = {"role": "assistant", "content": SAID}
    post(http, "/v1/chat/completions", {"messages": [*ASKED, answer, AGAIN]})
    check_begins(engine.requests[-1].prompt_token_ids, known, tokenizer)


@pytest.mark.parametrize("stream", [False, True])
def test_messages(make_app: MakeApp, tokenizer: Tokenizer, stream: bool) -> None:
    http, engine = make_app()
    system, asked = ASKED[0]["content"], ASKED[1:]
    body = {"system": system, "messages": asked, "max_tokens": 99, "stream": stream}
    post(http, "/v1/messages", body)
    (known,) = expected(engine)
    answer = {"role": "assistant", "content": [{"type": "text", "text": SAID}]}
    post(http, "/v1/messages", {**body, "messages": [*asked, answer, AGAIN]})
    check_begins(engine.requests[-1].prompt_token_ids, known, tokenizer)


@pytest.mark.parametrize("stream", [False, True])
def test_responses(make_app: MakeApp, tokenizer: Tokenizer, stream: bool) -> None:
    http, engine = make_app()
    answer = post(http, "/v1/responses", {"input": ASKED, "stream": stream})
    if stream:
        last = next(line for line in answer.text.splitlines()[::-1] if line.startswith("data: "))
        answer = json.loads(last.removeprefix("data: "))["response"]
    (known,) = expected(engine)
    following = {"input": AGAIN["content"], "previous_response_id": answer["id"]}
    post(http, "/v1/responses", following)
    check_begins(engine.requests[-1].prompt_token_ids, known, tokenizer)


def test_a_trimmed_stop_string_and_a_cut_answer(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    for number, limit in enumerate(({"stop": " plan"}, {"max_tokens": 2}), 1):
        answer = post(http, "/v1/chat/completions", {"messages": ASKED, **limit})
        message = answer["choices"][0]["message"]
        assert message["content"] != SAID
        known = expected(engine, number)[-1]
        post(http, "/v1/completions", {"prompt": "wait", "max_tokens": 1})
        messages = [*ASKED, message, AGAIN]
        ids = post(http, "/tokenize", {"messages": messages})["tokens"]
        check_begins(tuple(ids), known, tokenizer)


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2},
        {"add_generation_prompt": False},
        {"truncate_prompt_tokens": 5},
        {"messages": [*ASKED, {"role": "assistant", "content": "The"}], "echo": True},
    ],
)
def test_turns_whose_next_one_is_unknown(make_app: MakeApp, fields: Any) -> None:
    http, engine = make_app()
    post(http, "/v1/chat/completions", {"messages": ASKED, **fields})
    post(http, "/v1/chat/completions", {"messages": ASKED})
    assert len(expected(engine)) == 1  # of the second request


def test_it_can_be_turned_off(make_app: MakeApp) -> None:
    http, engine = make_app(prepare_turns=False)
    post(http, "/v1/chat/completions", {"messages": ASKED})
    time.sleep(0.05)
    assert engine.expected == []


@pytest.mark.parametrize("error", [InvalidRequest("too long"), KeyError("a bug")])
def test_a_turn_that_cannot_be_rendered_does_not_stop_the_others(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    http, engine = make_app()
    render, errors = call.known_prompts, [error]

    def fails_once(*arguments: Any, **options: Any) -> Any:
        if errors:
            raise errors.pop()
        return render(*arguments, **options)

    monkeypatch.setattr(call, "known_prompts", fails_once)
    for _ in range(2):
        post(http, "/v1/chat/completions", {"messages": ASKED})
    assert len(expected(engine)) == 1
    assert errors == []


def test_old_turns_are_dropped() -> None:
    """The queue is bounded by its turns, their prompts' tokens and their conversations' bytes."""
    from types import SimpleNamespace

    queue = next_turn_prefill.NextTurnPrefill(lambda: False)
    for _ in range(next_turn_prefill.MAX_WAITING + 5):
        request = SimpleNamespace(prompt_token_ids=(1,) * 1000)
        queue.add(None, call.EndedTurn(None, request, (), ()), 0)  # type: ignore[arg-type]
    assert len(queue._waiting) == next_turn_prefill.MAX_WAITING
    long = SimpleNamespace(prompt_token_ids=(1,) * next_turn_prefill.MAX_WAITING_TOKENS)
    queue.add(None, call.EndedTurn(None, long, (), ()), 0)  # type: ignore[arg-type]
    assert len(queue._waiting) == 1
    short = call.EndedTurn(None, SimpleNamespace(prompt_token_ids=(1,)), (), ())  # type: ignore[arg-type]
    queue.add(None, short, next_turn_prefill.MAX_WAITING_BYTES)  # type: ignore[arg-type]
    queue.add(None, short, 1)  # type: ignore[arg-type]
    assert len(queue._waiting) == 1
    largest = SimpleNamespace(prompt_token_ids=(1,) * (next_turn_prefill.MAX_WAITING_TOKENS + 1))
    for ended, num_bytes in (
        (short, next_turn_prefill.MAX_WAITING_BYTES + 1),
        (call.EndedTurn(None, largest, (), ()), 0),  # type: ignore[arg-type]
    ):
        queue.add(None, ended, num_bytes)  # type: ignore[arg-type]
        assert [each for *_, each in queue._waiting] == [1]
    queue.stop()
