"""The OpenAPI document describes `/v1/responses` as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import error_script
from tests.server.test_openapi import check_described, document_of
from tests.server.test_responses import URL, ask, events_of
from tests.server.test_tools import ADD, said
from yaie.base.errors import YaieError
from yaie.server.schemas.response_replies import (
    DeletedResponse,
    InputItems,
    ResponseDocument,
    ResponseEvent,
)

__all__ = ["said"]
TOOL = {"type": "function", "name": "add", "parameters": {"type": "object"}}
LOGPROBS = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
OPTIONS: list[Any] = [{}, {"max_output_tokens": 2, "instructions": "Be brief."}, LOGPROBS]


@pytest.mark.parametrize("options", OPTIONS)
def test_answers_and_events_are_described(http: TestClient, options: Any) -> None:
    check_described(ResponseDocument, ask(http, **options))
    for event in events_of(http, **options):
        check_described(ResponseEvent, event)


def test_calls_and_reasoning_are_described(said: Any) -> None:
    http, _ = said(f"<think>\nOne.\n</think>\n\nTwo.\n{ADD}")
    answer = ask(http, tools=[TOOL])
    assert [item["type"] for item in answer["output"]] == ["reasoning", "message", "function_call"]
    check_described(ResponseDocument, answer)
    for event in events_of(http, tools=[TOOL]):
        check_described(ResponseEvent, event)
    result = {"type": "function_call_output", "call_id": answer["output"][2]["call_id"]}
    last = ask(http, input=[{**result, "output": "2"}], previous_response_id=answer["id"])
    items = http.get(f"{URL}/{last['id']}/input_items").json()
    check_described(InputItems, items)
    assert len(items["data"]) == 5
    check_described(ResponseDocument, http.get(f"{URL}/{last['id']}").json())
    check_described(DeletedResponse, http.delete(f"{URL}/{last['id']}").json())


def test_failures_are_described(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(YaieError("x").to_wire(), after=[5])
    for event in events_of(http):
        check_described(ResponseEvent, event)


def test_the_document_has_the_schemas_and_working_examples(http: TestClient) -> None:
    document = document_of(http)
    create = document["paths"][URL]["post"]
    content = create["responses"]["200"]["content"]
    assert content["application/json"]["schema"]["$ref"].endswith("/ResponseDocument")
    data = content["text/event-stream"]["schema"]["properties"]["data"]
    assert data["anyOf"][0]["contentSchema"]["$ref"].endswith("/ResponseEvent")
    body = create["requestBody"]["content"]["application/json"]
    assert len(body["examples"]) == 2
    for example in body["examples"].values():
        assert http.post(URL, json=example["value"]).status_code == 200
    schema = document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    assert schema["required"] == ["input"]
    assert "ReasoningOptions" in json.dumps(schema["properties"]["reasoning"])
