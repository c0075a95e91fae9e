"""The OpenAPI document describes bodies, errors and keys."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp

ERROR = {"$ref": "#/components/schemas/Error"}
POSTS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")
MESSAGES_ERROR = {"$ref": "#/components/schemas/MessagesError"}


def document_of(http: TestClient, **headers: str) -> Any:
    return http.get("/openapi.json", headers=headers).json()


def test_required_fields_are_required(http: TestClient) -> None:
    paths = document_of(http)["paths"]
    for path, field in zip(POSTS, ("messages", "prompt", "input"), strict=True):
        schema = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["required"] == [field]
    messages = paths[POSTS[0]]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert messages["properties"]["messages"]["minItems"] == 1


@pytest.mark.parametrize(
    ("path", "error"), [*((path, ERROR) for path in POSTS), ("/v1/messages", MESSAGES_ERROR)]
)
def test_errors_have_a_schema(http: TestClient, path: str, error: Any) -> None:
    responses = document_of(http)["paths"][path]["post"]["responses"]
    assert "422" not in responses
    assert set(responses["200"]["content"]) == {"application/json", "text/event-stream"}
    for status in ("400", "404", "413", "415", "429", "500", "503", "504"):
        assert responses[status]["content"]["application/json"]["schema"] == error


def test_statuses_and_media_types_are_the_documented_ones(http: TestClient) -> None:
    paths = document_of(http)["paths"]
    for method, path, template, body in (
        ("POST", "/v1/completions", "/v1/completions", {}),
        ("POST", "/v1/completions", "/v1/completions", {"prompt": "x"}),
        ("POST", "/v1/completions", "/v1/completions", {"prompt": "x", "stream": True}),
        ("POST", "/v1/chat/completions", "/v1/chat/completions", {"model": "other"}),
        ("POST", "/v1/responses", "/v1/responses", {"input": "x", "stream": True}),
        ("GET", "/v1/responses/other", "/v1/responses/{response_id}", None),
        ("POST", "/v1/messages", "/v1/messages", {}),
        ("GET", "/v1/models/other", "/v1/models/{model_id}", None),
        ("GET", "/v1/models", "/v1/models", None),
        ("GET", "/metrics", "/metrics", None),
        ("GET", "/stats", "/stats", None),
        ("GET", "/health", "/health", None),
    ):
        response = http.request(method, path, json=body)
        documented = paths[template][method.lower()]["responses"][str(response.status_code)]
        assert response.headers["content-type"].partition(";")[0] in documented["content"], path


def test_keys_are_described_only_if_they_are_needed(make_app: MakeApp) -> None:
    free = document_of(make_app()[0])
    assert "security" not in free and "securitySchemes" not in free["components"]
    locked = document_of(make_app(api_key="k")[0], Authorization="Bearer k")
    assert locked["security"] == [{"bearer": []}, {"header": []}]
    assert locked["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert locked["paths"]["/health"]["get"]["security"] == []
    assert "401" in locked["paths"]["/v1/models"]["get"]["responses"]
    assert "401" not in free["paths"]["/v1/models"]["get"]["responses"]
