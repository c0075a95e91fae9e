"""Structured output over a real socket: every field's answer obeys its grammar."""

from __future__ import annotations

import concurrent.futures
import json
import re
from typing import Any

import pytest

from tests.server.real_server import Server

pytestmark = pytest.mark.integration
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
SCHEMA = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}, "color": {"enum": ["red", "green"]}},
    "required": ["done", "color"],
    "additionalProperties": False,
}
GBNF = 'root ::= "yes" | "no"'
LARK = 'start: "yes" | "no"'


def is_person(text: str) -> bool:
    read = json.loads(text)
    return set(read) == {"done", "color"} and read["color"] in ("red", "green")


def is_answer(text: str) -> bool:
    return text in ("yes", "no")


CASES: list[tuple[dict[str, Any], Any]] = [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "p", "schema": SCHEMA}}},
     is_person),
    ({"response_format": {"type": "json_schema",
                          "json_schema": {"name": "p", "schema": SCHEMA, "strict": True}}},
     is_person),
    ({"response_format": {"type": "json_object", "schema": SCHEMA}}, is_person),
    ({"guided_json": SCHEMA}, is_person),
    ({"guided_json": json.dumps(SCHEMA)}, is_person),
    ({"json_schema": json.dumps(SCHEMA)}, is_person),
    ({"structured_outputs": {"json": SCHEMA}}, is_person),
    ({"guided_choice": ["yes", "no"]}, is_answer),
    ({"structured_outputs": {"choice": ["yes", "no"]}}, is_answer),
    ({"guided_grammar": LARK}, is_answer),
    ({"guided_grammar": GBNF}, is_answer),
    ({"ebnf": GBNF}, is_answer),
    ({"grammar": GBNF}, is_answer),
    ({"structured_outputs": {"grammar": GBNF}}, is_answer),
    ({"guided_regex": "[ab]{3}"}, lambda text: re.fullmatch("[ab]{3}", text)),
    ({"regex": "[ab]{3}"}, lambda text: re.fullmatch("[ab]{3}", text)),
    ({"structured_outputs": {"regex": "[ab]{3}"}}, lambda text: re.fullmatch("[ab]{3}", text)),
]  # fmt: skip


def texts(server: Server, path: str, **fields: Any) -> list[str]:
    prompt = (
        {"messages": [{"role": "user", "content": "the plan?"}]}
        if path == CHAT
        else {"prompt": "the plan"}
    )
    body = {**prompt, "max_tokens": 100, "temperature": 1, **fields}
    response = server.post(path, body)
    assert response.status_code == 200, response.text
    found = [""] * body.get("n", 1)
    if not fields.get("stream"):
        for choice in response.json()["choices"]:
            assert choice["finish_reason"] == "stop"
            found[choice["index"]] = choice.get("text") or choice["message"]["content"]
        return found
    for line in response.text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                added = choice.get("text") or choice.get("delta", {}).get("content") or ""
                found[choice["index"]] += added
    return found


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize(("fields", "is_right"), CASES)
def test_answers_obey_their_grammar(
    server: Server, path: str, fields: dict[str, Any], is_right: Any
) -> None:
    for text in texts(server, path, n=2, **fields) + texts(server, path, stream=True, **fields):
        assert is_right(text), text


def test_any_json_object(server: Server) -> None:
    fields = {"response_format": {"type": "json_object"}, "max_tokens": 20}
    body = {"prompt": "the plan", **fields}
    assert server.post(TEXT, body).json()["choices"][0]["text"].startswith("{")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"guided_regex": "(a"}, "guided_regex"),
        ({"regex": "a(?=b)"}, "regex"),
        ({"guided_grammar": "start: undefined"}, "guided_grammar"),
        ({"guided_json": {"type": "nothing"}}, "guided_json"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 5}}}},
            "response_format.json_schema.schema",
        ),
    ],
)
def test_a_wrong_grammar_is_refused_alone(
    server: Server, fields: dict[str, Any], param: str
) -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        beside = threads.submit(texts, server, TEXT, guided_choice=["yes", "no"], n=4)
        response = server.post(TEXT, {"prompt": "the plan", **fields})
        assert response.status_code == 400, response.text
        error = response.json()["error"]
        assert (error["type"], error["param"]) == ("invalid_request_error", param)
        assert all(map(is_answer, beside.result()))
