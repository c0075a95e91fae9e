"""Counts, tokens and texts of prompts: the same as those of the real request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from yaie.base.settings import Settings
from yaie.base.types import EngineState
from yaie.server.app import create_app
from yaie.server.requests import prompt_tokens
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import Tokenizer, load_tokenizer

MESSAGES = [{"role": "user", "content": "the plan? 🙂"}]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.fixture(scope="module")
def http(request: pytest.FixtureRequest) -> Iterator[TestClient]:
    folder = request.getfixturevalue("tiny_model_dir")
    engine = ScriptedClient(load_tokenizer(folder).encode("plan"))
    app = create_app(
        Settings(model=str(folder), served_model_name="tiny"), make_client=lambda config: engine
    )
    with TestClient(app, raise_server_exceptions=False) as http:
        while http.get("/readiness").status_code != 200:
            time.sleep(0.005)
        yield http


def post(http: TestClient, path: str, body: Any) -> Any:
    response = http.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@st.composite
def chats(draw: st.DrawFn) -> dict[str, Any]:
    """Bodies of chat completions."""
    roles = st.sampled_from(["system", "user", "assistant"])
    parts = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}), max_size=2)
    message = st.fixed_dictionaries({"role": roles, "content": TEXTS | parts})
    body: dict[str, Any] = {"messages": draw(st.lists(message, min_size=1, max_size=3))}
    if draw(st.booleans()):
        function = {"name": draw(st.text("abc", min_size=1, max_size=3)), "parameters": SCHEMA}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = draw(st.sampled_from(["auto", "none"]))
    if draw(st.booleans()):
        body["add_generation_prompt"] = draw(st.booleans())
    if draw(st.booleans()):
        body["truncate_prompt_tokens"] = draw(st.sampled_from([-1, 1, 9]))
    return body


def is_too_long(response: Any) -> bool:
    return response.status_code == 400 and "context length" in response.text


@given(body=chats())
@settings(max_examples=60, deadline=None)
def test_a_chat_has_the_counted_tokens(http: TestClient, body: dict[str, Any]) -> None:
    counted = post(http, "/v1/count_tokens", body)
    assert counted["max_model_len"] == 256
    listed = post(http, "/tokenize", body)
    assert len(listed["tokens"]) == listed["count"] == counted["count"]
    real = http.post("/v1/chat/completions", json=body | {"max_tokens": 1})
    if is_too_long(real):
        assert counted["count"] > 255
    else:
        assert real.json()["usage"]["prompt_tokens"] == counted["count"], real.text


@given(prompts=st.lists(TEXTS.filter(bool), min_size=1, max_size=3), adds=st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_completion_has_the_counted_tokens(
    http: TestClient, prompts: list[str], adds: bool
) -> None:
    body = {"prompt": prompts, "add_special_tokens": adds, "max_tokens": 1}
    real = post(http, "/v1/completions", body)
    count = post(http, "/v1/count_tokens", body)["count"]
    assert count == real["usage"]["prompt_tokens"]


@st.composite
def conversations(draw: st.DrawFn) -> dict[str, Any]:
    """Bodies of Anthropic's API that end with the user's turn."""
    text = st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
    result = st.builds(
        lambda text, failed: {
            "type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": failed,
        },
        TEXTS, st.booleans(),
    )  # fmt: skip
    use = st.builds(
        lambda text: {"type": "tool_use", "id": "t1", "name": "find", "input": {"a": text}}, TEXTS
    )
    thinking = st.builds(lambda text: {"type": "thinking", "thinking": text}, TEXTS)
    user = st.builds(
        lambda content: {"role": "user", "content": content},
        TEXTS | st.lists(text | result, min_size=1, max_size=2),
    )
    assistant = st.builds(
        lambda content: {"role": "assistant", "content": content},
        TEXTS | st.lists(text | use | thinking, max_size=2),
    )
    body: dict[str, Any] = {"messages": [*draw(st.lists(user | assistant, max_size=2)), draw(user)]}
    if draw(st.booleans()):
        body["system"] = draw(TEXTS | st.lists(text, max_size=2))
    if draw(st.booleans()):
        body["tools"] = [{"name": "find", "input_schema": SCHEMA}]
    return body


@given(body=conversations())
@settings(max_examples=60, deadline=None)
def test_a_message_has_the_counted_input(http: TestClient, body: dict[str, Any]) -> None:
    counted = post(http, "/v1/messages/count_tokens", body)["input_tokens"]
    real = http.post("/v1/messages", json=body | {"max_tokens": 1})
    if is_too_long(real):
        assert counted > 255
    else:
        usage = real.json()["usage"]
        assert usage["input_tokens"] + usage["cache_read_input_tokens"] == counted


@given(text=TEXTS)
@settings(max_examples=60, deadline=None)
def test_tokens_have_their_text(http: TestClient, text: str) -> None:
    tokens = post(http, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
    assert post(http, "/detokenize", {"tokens": tokens}) == {"prompt": text}


def test_forms_of_tokens(http: TestClient, tokenizer: Tokenizer) -> None:
    answer = post(http, "/tokenize", {"prompt": "the plan", "return_token_strs": True})
    ids = tokenizer.encode("the plan")
    assert answer == {
        "count": len(ids),
        "max_model_len": 256,
        "tokens": ids,
        "token_strs": [tokenizer.fast.id_to_token(each) for each in ids],
    }
    answer = post(http, "/tokenize", {"messages": MESSAGES})
    assert answer["tokens"] == ChatTemplate(tokenizer).render(MESSAGES)
    assert answer["token_strs"] is None
    assert post(http, "/tokenize", {"prompt": "", "add_special_tokens": False})["tokens"] == []


def test_more_than_the_context_is_counted(http: TestClient) -> None:
    body = {"messages": [{"role": "user", "content": "the plan " * 500}]}
    assert post(http, "/v1/count_tokens", body)["count"] > 500
    assert post(http, "/v1/messages/count_tokens", body)["input_tokens"] > 500


@pytest.mark.parametrize(
    "path",
    [
        "/tokenize",
        "/v1/cache/explain",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/count_tokens",
        "/v1/messages/count_tokens",
        "/v1/responses/input_tokens",
    ],
)
def test_a_text_far_beyond_the_limit_is_refused(
    http: TestClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is four contexts, and at least 131,072 tokens."""
    monkeypatch.setattr(prompt_tokens, "_LEAST_MOST_TOKENS", 512)
    text = "the plan " * 4000
    chat: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
    bodies = [{"prompt": text}, chat]
    if path == "/v1/responses/input_tokens":
        bodies = [{"input": text}]
    elif "messages" in path or "chat" in path:
        bodies = [chat]
    elif path == "/v1/completions":
        bodies = [{"prompt": text}]
    for body in bodies:
        if "completions" in path:
            body["truncate_prompt_tokens"] = 8
        response = http.post(path, json=body)
        assert response.status_code == 400, response.text
        assert "at most 1024 are counted or truncated; send it in parts" in response.text


def test_unread_fields_are_named(http: TestClient) -> None:
    response = http.post("/v1/count_tokens", json={"messages": MESSAGES, "odd": 1})
    assert response.headers["X-YAIE-Ignored-Params"] == "odd"


@pytest.mark.parametrize(
    ("path", "body", "param", "fault"),
    [
        ("/v1/count_tokens", {}, "prompt", "prompt or messages is required"),
        ("/v1/count_tokens", {"prompt": "x", "messages": MESSAGES}, None, "exclude each other"),
        ("/v1/count_tokens", {"messages": [{"role": "x"}]}, "messages[0].role", "must be one of"),
        ("/v1/count_tokens", {"messages": MESSAGES, "n": "1"}, "n", "must be an integer"),
        ("/v1/count_tokens", {"prompt": [1, 9999]}, "prompt[1]", "has the token id 9999"),
        ("/tokenize", {"prompt": ["a", "b"]}, "prompt", "must be a string"),
        ("/tokenize", {"prompt": "x", "return_token_strs": 1}, "return_token_strs", "a boolean"),
        ("/detokenize", {}, "tokens", "is required"),
        ("/detokenize", {"tokens": ["a"]}, "tokens[0]", "must be a token id"),
        ("/detokenize", {"tokens": [420]}, "tokens[0]", "ids are 0 to 419"),
        ("/detokenize", {"tokens": [-1]}, "tokens[0]", "ids are 0 to 419"),
        ("/detokenize", {"tokens": [0] * (2**20 + 1)}, "tokens", "at most 1048576"),
    ],
)
def test_a_wrong_field_is_named(
    http: TestClient, path: str, body: Any, param: str | None, fault: str
) -> None:
    response = http.post(path, json=body)
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["param"] == param
    assert fault in error["message"]


def test_another_model_and_a_dead_engine(make_app: MakeApp) -> None:
    http, engine = make_app()
    for path in ("/v1/count_tokens", "/tokenize", "/v1/messages/count_tokens"):
        response = http.post(path, json={"messages": MESSAGES, "model": "other"})
        assert response.status_code == 404, path
    engine.state = EngineState.DEAD
    assert http.post("/tokenize", json={"prompt": "x"}).status_code == 503


def test_a_conversation_is_counted_with_what_is_cached(make_app: MakeApp) -> None:
    http, _ = make_app()
    path, wanted = "/v1/count_tokens", {"return_cached_tokens": True}
    count = post(http, path, {"messages": MESSAGES})["count"]
    cold = post(http, path, {"conversation": MESSAGES} | wanted)
    assert (cold["count"], cold["cached_tokens"]) == (count, 0)
    post(http, "/v1/chat/completions", {"messages": MESSAGES, "cache_salt": "a", "max_tokens": 1})
    warm = {"conversation": MESSAGES, "cache_salt": "a"} | wanted
    assert post(http, path, warm)["cached_tokens"] == count - 1
    assert post(http, path, warm | {"cache_salt": "b"})["cached_tokens"] == 0
    text = post(http, path, {"conversation": "the plan"})
    assert text == post(http, path, {"prompt": "the plan"})
    both = http.post(path, json={"conversation": "the plan", "prompt": "the plan"})
    assert both.status_code == 400 and "one of the three" in both.text
