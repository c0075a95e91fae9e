"""`POST /v1/messages`: documents, streams, and the chat completions that they stand for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import Tokenizer

SAID = "The tree 🙂 plan."
MESSAGES = [{"role": "user", "content": "the plan?"}]
Event = dict[str, Any]


def ask(http: TestClient, **fields: Any) -> Any:
    response = http.post("/v1/messages", json={"messages": MESSAGES, "max_tokens": 99, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def stream(http: TestClient, **fields: Any) -> list[Event]:
    body = {"messages": MESSAGES, "max_tokens": 99, "stream": True, **fields}
    response = http.post("/v1/messages", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return read_events(response.text)


def read_events(text: str) -> list[Event]:
    found = []
    *events, end = text.split("\n\n")
    assert end == ""
    for event in events:
        name, data = event.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def test_an_answer(http: TestClient, tokenizer: Tokenizer) -> None:
    answer = ask(http)
    assert answer.pop("id").startswith("msg_")
    num_prompt = len(ChatTemplate(tokenizer).render(MESSAGES))
    assert answer == {
        "type": "message",
        "role": "assistant",
        "model": "tiny",
        "content": [{"type": "text", "text": SAID}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": num_prompt - 1,
            "output_tokens": len(tokenizer.encode(SAID)),
        },
    }


def test_a_stream(http: TestClient) -> None:
    start, ping, opened, *deltas, closed, end, stop = stream(http)
    assert ping == {"type": "ping"}
    whole = ask(http)
    message = start["message"]
    assert message["content"] == [] and message["stop_reason"] is None
    assert message["usage"]["output_tokens"] == 0
    assert message["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
    block = {"type": "text", "text": ""}
    assert opened == {"type": "content_block_start", "index": 0, "content_block": block}
    assert {(each["type"], each["index"]) for each in deltas} == {("content_block_delta", 0)}
    assert {each["delta"]["type"] for each in deltas} == {"text_delta"}
    assert "".join(each["delta"]["text"] for each in deltas) == SAID
    assert closed == {"type": "content_block_stop", "index": 0}
    assert end == {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": whole["usage"],
    }
    assert stop == {"type": "message_stop"}


def test_an_empty_answer_has_no_block(make_app: MakeApp) -> None:
    http, _ = make_app()
    assert ask(http, stop_sequences=["T"])["content"] == []
    kinds = [each["type"] for each in stream(http, stop_sequences=["T"])]
    assert kinds == ["message_start", "ping", "message_delta", "message_stop"]


def test_the_reasons_of_the_end(http: TestClient) -> None:
    answer = ask(http, stop_sequences=["zzz", "plan"])
    assert answer["content"] == [{"type": "text", "text": "The tree 🙂 "}]
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "plan")
    assert ask(http, max_tokens=2)["stop_reason"] == "max_tokens"
    end = stream(http, max_tokens=2)[-2]
    assert end["delta"]["stop_reason"] == "max_tokens"


def test_more_tokens_than_fit_end_with_the_context(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    ask(http, max_tokens=1_000_000)
    room = 256 - len(engine.requests[-1].prompt_token_ids)
    assert engine.requests[-1].sampling.max_tokens == room
    ask(http, max_tokens=room)
    assert engine.requests[-1].sampling.max_tokens == room

    async def until_full(request: Any) -> Any:
        async for delta in engine.say(request):
            yield replace(delta, finish_reason="length") if delta.finish_reason else delta

    engine.script = until_full
    assert ask(http, max_tokens=room + 1)["stop_reason"] == "model_context_window_exceeded"


def test_no_tokens_compute_the_prompt(make_app: MakeApp) -> None:
    http, engine = make_app()
    answer = ask(http, max_tokens=0)
    assert answer["content"] == [] and answer["usage"]["output_tokens"] == 0
    assert answer["stop_reason"] == "max_tokens"
    assert engine.requests[-1].sampling.max_tokens == 1


def test_sampling_reaches_the_engine(make_app: MakeApp) -> None:
    http, engine = make_app()
    ask(http, temperature=0.5, top_p=0.9, top_k=7, seed=3, cache_salt="s", stop_sequences=["x"])
    request = engine.requests[-1]
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.5, 0.9, 7)
    assert (sampling.seed, sampling.stop, request.cache_salt) == (3, ("x",), "s")
    assert request.request_id.startswith("msg_")


def test_the_user_of_the_metadata_is_the_tenant(make_app: MakeApp) -> None:
    http, engine = make_app()
    ask(http, metadata={"user_id": "ada"})
    ask(http, metadata={"user_id": None})
    ask(http, metadata=7)
    assert [request.tenant for request in engine.requests] == ["ada", "", ""]


def ids_of(make_app: MakeApp, path: str, **body: Any) -> tuple[int, ...]:
    http, engine = make_app()
    response = http.post(path, json={"max_tokens": 1, **body})
    assert response.status_code == 200, response.text
    return engine.requests[-1].prompt_token_ids


CONVERSATION = [
    {"role": "user", "content": [
        {"type": "text", "text": "Find", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "it."},
    ]},
    {"role": "user", "content": "Now."},
    {"role": "assistant", "content": [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "I look."},
    ]},
    {"role": "user", "content": [{"type": "text", "text": "And?"}]},
]  # fmt: skip


def test_a_conversation_is_that_of_a_chat_completion(make_app: MakeApp) -> None:
    system = [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=1; cch=5f"},
        {"type": "text", "text": "Be", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": "brief."},
    ]
    ours = ids_of(make_app, "/v1/messages", system=system, messages=CONVERSATION)
    chat = [
        {"role": "system", "content": "Be\nbrief."},
        {"role": "user", "content": "Find\nit.\nNow."},
        {"role": "assistant", "content": "I look."},
        {"role": "user", "content": "And?"},
    ]
    assert ours == ids_of(make_app, "/v1/chat/completions", messages=chat)


def test_the_last_turn_of_the_assistant_is_continued(
    make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    body = {"messages": [*MESSAGES, {"role": "assistant", "content": "The tree"}]}
    ask(http, **body)
    prompt = engine.requests[-1].prompt_token_ids
    assert tokenizer.decode(prompt, skip_special_tokens=False).endswith("assistant\nThe tree")
    counted = http.post("/v1/messages/count_tokens", json=body).json()["input_tokens"]
    assert counted == len(prompt)
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", "{{ messages[0].content }}")
    response = http.post("/v1/messages", json=body | {"max_tokens": 9})
    assert response.status_code == 400
    assert "cannot continue it" in response.json()["error"]["message"]


def test_the_names_of_fields_without_effect(http: TestClient) -> None:
    body = {
        "messages": MESSAGES,
        "max_tokens": 9,
        "cache_control": {"type": "ephemeral"},
        "service_tier": "auto",
        "metadata": {"user_id": "u"},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "low"},
        "context_management": {"edits": []},
        "strange\n": 1,
        "diagnostics": None,
    }
    response = http.post("/v1/messages", json=body)
    assert response.status_code == 200, response.text
    assert set(response.headers["X-YAIE-Ignored-Params"].split(", ")) == {
        "thinking",
        "thinking.budget_tokens",
        "output_config.effort",
        "context_management",
        "?",
    }


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"max_tokens": None}, "max_tokens must be an integer"),
        ({"max_tokens": -1}, "max_tokens must be at least 0"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [7]}, "messages[0] must be an object"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role must be"),
        ({"messages": [{"role": "user"}]}, "messages[0].content must be a string or a list"),
        ({"messages": [{"role": "user", "content": []}]}, "messages[0].content is empty"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
         "messages[0].content[0].type is 'image'; this model reads 'text' and 'tool_result'"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]},
         "messages[0].content[0].text must be a string"),
        ({"messages": [*MESSAGES, {"role": "assistant", "content": ""}]},
         "messages ends with an assistant turn without text"),
        ({"system": 7}, "system must be a string or a list of blocks"),
        ({"system": [{"type": "image"}]}, "system[0].type is 'image'"),
        ({"stop_sequences": [""]}, "stop_sequences must be"),
        ({"temperature": -1.0}, "temperature must be between"),
        ({"thinking": {"type": "deep"}}, "thinking.type must be"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].type is 'function'"),
        ({"tools": [{"type": 5}]}, "tools[0].type must be a string"),
        ({"tools": [{"type": "web_search_20250305"}, {"name": "a b", "input_schema": {}}]},
         "tools[1].name must be"),
        ({"output_format": {"type": "text"}}, "output_format must be"),
        ({"tools": [{"name": "w"}]}, "tools[0].input_schema must be an object"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type must be"),
        ({"output_config": {"format": {"type": "text"}}}, "output_config.format must be"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(shared_http: TestClient, fields: Any, fault: str) -> None:
    body = {"messages": MESSAGES, "max_tokens": 9, **fields}
    response = shared_http.post("/v1/messages", json=body)
    assert response.status_code == 400, response.text
    error = response.json()
    assert error["type"] == "error"
    assert error["error"]["type"] == "invalid_request_error"
    assert fault in error["error"]["message"]
    assert error["request_id"] == response.headers["X-Request-ID"]
