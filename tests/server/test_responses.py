"""`/v1/responses` over a scripted engine: translation, documents, streams, store and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseItemList, ResponseStreamEvent
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import error_script
from yaie.base.errors import RequestError
from yaie.server.responses_api.chat_fields import chat_format
from yaie.server.responses_api.chat_messages import Messages
from yaie.server.responses_api.items import read_input
from yaie.server.schemas.responses import ResponsesBody
from yaie.text.tokenizer import Tokenizer

URL = "/v1/responses"
EVENT = TypeAdapter[Any](ResponseStreamEvent)
SAID = "The tree 🙂 plan."


def ask(http: TestClient, **body: Any) -> Any:
    response = http.post(URL, json={"input": "the plan?", **body})
    assert response.status_code == 200, response.text
    return response.json()


def refuse(http: TestClient, **body: Any) -> Any:
    response = http.post(URL, json={"input": "the plan?", **body})
    assert response.status_code == 400, response.text
    return response.json()["error"]


def events_of(http: TestClient, **body: Any) -> list[Any]:
    response = http.post(URL, json={"input": "the plan?", "stream": True, **body})
    assert response.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in response.text.strip().split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        EVENT.validate_python(event)
        found.append(event)
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    return found


def messages_of(body_input: Any, instructions: str | None = None) -> Any:
    messages = Messages(instructions)
    read = read_input(body_input, lambda _: None)
    messages.add(read.items, read.places)
    return messages.messages


def test_a_response_is_one_that_the_client_knows(http: TestClient) -> None:
    answer = ask(http, instructions="Be brief.", metadata={"a": "b"}, temperature=0.5, user="me")
    known = Response.model_validate(answer, strict=True)
    assert known.output_text == SAID
    assert (known.status, known.instructions, known.metadata) == (
        "completed",
        "Be brief.",
        {"a": "b"},
    )
    assert known.temperature == 0.5
    assert known.usage is not None
    assert known.usage.total_tokens == known.usage.input_tokens + known.usage.output_tokens
    assert known.usage.input_tokens_details.cached_tokens == known.usage.input_tokens - 1
    assert known.id.startswith("resp_")


def test_a_stream_has_the_response_of_its_events(http: TestClient) -> None:
    events = events_of(http)
    assert [event["type"] for event in events[:4]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert [event["type"] for event in events[-4:]] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text = "".join(event["delta"] for event in events if event["type"].endswith("text.delta"))
    last = events[-1]["response"]
    assert last["output"][0]["content"][0]["text"] == text == SAID
    assert last["output"] == [events[-2]["item"]]
    assert events[0]["response"]["id"] == last["id"]
    assert (events[0]["response"]["status"], events[0]["response"]["output"]) == ("in_progress", [])
    assert last["usage"]["output_tokens"] > 0


def test_a_cut_answer_is_incomplete(http: TestClient) -> None:
    answer = ask(http, max_output_tokens=2)
    assert answer["status"] == answer["output"][0]["status"] == "incomplete"
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}
    assert answer["completed_at"] is None
    assert events_of(http, max_output_tokens=2)[-1]["type"] == "response.incomplete"


def test_logprobs_come_with_the_text(http: TestClient) -> None:
    wanted = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    answer = ask(http, **wanted)
    (part,) = answer["output"][0]["content"]
    Response.model_validate(answer, strict=True)
    assert len(part["logprobs"]) == answer["usage"]["output_tokens"]
    assert len(part["logprobs"][0]["top_logprobs"]) == 2
    events = events_of(http, **wanted)
    deltas = [event["logprobs"] for event in events if event["type"].endswith("text.delta")]
    assert [one for logprobs in deltas for one in logprobs] == part["logprobs"]


def test_a_failure_in_a_stream_is_its_last_event(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    engine.script = error_script(
        RequestError("gone", status=503, code="engine_died"), after=tokenizer.encode("The tree")
    )
    error, failed = events_of(http)[-2:]
    assert (error["type"], error["code"]) == ("error", "engine_died")
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
    assert failed["response"]["error"]["code"] == "server_error"
    assert failed["response"]["output"][0]["status"] == "incomplete"


def test_a_response_is_stored_listed_and_deleted(http: TestClient) -> None:
    answer = ask(http)
    assert answer["store"] is True
    place = f"{URL}/{answer['id']}"
    assert http.get(place).json() == answer
    deleted = http.delete(place).json()
    assert deleted == {"id": answer["id"], "object": "response", "deleted": True}
    for method in ("GET", "DELETE"):
        gone = http.request(method, place)
        assert (gone.status_code, gone.json()["error"]["param"]) == (404, "response_id")


def test_store_false_stores_nothing(make_app: MakeApp) -> None:
    http, _ = make_app()
    answer = ask(http, store=False)
    assert answer["store"] is False
    assert http.get(f"{URL}/{answer['id']}").status_code == 404
    http, _ = make_app(response_store_bytes=0)
    response = http.post(URL, json={"input": "the plan?", "store": True})
    assert response.json()["store"] is False
    assert response.headers["X-YAIE-Ignored-Params"] == "store"


def test_a_turn_has_the_conversation_before_it(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    first = ask(http)
    second = ask(http, input="and then?", previous_response_id=first["id"])
    assert second["previous_response_id"] == first["id"]
    ask(
        http,
        input=[
            {"role": "user", "content": "the plan?"},
            {"role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
            {"role": "user", "content": "and then?"},
        ],
    )
    assert engine.requests[1].prompt_token_ids == engine.requests[2].prompt_token_ids
    head = engine.requests[0].prompt_token_ids
    assert engine.requests[1].prompt_token_ids[: len(head)] == head
    http.delete(f"{URL}/{first['id']}")
    ask(http, input="more?", previous_response_id=second["id"])  # it keeps the items it needs
    error = refuse(http, previous_response_id=first["id"])
    assert error["code"] == "previous_response_not_found"
    assert error["param"] == "previous_response_id"


def test_instructions_are_those_of_this_turn_only(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    first = ask(http, instructions="Be a pirate.")
    ask(http, input="more?", previous_response_id=first["id"])
    prompt = tokenizer.decode(engine.requests[1].prompt_token_ids, False)
    assert "more?" in prompt and "pirate" not in prompt


@pytest.mark.parametrize("background", [False, True])
def test_a_key_with_many_responses_removes_its_own_only(
    make_app: MakeApp, background: bool
) -> None:
    http, _ = make_app(api_key="one,two", response_store_bytes=60_000)

    def send(key: str, **fields: Any) -> str:
        body = {"input": "x" * 50, **fields}
        answer = http.post("/v1/responses", json=body, headers={"X-API-Key": key})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    def status(key: str, name: str) -> int:
        return http.get(f"/v1/responses/{name}", headers={"X-API-Key": key}).status_code

    mine = send("two")
    flood = [send("one", background=background) for _ in range(60)]
    while any(
        http.get(f"/v1/responses/{each}", headers={"X-API-Key": "one"}).json().get("status")
        in ("queued", "in_progress")
        for each in flood
    ):
        pass
    assert status("one", flood[0]) == 404
    assert status("one", flood[-1]) == 200
    assert status("two", mine) == 200
    send("two", previous_response_id=mine)


def test_keys_separate_the_stored_responses(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="one,two")
    one, two = ({"Authorization": f"Bearer {key}"} for key in ("one", "two"))
    answer = http.post(URL, json={"input": "the plan?"}, headers=one).json()
    place = f"{URL}/{answer['id']}"
    assert http.get(place, headers=one).status_code == 200
    assert http.get(place, headers=two).status_code == 404
    assert http.delete(place, headers=two).status_code == 404
    body = {"input": "more?", "previous_response_id": answer["id"]}
    assert http.post(URL, json=body, headers=two).status_code == 400
    reference = {"input": [{"type": "item_reference", "id": answer["output"][0]["id"]}]}
    assert http.post(URL, json=reference, headers=two).status_code == 400
    assert http.post(URL, json=reference, headers=one).status_code == 200


def test_items_of_one_turn_are_one_message() -> None:
    assert messages_of(
        [
            {"role": "user", "content": [{"type": "input_text", "text": "1+1?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": [
                {"type": "reasoning_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "sub", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "2"},
            {"type": "function_call_output", "call_id": "c2", "output": [
                {"type": "input_text", "text": "0"}]},
            {"role": "assistant", "content": "Two."},
        ],
        instructions="Be brief.",
    ) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "1+1?"},
        {
            "role": "assistant",
            "reasoning_content": "Hm.",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "sub", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "2"},
        {"role": "tool", "tool_call_id": "c2", "name": "sub", "content": "0"},
        {"role": "assistant", "content": "Two."},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": None}, "input"),
        ({"input": [5]}, "input[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [5]}]}, "input[0].content[0]"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content[0].type",
        ),
        ({"input": [{"type": 5}]}, "input[0].type"),
        ({"input": [{"type": "local_shell_call", "call_id": "c"}]}, "input[0].action"),
        ({"input": [{"type": "shell_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"input": [{"type": "item_reference", "id": "msg_x"}]}, "input[0].id"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, "input[0].name"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"input": "x " * 2000}, "input"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": "5"}, "max_output_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"top_k": "5"}, "top_k"),
        ({"background": 1}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"n": 2}, "n"),
        ({"truncation": "middle"}, "truncation"),
        ({"include": ["everything"]}, "include[0]"),
        ({"messages": []}, "messages"),
        ({"max_tokens": 5}, "max_tokens"),
        ({"response_format": {"type": "text"}}, "response_format"),
        ({"reasoning": {"effort": 5}}, "reasoning.effort"),
        ({"tools": [{"type": 5}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "web_search"}, {"type": "custom"}]}, "tools[1].name"),
        ({"tools": [{"type": "namespace", "name": "n"}]}, "tools[0].tools"),
        ({"tool_choice": {"type": ["function"]}}, "tool_choice.type"),
        ({"text": {"format": {"type": "yaml"}}}, "text.format"),
        ({"typical_p": 0.5}, "typical_p"),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 21}, "top_logprobs"),
    ],
)
def test_errors_name_the_fields_of_this_api(shared_http: TestClient, body: Any, param: str) -> None:
    error = refuse(shared_http, **body)
    assert error["param"] == param
    for name in ("messages", "max_tokens", "max_completion_tokens", "response_format"):
        assert name == param or name not in error["message"], error["message"]


def test_fields_without_effect_are_reported(http: TestClient) -> None:
    response = http.post(
        URL,
        json={
            "input": "the plan?",
            "reasoning": {"summary": "auto"},
            "text": {"verbosity": "low"},
            "include": ["reasoning.encrypted_content"],
            "top_logprobs": 2,
            "stream_options": {"include_obfuscation": True},
            "unheard_of": 1,
        },
    )
    assert set(response.headers["X-YAIE-Ignored-Params"].split(", ")) == {
        "unheard_of",
        "top_logprobs",
        "include",
        "text.verbosity",
        "reasoning.summary",
        "stream_options",
    }


def test_an_effort_is_for_the_template(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    http, engine = make_app()
    body = {"input": "the plan?", "reasoning": {"effort": "high"}}
    response = http.post(URL, json=body)
    assert response.headers["X-YAIE-Ignored-Params"] == "reasoning.effort"
    assert response.json()["reasoning"]["effort"] == "high"
    tokenizer = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(tokenizer.hf, "chat_template", "thinks {{ reasoning_effort }}")
    assert "X-YAIE-Ignored-Params" not in http.post(URL, json=body).headers
    assert tokenizer.decode(engine.requests[-1].prompt_token_ids) == "thinks high"


def test_sampling_fields_reach_the_engine(make_app: MakeApp) -> None:
    http, engine = make_app()
    ask(http, top_k=7, seed=3, cache_salt="s", priority=2, max_output_tokens=5, stop="zzz")
    (request,) = engine.requests
    sampling = request.sampling
    assert (sampling.top_k, sampling.seed, sampling.max_tokens) == (7, 3, 5)
    assert (request.cache_salt, request.priority, sampling.stop) == ("s", 2, ("zzz",))


def test_input_items_are_listed_in_pages(http: TestClient) -> None:
    first = ask(http)
    second = ask(
        http,
        input=[
            {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "2"},
        ],
        previous_response_id=first["id"],
    )
    place = f"{URL}/{second['id']}/input_items"
    whole = http.get(place, params={"order": "asc"}).json()
    kinds = [item["type"] for item in whole["data"]]
    assert kinds == ["message", "message", "function_call", "function_call_output"]
    assert not whole["has_more"]
    ResponseItemList.model_validate(whole, strict=True)
    page = http.get(place, params={"limit": "1", "after": whole["last_id"]}).json()
    assert page["data"] == [whole["data"][2]] and page["has_more"]
    for query in ({"order": "up"}, {"limit": "0"}, {"after": "msg_x"}):
        wrong = http.get(place, params=query)
        assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, *query)
    assert http.get(f"{URL}/resp_x/input_items").status_code == 404


def test_a_response_is_not_streamed_twice(http: TestClient) -> None:
    wrong = http.get(f"{URL}/{ask(http)['id']}", params={"stream": "true", "starting_after": "x"})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "starting_after")


@pytest.mark.parametrize(
    ("given", "of_chat"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "json_schema", "name": "city", "schema": {"type": "object"}, "strict": True},
            {
                "type": "json_schema",
                "json_schema": {"name": "city", "schema": {"type": "object"}, "strict": True},
            },
        ),
    ],
)
def test_formats_are_those_of_chats(given: Any, of_chat: Any) -> None:
    body = ResponsesBody.model_validate({"input": "x", "text": {"format": given}})
    assert chat_format(body) == of_chat


def test_a_schema_constrains_the_answer(make_app: MakeApp) -> None:
    http, engine = make_app()
    given = {"type": "json_schema", "name": "city", "schema": {"type": "object"}, "strict": True}
    answer = ask(http, text={"format": given})
    grammar = engine.requests[-1].grammar
    assert grammar is not None
    assert (grammar.kind, grammar.param) == ("json_schema", "text.format.schema")
    assert answer["text"]["format"] == given
    error = refuse(http, text={"format": {"type": "json_schema", "name": "city"}})
    assert error["message"].startswith("text.format.schema is missing")
    assert error["param"] == "text.format.schema"
