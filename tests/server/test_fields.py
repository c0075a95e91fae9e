"""The table of fields, field by field: what is used has an effect, the rest is refused or named."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from tests.server.bad_bodies import check_error
from tests.server.scripted_client import ScriptedClient
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.server.schemas.base import State
from yaie.server.schemas.docs_tables import PAGES, TABLES, write_tables
from yaie.server.schemas.table import BODIES, FIELDS, ApiField
from yaie.text.tokenizer import load_tokenizer

CHAT, TEXT, RESPONSES, MESSAGES = BODIES
ROWS = [(path, field) for field in FIELDS for path in field.endpoints]
_TURN = [{"role": "user", "content": "the plan is"}]
GOOD: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [{"role": "user", "content": "x"}]},
    TEXT: {"prompt": "the plan is"},
    RESPONSES: {"input": "x"},
    MESSAGES: {"messages": _TURN, "max_tokens": 99},
}
# Fields that only act beside others, on one path or on all.
BESIDE: dict[str, dict[str, Any]] = {
    "include_stop_str_in_output": {"stop": "tree"},
    "stream_options": {"stream": True},
    f"{CHAT} continue_final_message": {"messages": _TURN},
    f"{CHAT} echo": {"messages": [*_TURN, {"role": "assistant", "content": "y"}]},
    "function_call": {"functions": [{"name": "add_numbers"}]},
    f"{CHAT} tool_choice": {"tools": [{"type": "function", "function": {"name": "add_numbers"}}]},
    f"{CHAT} top_logprobs": {"logprobs": True},
    f"{RESPONSES} top_logprobs": {"include": ["message.output_text.logprobs"]},
    f"{MESSAGES} tool_choice": {"tools": [{"name": "add_numbers", "input_schema": {}}]},
    f"{CHAT} return_tokens_as_token_ids": {"logprobs": True},
    f"{TEXT} return_tokens_as_token_ids": {"logprobs": 1},
    "truncation_side": {"truncate_prompt_tokens": 2},
}
# Examples for the tests' small model.
EXAMPLES: dict[str, Any] = {"chat_template_kwargs": {"shout": "hey"}}
# Fields without an effect that is visible here, and the test of each.
ELSEWHERE = {
    "add_special_tokens": "test_completions.test_special_tokens_of_the_tokenizer",
    "best_of": "test_bad_bodies.test_a_wrong_field_is_named",
    f"{CHAT} include_reasoning": "test_tools.test_hidden_reasoning",
    "messages": "test_chat.test_an_answer",
    "model": "test_bad_bodies.test_unknown_models",
    f"{CHAT} parallel_tool_calls": "test_tools.test_one_call_ends_the_answer",
    "previous_response_id": "test_responses.test_a_turn_has_the_conversation_before_it",
    "prompt": "test_completions.test_forms_of_prompts",
    "reasoning": "test_responses.test_an_effort_is_for_the_template",
    "reasoning_effort": "test_chat.test_reasoning_effort_is_for_the_template",
    "request_timeout_s": "test_request_defaults.test_a_request_may_lower_its_timeout",
    "thinking_token_budget": "test_reasoning_budget.test_the_limit_reaches_the_engine",
    "diagnostics": "test_cache_diagnostics.test_a_message_is_compared",
    "prompt_cache_options": "test_cache_diagnostics.test_a_response_is_compared",
    "thinking": "test_messages_tools.test_thinking_and_effort_reach_the_template",
}
# Ids and times, different in each answer.
_FRESH = re.compile(
    r'"(id|created|created_at|completed_at|item_id|call_id|processing_time|tokens_per_second)":'
    r'("[^"]*"|[\d.]+)'
)


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest) -> Iterator[tuple[TestClient, ScriptedClient]]:
    folder = request.getfixturevalue("tiny_model_dir")
    engine = ScriptedClient(load_tokenizer(folder).encode("The tree 🙂 plan."))
    made = create_app(
        Settings(model=str(folder), served_model_name="tiny"), make_client=lambda config: engine
    )
    with TestClient(made, raise_server_exceptions=False) as http:
        while http.get("/readiness").status_code != 200:
            pass
        yield http, engine


def rows(*states: State) -> list[Any]:
    return [
        pytest.param(path, field, id=f"{path.removeprefix('/v1/')}-{field.name}")
        for path, field in ROWS
        if field.state in states
    ]


def of(path: str, name: str, table: dict[str, Any], default: Any = None) -> Any:
    """Return the entry of a field in a table by the path and the name, or by the name."""
    return table.get(f"{path} {name}", table.get(name, default))


def effects(app: tuple[TestClient, ScriptedClient], path: str, fields: dict[str, Any]) -> Any:
    """Return what a field may change: the engine's requests and the text of the answer."""
    http, engine = app
    engine.requests.clear()
    response = http.post(path, json={**GOOD[path], **fields})
    assert response.status_code == 200, response.text
    assert "X-YAIE-Ignored-Params" not in response.headers or "priority" in fields
    requests = [dataclasses.replace(each, request_id="", call="") for each in engine.requests]
    return requests, _FRESH.sub("", response.text)


def body_schema(document: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the schema of an endpoint's body."""
    body = document["paths"][path]["post"]["requestBody"]
    name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return dict(document["components"]["schemas"][name])


def refusal(response: Any, path: str, name: str) -> str:
    """Return the message of a refusal, after a check that it names the field."""
    assert response.status_code == 400, response.text
    if path == MESSAGES:
        message = str(response.json()["error"]["message"])
        assert message.startswith(f"{name} ")
        return message
    error = check_error(response)
    assert (error["param"], error["code"]) == (name, "unsupported_parameter")
    return str(error["message"])


@pytest.mark.parametrize(("path", "field"), rows(State.USED))
def test_used_fields_have_an_effect(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    if (place := of(path, field.name, ELSEWHERE)) is not None:
        module, _, name = place.partition(".")
        assert hasattr(importlib.import_module(f"tests.server.{module}"), name)
        return
    beside = of(path, field.name, BESIDE, {})
    example = EXAMPLES.get(field.name, field.example)
    assert effects(app, path, {**beside, field.name: example}) != effects(app, path, beside)


@pytest.mark.parametrize(("path", "field"), rows(State.USED))
def test_null_is_the_same_as_left_out(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    if field.default != "required":
        assert effects(app, path, {field.name: None}) == effects(app, path, {})


@pytest.mark.parametrize(("path", "field"), rows(State.USED))
def test_values_outside_the_documented_schema_are_refused(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    document = http.get("/openapi.json").json()
    # The other endpoints read the fields of sampling as chats do.
    properties = {path: body_schema(document, path)["properties"] for path in (CHAT, path)}
    schema = properties[path].get(field.name) or properties[CHAT][field.name]
    documented = Draft202012Validator({**schema, "components": document["components"]})
    for value in (True, 17, -0.5, "x", ["x"], [{}, 7], {"x": 1}):
        if not documented.is_valid(value):
            response = http.post(path, json={**GOOD[path], field.name: value})
            assert response.status_code in (400, 404), (value, response.text)


@pytest.mark.parametrize(("path", "field"), rows(State.REFUSED))
def test_refused_fields_are_refused_unless_unused(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    for value in (True, 17, "x", ["x"], {"x": 1}):
        if value in field.harmless:  # the usual answer
            continue
        refusal(http.post(path, json={**GOOD[path], field.name: value}), path, field.name)
    for value in (None, *field.harmless):
        assert effects(app, path, {field.name: value}) == effects(app, path, {})


@pytest.mark.parametrize(("path", "field"), rows(State.ACCEPTED, State.REPORTED))
def test_accepted_fields_have_no_effect(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    for value in (True, "x", {"x": "y"}):
        response = http.post(path, json={**GOOD[path], field.name: value})
        assert response.status_code == 200
        named = response.headers.get("X-YAIE-Ignored-Params")
        assert named == (field.name if field.state is State.REPORTED else None)
    for value in field.harmless if field.state is State.REPORTED else ("x",):
        assert effects(app, path, {field.name: value}) == effects(app, path, {})


@pytest.mark.parametrize(("path", "field"), rows(State.OTHER_NAME))
def test_other_names_are_refused_unless_ours_is_given(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    message = refusal(http.post(path, json={**GOOD[path], field.name: 17}), path, field.name)
    assert field.ours in message
    ours = next(each for each in FIELDS if each.name == field.ours and path in each.endpoints)
    both = {**GOOD[path], field.name: 17, field.ours: ours.example}
    response = http.post(path, json=both)
    assert response.status_code == 200, response.text
    assert field.name in response.headers["X-YAIE-Ignored-Params"].split(", ")


def test_each_field_is_in_the_openapi_document(app: tuple[TestClient, ScriptedClient]) -> None:
    http, _ = app
    document = http.get("/openapi.json").json()
    for path, schema_of in BODIES.items():
        schema = body_schema(document, path)
        used = {
            each.name: each
            for each in FIELDS
            if path in each.endpoints and each.state is State.USED
        }
        assert set(schema["properties"]) == set(schema_of.model_fields) <= set(used)
        for name, described in schema["properties"].items():
            assert described["description"] == used[name].meaning.replace("`", "")


def test_no_name_is_in_two_rows_of_an_endpoint() -> None:
    names = [(path, field.name) for path, field in ROWS]
    assert len(names) == len(set(names))


def test_every_field_has_a_sentence_and_an_example() -> None:
    for field in FIELDS:
        assert field.meaning, field.name
        if field.state is State.USED:
            assert field.meaning.endswith("."), field.name
            assert json.dumps(field.example) != "null", field.name


def test_the_pages_have_the_tables_of_the_fields() -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    for page in pages:
        assert write_tables(page) == page, "run python -m yaie.server.schemas.docs_tables"
    for name in TABLES:
        assert any(f"<!-- fields: {name} -->" in page for page in pages)
