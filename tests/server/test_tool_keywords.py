"""Tools with keywords that no grammar holds: forced, strict, and beside an answer's schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.server.bad_bodies import check_error
from tests.server.conftest import MakeApp
from tests.server.real_server import WAIT_S, Server
from tests.server.test_tools import said  # noqa: F401  the fixture
from tests.server.test_tools_real import builtin  # noqa: F401  the fixture

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
ASK = {"messages": [{"role": "user", "content": "the plan?"}]}
HEADER = "X-YAIE-Ignored-Params"
STRING = {"type": "string"}
DRAFT = "https://json-schema.org/draft/2020-12/schema"
# As pydantic and zod write them: sets, decimals, paths, optional values.
ODD = {
    "type": "object",
    "properties": {
        "tags": {"type": "array", "items": STRING, "uniqueItems": True},
        "price": {"anyOf": [{"type": "number"}, {**STRING, "pattern": r"^(?!^[-+.]*$)\d*$"}]},
        "path": {**STRING, "format": "path"},
        "note": {"anyOf": [STRING, {"not": {}}]},
        "meta": {"type": "object", "propertyNames": STRING, "additionalProperties": {}},
    },
    "required": ["tags"],
    "additionalProperties": False,
}
LOST = "tools.odd.format, tools.odd.pattern, tools.odd.uniqueItems"


def tool(name: str, parameters: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


PLAIN = tool("plain", {"type": "object", "properties": {"a": STRING}, "required": ["a"]})


def sorted_names(header: str) -> str:
    return ", ".join(sorted(header.split(", ")))


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "odd"}}])
def test_a_forced_call_leaves_keywords_out_and_says_so(said: Any, choice: Any) -> None:  # noqa: F811
    http, engine = said("x")
    body = {**ASK, "tools": [PLAIN, tool("odd", ODD)], "tool_choice": choice}
    response = http.post(CHAT, json=body)
    assert response.status_code == 200, response.text
    assert sorted_names(response.headers[HEADER]) == LOST
    assert engine.requests[-1].grammar is not None
    assert "uniqueItems" not in engine.requests[-1].grammar.source
    # The model sees the whole schema.
    rendered = http.post(f"{CHAT}/render", json=body)
    assert sorted_names(rendered.headers[HEADER]) == LOST


def test_free_calls_and_other_tools_lose_nothing(said: Any) -> None:  # noqa: F811
    http, _ = said("x")
    named = {"type": "function", "function": {"name": "plain"}}
    for strict in (None, True):
        odd = tool("odd", ODD, strict=strict)
        for choice in ("none", named, None if strict is None else named):
            body = {**ASK, "tools": [PLAIN, odd], "tool_choice": choice}
            response = http.post(CHAT, json=body)
            assert response.status_code == 200, response.text
            assert HEADER not in response.headers


@pytest.mark.parametrize(
    ("path", "make", "place"),
    [
        (CHAT, lambda odd: tool("odd", odd, strict=True), "tools[1].function.parameters"),
        (
            RESPONSES,
            lambda odd: {"type": "function", "name": "odd", "parameters": odd, "strict": True},
            "tools[1].parameters",
        ),
    ],
)
def test_a_strict_tool_is_refused_by_name_and_keyword(
    said: Any,  # noqa: F811
    path: str,
    make: Any,
    place: str,
) -> None:
    http, _ = said("x")
    plain = PLAIN if path == CHAT else {"type": "function", **PLAIN["function"]}
    ask = ASK if path == CHAT else {"input": "the plan?"}
    body = {**ask, "tools": [plain, make(ODD)], "tool_choice": "required"}
    error = check_error(http.post(path, json=body))
    assert error["param"] == place
    assert error["message"].startswith(f"{place} of the strict tool 'odd' has 'uniqueItems' at ")
    assert "omit strict" in error["message"]


def test_tools_beside_an_answers_schema(said: Any) -> None:  # noqa: F811
    http, engine = said("{}")
    schema = {"type": "object", "properties": {"a": {**STRING, "format": "path"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    for answer in ({"type": "json_object"}, wanted):
        body = {**ASK, "tools": [PLAIN, tool("odd", ODD)], "response_format": answer}
        response = http.post(CHAT, json=body)
        assert response.status_code == 200, response.text
        assert sorted_names(response.headers[HEADER]) == LOST
        assert engine.requests[-1].grammar is not None
    body["tools"][1]["function"]["strict"] = True
    assert check_error(http.post(CHAT, json=body))["param"] == "tools[1].function.parameters"


@pytest.mark.parametrize("tools", [[], [PLAIN]])
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"items": {"uniqueItems": True}}, "'uniqueItems' at items"),
        ({"properties": {"a": {"not": STRING}}}, "'not' at properties.a"),
        ({"oneOf": [{"minimum": 1}, {"maximum": 5}]}, "'oneOf' (its alternatives overlap)"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "'pattern' at properties.a (look-around"),
    ],
)
def test_an_answers_schema_is_refused_with_path_and_keyword(
    said: Any,  # noqa: F811
    tools: list[Any],
    schema: Any,
    words: str,
) -> None:
    http, _ = said("{}")
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    response = http.post(CHAT, json={**ASK, "response_format": wanted, "tools": tools})
    if response.status_code == 200:  # the compiler in the engine refuses it
        assert not tools and ("oneOf" in words or "pattern" in words)
        return
    error = check_error(response)
    assert error["param"] == "response_format.json_schema.schema"
    assert error["message"].startswith(f"response_format.json_schema.schema has {words}")


def test_answers_schemas_lose_keywords_without_effect(make_app: MakeApp) -> None:
    http, engine = make_app()
    kept = {"type": "array", "items": {"type": "object", "additionalProperties": {}}}
    schema = {
        **kept,
        "uniqueItems": False,
        "items": {**kept["items"], "propertyNames": STRING},  # type: ignore[dict-item]
    }
    for fields in (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}},
        {"structured_outputs": {"json": schema}},
        {"guided_json": json.dumps(schema)},
    ):
        assert http.post(CHAT, json={**ASK, **fields}).status_code == 200
        assert engine.requests[-1].grammar is not None
        assert json.loads(engine.requests[-1].grammar.source) == kept


def test_what_the_whole_schema_refuses_is_told(said: Any) -> None:  # noqa: F811
    call = '<tool_call>\n{"name": "odd", "arguments": {"tags": ["a", "a"]}}\n</tool_call>'
    fault = 'the arguments of call 0 are invalid: tags[1] is "a" again (uniqueItems)'
    http, _ = said(call)
    body = {**ASK, "tools": [tool("odd", ODD)], "max_tokens": 200}
    response = http.post(CHAT, json=body)
    (choice,) = response.json()["choices"]
    assert choice["tool_parse_error"] == fault == response.headers["X-YAIE-Tool-Parse-Error"]
    assert choice["finish_reason"] == "tool_calls"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {
        "tags": ["a", "a"]
    }
    message = {"name": "odd", "input_schema": ODD}
    response = http.post(MESSAGES, json={**ASK, "tools": [message], "max_tokens": 200})
    assert response.headers["X-YAIE-Tool-Parse-Error"] == fault
    function = {"type": "function", "name": "odd", "parameters": ODD}
    answer = http.post(RESPONSES, json={"input": "x", "tools": [function]}).json()
    assert answer["tool_parse_error"] == fault


def object_of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "$schema": DRAFT,
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


COUNT = {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991}
RECORD = {"type": "object", "propertyNames": STRING, "additionalProperties": {}}
# The shapes of the tools that Claude Code sends, and of some more.
AGENT_TOOLS = {
    "Bash": object_of({"command": STRING, "timeout": {"type": "number"}}, "command"),
    "Read": object_of({"file_path": STRING, "offset": COUNT, "limit": COUNT}, "file_path"),
    "Edit": object_of(
        {"file_path": STRING, "old_string": STRING, "all": {"type": "boolean", "default": False}},
        "file_path",
        "old_string",
    ),
    "TaskCreate": object_of({"subject": STRING, "metadata": RECORD}, "subject"),
    "TaskUpdate": object_of(
        {
            "taskId": STRING,
            "status": {"anyOf": [{**STRING, "enum": ["pending", "done"]}, {"const": "deleted"}]},
            "addBlocks": {"type": "array", "items": STRING},
            "metadata": RECORD,
        },
        "taskId",
    ),
    "TaskList": object_of({}),
    "AskUserQuestion": object_of(
        {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 4,
                "items": object_of(
                    {
                        "question": STRING,
                        "options": {
                            "type": "array",
                            "minItems": 2,
                            "maxItems": 4,
                            "items": object_of({"label": STRING, "description": STRING}, "label"),
                        },
                    },
                    "question",
                    "options",
                ),
            },
            "answers": {"type": "object", "propertyNames": STRING, "additionalProperties": STRING},
        },
        "questions",
    ),
    "WebFetch": object_of({"url": {**STRING, "format": "uri"}, "prompt": STRING}, "url"),
    "odd": ODD,
    "referring": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}},
        "required": ["b"],
    },
}


@pytest.mark.integration
@pytest.mark.parametrize("name", ["any", *AGENT_TOOLS])
def test_an_agents_tools_can_be_forced(builtin: Server, name: str) -> None:  # noqa: F811
    tools = [
        {"name": each, "description": f"Use {each}.", "input_schema": schema}
        for each, schema in AGENT_TOOLS.items()
    ]
    choice = {"type": "any"} if name == "any" else {"type": "tool", "name": name}
    body = {**ASK, "tools": tools, "tool_choice": choice, "max_tokens": 400, "temperature": 0}
    reply = requests.post(builtin.url + MESSAGES, json=body, timeout=WAIT_S)
    assert reply.status_code == 200, reply.text
    assert ("tools.odd.uniqueItems" in reply.headers.get(HEADER, "")) == (name in ("any", "odd"))
    calls = [block for block in reply.json()["content"] if block["type"] == "tool_use"]
    assert calls and (name == "any" or calls[0]["name"] == name)
    if reply.json()["stop_reason"] == "tool_use" and name != "odd":
        assert "X-YAIE-Tool-Parse-Error" not in reply.headers


@pytest.mark.integration
def test_the_engine_names_path_and_keyword_of_an_answers_schema(builtin: Server) -> None:  # noqa: F811
    for schema, words in (
        ({"properties": {"a": {"oneOf": [{"minimum": 1}, {"maximum": 5}]}}}, "'oneOf' at proper"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "'pattern' at properties.a (look-around"),
    ):
        wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
        body = {**ASK, "response_format": wanted, "max_tokens": 8}
        reply = requests.post(builtin.url + CHAT, json=body, timeout=WAIT_S)
        assert reply.status_code == 400
        message = reply.json()["error"]["message"]
        assert message.startswith(f"response_format.json_schema.schema has {words}")


@pytest.mark.integration
@pytest.mark.parametrize("tool_call_parser", ["hermes", "qwen3_coder", "glm", "mistral"])
def test_every_form_of_calls_holds_the_tools(
    start: Any, model: Path, tool_call_parser: str
) -> None:
    server: Server = start(model, YAIE_TOOL_CALL_PARSER=tool_call_parser)
    server.wait_ready()
    for name in ("odd", "referring"):
        body = {
            **ASK,
            "tools": [tool(each, schema) for each, schema in AGENT_TOOLS.items()],
            "tool_choice": {"type": "function", "function": {"name": name}},
            "max_tokens": 500,
        }
        reply = requests.post(server.url + CHAT, json=body, timeout=WAIT_S)
        assert reply.status_code == 200, reply.text
        (choice,) = reply.json()["choices"]
        (call,) = choice["message"]["tool_calls"]
        assert call["function"]["name"] == name
        if choice["finish_reason"] == "tool_calls" and name == "referring":
            assert "tool_parse_error" not in choice
            assert isinstance(json.loads(call["function"]["arguments"])["b"], int)
