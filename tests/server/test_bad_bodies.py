"""Wrong bodies: each gets a 4xx with an OpenAI error and the name of the parameter."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.bad_bodies import CASES, CHAT, TEXT, check_error, good
from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO


@pytest.mark.parametrize(("path", "fields", "param"), CASES)
def test_a_wrong_field_is_named(
    shared_http: TestClient, path: str, fields: dict[str, Any], param: str | None
) -> None:
    response = shared_http.post(path, json={**good(path), **fields})
    if param is None:
        assert response.status_code < 500
        return
    error = check_error(response)
    assert response.status_code == 400
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"


def test_wrong_bodies_do_not_reach_the_engine(make_app: MakeApp) -> None:
    http, engine = make_app()
    for path, fields, param in CASES:
        if param is not None:
            http.post(path, json={**good(path), **fields})
    assert engine.requests == []


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 8.0, "n": 1.0, "seed": 7.0, "top_k": -1.0, "stop_token_ids": [5.0]},
        {"repeat_penalty": 1.0, "typical_p": 1, "mirostat": 0, "grammar": "", "regex": None},
        {"guided_grammar": "", "guided_choice": [], "tfs": 1, "n_predict": -1, "top_a": 0},
        {"do_sample": True, "num_beams": 1, "output_kind": "delta", "lora": [], "adapter_id": ""},
        {"model": ""},
    ],
)
def test_neutral_values_are_accepted(http: TestClient, fields: dict[str, Any]) -> None:
    for path in (CHAT, TEXT):
        response = http.post(path, json={**good(path), **fields})
        assert response.status_code == 200, response.text
        assert "X-YAIE-Ignored-Params" not in response.headers


def test_other_servers_names_are_accepted_beside_ours(http: TestClient) -> None:
    for path in (CHAT, TEXT):
        both = {**good(path), "max_tokens": 3, "max_new_tokens": 3}
        response = http.post(path, json=both)
        assert response.status_code == 200, response.text
        assert response.headers["X-YAIE-Ignored-Params"] == "max_new_tokens"


def test_unknown_models(http: TestClient) -> None:
    for path in (CHAT, TEXT):
        response = http.post(path, json={**good(path), "model": "gpt-5\r\n"})
        assert response.status_code == 404
        error = check_error(response)
        assert (error["param"], error["code"]) == ("model", "model_not_found")
    assert http.get("/v1/models/other/model").status_code == 404


def test_the_context_error_holds_the_numbers(http: TestClient) -> None:
    response = http.post(TEXT, json={"prompt": [5] * 300})
    error = check_error(response)
    assert error["code"] == "context_length_exceeded"
    assert "300" in error["message"] and "256" in error["message"]
    # litellm knows the error by this phrase.
    long_chat = {"messages": [{"role": "user", "content": "the " * 250}]}
    for path, body, subject in (
        (TEXT, {"prompt": [5] * 300}, "prompt has 300"),
        (TEXT, {"prompt": "the " * 600}, "prompt has "),
        (CHAT, long_chat, "messages has "),
    ):
        message = check_error(http.post(path, json=body))["message"]
        assert message.startswith("this model's maximum context length is 256 tokens, but ")
        assert subject in message
        if "300" in subject:  # LangChain knows it by Anthropic's phrase
            assert "the prompt is too long" in message
    assert http.post(TEXT, json={"prompt": [5] * 255, "max_tokens": 1}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/v1", 404, "not_found"),
        ("GET", "/v1/completions/", 405, "method_not_allowed"),
        ("GET", "/v1/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/chat/completions", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("BREW", "/health", 405, "method_not_allowed"),
    ],
)
def test_wrong_paths_and_methods(
    http: TestClient, method: str, path: str, status: int, code: str
) -> None:
    response = http.request(method, path)
    assert response.status_code == status
    assert check_error(response)["code"] == code


def test_the_table_fits_the_engine() -> None:
    assert (INFO.vocab_size, INFO.max_model_len) == (420, 256)
    assert len(CASES) >= 80
