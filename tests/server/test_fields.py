"""The table of fields, field by field: what is used has an effect, the rest is refused or named."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from server.app import create_app
from server.schemas.document import PAGE, TABLES, written
from server.schemas.field import State
from server.schemas.table import BODIES, FIELDS, ApiField
from tests.server.bad_bodies import check_error, good
from tests.server.scripted_client import ScriptedClient
from yaie.config import Settings
from yaie.text.tokenizer import load_tokenizer

ROWS = [(path, field) for field in FIELDS for path in field.endpoints]
# Fields that only act beside others.
BESIDE: dict[str, dict[str, Any]] = {
    "include_stop_str_in_output": {"stop": "tree"},
    "stream_options": {"stream": True},
    "continue_final_message": {"messages": [{"role": "user", "content": "the plan is"}]},
    "/v1/chat/completions echo": {
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    },
    "function_call": {"functions": [{"name": "add_numbers"}]},
    "tool_choice": {"tools": [{"type": "function", "function": {"name": "add_numbers"}}]},
    "top_logprobs": {"logprobs": True},
    "return_tokens_as_token_ids": {"logprobs": True},
}
# Examples for the tests' small model.
EXAMPLES: dict[str, Any] = {"chat_template_kwargs": {"shout": "hey"}}
# Fields without an effect that is visible here, and the test of each.
ELSEWHERE = {
    "add_special_tokens": "test_completions.test_special_tokens_of_the_tokenizer",
    "best_of": "test_bad_bodies.test_a_wrong_field_is_named",
    "messages": "test_chat.test_an_answer",
    "model": "test_bad_bodies.test_unknown_models",
    "parallel_tool_calls": "test_tools.test_one_call_ends_the_answer",
    "prompt": "test_completions.test_forms_of_prompts",
    "reasoning_effort": "test_chat.test_reasoning_effort_is_for_the_template",
}


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


def effects(app: tuple[TestClient, ScriptedClient], path: str, fields: dict[str, Any]) -> Any:
    """Return what a field may change: the engine's requests and the text of the answer."""
    http, engine = app
    engine.requests.clear()
    body = good(path) if "messages" in good(path) else {"prompt": "the plan is"}
    response = http.post(path, json={**body, **fields})
    assert response.status_code == 200, response.text
    assert "X-YAIE-Ignored-Params" not in response.headers or "priority" in fields
    requests = [dataclasses.replace(each, request_id="") for each in engine.requests]
    text = re.sub(r'"(id|created)":("[^"]*"|\d+)', "", response.text)
    return requests, text


@pytest.mark.parametrize(("path", "field"), rows(State.USED))
def test_used_fields_have_an_effect(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    if (place := ELSEWHERE.get(field.name)) is not None:
        module, _, name = place.partition(".")
        assert hasattr(importlib.import_module(f"tests.server.{module}"), name)
        return
    beside = BESIDE.get(f"{path} {field.name}", BESIDE.get(field.name, {}))
    if path == "/v1/completions" and "logprobs" in beside:
        beside = {"logprobs": 1}  # a number there
    example = EXAMPLES.get(field.name, field.example)
    assert effects(app, path, {**beside, field.name: example}) != effects(app, path, beside)


@pytest.mark.parametrize(("path", "field"), rows(State.USED))
def test_null_is_the_same_as_left_out(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    if field.default != "required":
        assert effects(app, path, {field.name: None}) == effects(app, path, {})


@pytest.mark.parametrize(("path", "field"), rows(State.REFUSED))
def test_refused_fields_are_refused_unless_unused(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    for value in (True, 17, "x", ["x"], {"x": 1}):
        response = http.post(path, json={**good(path), field.name: value})
        error = check_error(response)
        assert (response.status_code, error["param"]) == (400, field.name)
        assert error["code"] == "unsupported_parameter"
    for value in (None, *field.harmless):
        assert effects(app, path, {field.name: value}) == effects(app, path, {})


@pytest.mark.parametrize(("path", "field"), rows(State.ACCEPTED, State.REPORTED))
def test_accepted_fields_have_no_effect(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    for value in (True, "x", {"x": "y"}):
        response = http.post(path, json={**good(path), field.name: value})
        assert response.status_code == 200
        named = response.headers.get("X-YAIE-Ignored-Params")
        assert named == (field.name if field.state is State.REPORTED else None)
    if field.state is State.ACCEPTED:
        assert effects(app, path, {field.name: "x"}) == effects(app, path, {})


@pytest.mark.parametrize(("path", "field"), rows(State.OTHER_NAME))
def test_other_names_are_refused_unless_ours_is_given(
    app: tuple[TestClient, ScriptedClient], path: str, field: ApiField
) -> None:
    http, _ = app
    error = check_error(http.post(path, json={**good(path), field.name: 17}))
    assert error["param"] == field.name
    assert field.ours in error["message"]
    ours = next(each for each in FIELDS if each.name == field.ours and path in each.endpoints)
    both = {**good(path), field.name: 17, field.ours: ours.example}
    response = http.post(path, json=both)
    assert response.status_code == 200, response.text
    assert response.headers["X-YAIE-Ignored-Params"] == field.name


def test_each_field_is_in_the_openapi_document(app: tuple[TestClient, ScriptedClient]) -> None:
    http, _ = app
    document = http.get("/openapi.json").json()
    for path in BODIES:
        body = document["paths"][path]["post"]["requestBody"]
        reference = body["content"]["application/json"]["schema"]["$ref"]
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
        used = {
            each.name: each
            for each in FIELDS
            if path in each.endpoints and each.state is State.USED
        }
        assert set(schema["properties"]) == set(used)
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


def test_the_page_has_the_tables_of_the_fields() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run python -m server.schemas.document"
    for name in TABLES:
        assert f"<!-- fields: {name} -->" in page
