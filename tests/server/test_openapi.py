"""The OpenAPI document describes bodies, answers, errors and keys as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.batch.request_files import question
from tests.server.batch_calls import create, upload, wait
from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient, error_script
from yaie.base.errors import YaieError
from yaie.base.types import EngineState
from yaie.server.http.http_errors import error_reply
from yaie.server.http.middleware import OPEN_PATHS
from yaie.server.schemas import (
    batches,
    cache,
    generation_replies,
    message_replies,
    models,
    ollama_replies,
    operator_tools,
    probes,
    tokens,
)
from yaie.server.schemas.reply_struct import ReplyStruct

ERROR = {"$ref": "#/components/schemas/ErrorReply"}
MESSAGES_ERROR = {"$ref": "#/components/schemas/MessagesErrorReply"}
OLLAMA_ERROR = {"$ref": "#/components/schemas/OllamaErrorReply"}
POSTS = ("/v1/chat/completions", "/v1/completions")
RENDERS = tuple(f"{path}/render" for path in POSTS)
TOKENS = ("/v1/count_tokens", "/tokenize", "/detokenize", "/v1/messages/count_tokens")
SCHEMAS = {
    name: kind
    for module in (
        generation_replies,
        batches,
        cache,
        message_replies,
        models,
        ollama_replies,
        probes,
        operator_tools,
        tokens,
    )
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, ReplyStruct)
}
QUESTION = [{"role": "user", "content": "x"}]


def document_of(http: TestClient, **headers: str) -> Any:
    return http.get("/openapi.json", headers=headers).json()


def operations_of(document: Any) -> dict[tuple[str, str], Any]:
    return {
        (method.upper(), path): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def body_of(document: Any, path: str) -> Any:
    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]


def check_described(schema: type[ReplyStruct], answer: Any) -> None:
    """Assert that the schema accepts an answer and knows all of its fields."""
    known = msgspec.convert(answer, schema)
    assert msgspec.json.decode(msgspec.json.encode(known)) == json.loads(json.dumps(answer))


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set[str]().union(*map(references, value))
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own.union(*map(references, value.values()))


def test_references_lead_somewhere(http: TestClient) -> None:
    document = document_of(http)
    found = references(document)
    assert found
    for reference in found:
        place = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_required_fields_are_required(http: TestClient) -> None:
    document = document_of(http)
    for path, field in zip((*POSTS, *RENDERS), ("messages", "prompt") * 2, strict=True):
        assert body_of(document, path)["required"] == [field]
    assert body_of(document, POSTS[0])["properties"]["messages"]["minItems"] == 1


def test_ranges_are_those_of_the_sampling_parameters(http: TestClient) -> None:
    fields = body_of(document_of(http), POSTS[0])["properties"]
    assert {"type": "integer", "minimum": 1, "maximum": 128} in fields["n"]["anyOf"]
    assert {"type": "number", "minimum": 0.0, "maximum": 100.0} in fields["temperature"]["anyOf"]
    assert fields["messages"]["items"]["properties"]["role"]["enum"]


def test_every_operation_has_a_name_a_summary_and_a_schema_of_its_answer(http: TestClient) -> None:
    operations = operations_of(document_of(http))
    assert len({each["operationId"] for each in operations.values()}) == len(operations)
    for (_, path), each in operations.items():
        place = path
        assert each["description"] and each["tags"], place
        for status, response in each["responses"].items():
            assert "X-Request-ID" in response["headers"], place
            for media_type, content in response["content"].items():
                schema = content["schema"]
                forms = schema.get("anyOf", [schema])
                assert all("$ref" in form or form.get("type") for form in forms), place
                assert schema != ERROR or int(status) >= 400
                if media_type == "text/event-stream" and path in POSTS:
                    data = schema["properties"]["data"]["anyOf"]
                    assert data[0]["contentSchema"]["$ref"] and data[1] == {"const": "[DONE]"}


def test_every_status_of_an_error_is_described(http: TestClient) -> None:
    operations = operations_of(document_of(http))
    reading = {"400", "401", "404", "408", "413", "415", "500", "503", "504"}
    for (_, path), each in operations.items():
        error = MESSAGES_ERROR if path.startswith("/v1/messages") else ERROR
        error = OLLAMA_ERROR if path.startswith("/api/") else error
        errors = {s for s, r in each["responses"].items() if error in _schemas(r)}
        expected = reading if "requestBody" in each else set()
        if "requestBody" in each and not {"render", "tokens", "cache"} & set(each["tags"]):
            expected = expected | {"429"}
        if "cache" in each["tags"]:
            expected = expected | {"503"}
        if path == "/v1/responses":
            expected = expected | {"409"}
        if any(parameter["in"] == "query" for parameter in each.get("parameters", ())):
            expected = expected | {"400"}
        if path not in OPEN_PATHS:
            expected = expected | {"401"}
        if "{" in path or "batches" in each["tags"]:
            expected = expected | {"404"}
        assert errors == expected, path
        assert "422" not in each["responses"]


def _schemas(response: Any) -> list[Any]:
    return [content["schema"] for content in response["content"].values()]


def test_examples_of_errors_are_errors(http: TestClient) -> None:
    for each in operations_of(document_of(http)).values():
        for status, response in each["responses"].items():
            example = response["content"].get("application/json", {}).get("example")
            if example is not None:
                assert int(status) >= 400
                name = response["content"]["application/json"]["schema"]["$ref"]
                check_described(SCHEMAS[name.rpartition("/")[2]], example)


@pytest.mark.parametrize("path", POSTS)
def test_examples_of_bodies_are_answered(http: TestClient, path: str) -> None:
    content = document_of(http)["paths"][path]["post"]["requestBody"]["content"]
    examples = content["application/json"]["examples"]
    assert len(examples) >= 2
    for example in examples.values():
        assert http.post(path, json=example["value"]).status_code == 200
        assert http.post(f"{path}/render", json=example["value"]).status_code == 200


@pytest.mark.parametrize("path", TOKENS)
def test_answers_about_tokens_are_described(http: TestClient, path: str) -> None:
    described = document_of(http)["paths"][path]["post"]
    content = described["requestBody"]["content"]["application/json"]
    answer = described["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    assert len(content["examples"]) >= 2
    for example in content["examples"].values():
        answered = http.post(path, json=example["value"])
        assert answered.status_code == 200, answered.text
        check_described(SCHEMAS[answer.rpartition("/")[2]], answered.json())


def test_messages_are_described(http: TestClient) -> None:
    content = document_of(http)["paths"]["/v1/messages"]["post"]["requestBody"]["content"]
    for example in content["application/json"]["examples"].values():
        answered = http.post("/v1/messages", json=example["value"])
        assert answered.status_code == 200, answered.text
        if "stream" not in example["value"]:
            check_described(message_replies.MessageDocument, answered.json())
            continue
        for line in re.findall("^data: (.*)$", answered.text, re.MULTILINE):
            check_described(message_replies.MessageEvent, json.loads(line))


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate", "/api/show", "/api/pull"])
def test_answers_of_ollama_are_described(http: TestClient, path: str) -> None:
    described = document_of(http)["paths"][path]["post"]
    examples = described["requestBody"]["content"]["application/json"]["examples"]
    answers = described["responses"]["200"]["content"]
    for example in examples.values():
        answered = http.post(path, json=example["value"])
        assert answered.status_code == 200, answered.text
        schema = answers[answered.headers["content-type"]]["schema"]["$ref"]
        for line in answered.text.splitlines():
            check_described(SCHEMAS[schema.rpartition("/")[2]], json.loads(line))


def test_answers_to_gets_are_described(make_app: MakeApp, tmp_path: Path) -> None:
    http, _ = make_app(batch_dir=str(tmp_path))
    file_id = upload(http, question("a"))
    batch_id = create(http, file_id)["id"]
    ids = {"model": "tiny", "file": file_id, "batch": batch_id}
    wait(http, batch_id)
    for (method, path), each in operations_of(document_of(http)).items():
        if method != "GET" or "{response_id}" in path:
            continue
        content = each["responses"]["200"]["content"]
        forms: list[dict[str, str]] = [{}]
        if "application/json" in content:
            schema = content["application/json"]["schema"]
            forms = schema.get("anyOf", [schema])
        for form, headers in zip(forms, ({}, {"anthropic-version": "2023-06-01"}), strict=False):
            named = re.sub(r"{(\w+)_id}", lambda found: ids[found[1]], path)
            response = http.get(named, headers=headers)
            assert response.headers["content-type"].partition(";")[0] in content, path
            if form:
                check_described(SCHEMAS[form["$ref"].rpartition("/")[2]], response.json())


def test_states_are_described(make_app: MakeApp) -> None:
    http, engine = make_app()
    for state in EngineState:
        engine.state = state
        check_described(probes.StateReply, http.get("/health").json())
        check_described(probes.StatsReply, http.get("/stats").json())


OPTIONS = (
    {},
    {"n": 2, "max_tokens": 2},
    {"return_token_ids": True, "stop": "tree"},
    {"logprobs": True, "top_logprobs": 2, "seed": 3},
    {"stream_options": {"include_usage": True}},
)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("path", POSTS)
def test_answers_and_chunks_are_described(
    http: TestClient, path: str, options: dict[str, Any]
) -> None:
    body: dict[str, Any] = {**options}
    whole: type[ReplyStruct] = generation_replies.ChatCompletion
    chunk: type[ReplyStruct] = generation_replies.ChatCompletionChunk
    if path == POSTS[0]:
        body["messages"] = QUESTION
    else:
        whole, chunk = generation_replies.TextCompletion, generation_replies.TextCompletionChunk
        body["prompt"] = "the tree"
        body["echo"] = True
        if body.pop("logprobs", False):
            body["logprobs"] = body.pop("top_logprobs")
    if "stream_options" not in body:
        check_described(whole, http.post(path, json=body).json())
    text = http.post(path, json={**body, "stream": True}).text
    events = re.findall(r"^data: (\{.*\})$", text, re.MULTILINE)
    assert len(events) > 1
    for event in events:
        check_described(chunk, json.loads(event))


@pytest.mark.parametrize("path", RENDERS)
def test_rendered_requests_are_described(http: TestClient, path: str) -> None:
    found = http.post(path, json={"messages": QUESTION, "prompt": ["a", "b"]}).json()
    for each in found if isinstance(found, list) else [found]:
        check_described(generation_replies.RenderedRequest, each)


def test_errors_are_described(http: TestClient) -> None:
    error = error_reply(YaieError("x", param="y", code="z"))
    check_described(probes.ErrorReply, msgspec.to_builtins(error))
    check_described(probes.ErrorReply, http.post(POSTS[0], json={}).json())
    check_described(probes.MessagesErrorReply, http.post("/v1/messages", json={}).json())
    wrong = http.post("/api/chat", json={"stream": 3})
    check_described(probes.OllamaErrorReply, wrong.json())


def test_a_stream_that_fails_ends_with_a_described_error(make_app: MakeApp) -> None:
    engine = ScriptedClient([5])
    engine.script = error_script(YaieError("x").to_wire(), after=[5])
    http, _ = make_app(engine)
    text = http.post(POSTS[1], json={"prompt": "x", "stream": True}).text
    check_described(probes.ErrorReply, json.loads(text.rstrip().rpartition("data: ")[2]))


def test_keys_are_described_and_optional_without_one(make_app: MakeApp) -> None:
    free = document_of(make_app()[0])
    assert free["security"] == [{}, {"bearer": []}, {"header": []}]
    locked = document_of(make_app(api_key="k")[0])
    assert locked["security"] == [{"bearer": []}, {"header": []}]
    for document in (free, locked):
        schemes = document["components"]["securitySchemes"]
        assert (schemes["bearer"]["scheme"], schemes["header"]["name"]) == ("bearer", "X-API-Key")
        assert document["paths"]["/health"]["get"]["security"] == []
        assert "security" not in document["paths"]["/v1/models"]["get"]


@pytest.mark.parametrize("prefix", ["", "/llm"])
def test_the_page_needs_neither_a_key_nor_the_internet(make_app: MakeApp, prefix: str) -> None:
    app: Any = make_app(api_key="k")[0].app
    http = TestClient(app, root_path=prefix)
    page = http.get(f"{prefix}/docs").text
    assert not re.search(r"https?://", page)
    loaded = re.findall(r"(?:src|href)=\"([^\"]+)\"", page)
    loaded = [each for each in loaded if not each.startswith("data:")]
    assert len(loaded) == 2
    for path in loaded:
        response = http.get(path)
        assert response.status_code == 200
        assert len(response.content) > 100_000
        assert "max-age" in response.headers["Cache-Control"]
    assert f"'{prefix}/openapi.json'" in page
    document = http.get(f"{prefix}/openapi.json").json()
    assert document["info"]["title"] == "YAIE"
    assert http.get(f"{prefix}/docs/../app.py").status_code in (401, 404)
    assert http.get(f"{prefix}/docs/LICENSE", headers={"X-API-Key": "k"}).status_code == 404
