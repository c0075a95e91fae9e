"""Requests as the engine would get them, by the `/render` endpoints."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.bad_bodies import CHAT, MESSAGES, TEXT, check_error
from tests.server.conftest import MakeApp
from tests.server.test_openapi import check_described
from yaie.base.types import SAMPLING_FIELDS
from yaie.server.schemas.generation_replies import RenderedRequest


def test_a_conversation_is_rendered_as_it_is_answered(make_app: MakeApp) -> None:
    http, engine = make_app()
    body = {"messages": MESSAGES, "seed": 3, "top_k": 5, "cache_salt": "s", "priority": 2}
    found = http.post(f"{CHAT}/render", json=body).json()
    assert engine.requests == []
    check_described(RenderedRequest, found)
    answer = http.post(CHAT, json={**body, "return_token_ids": True}).json()
    assert found["token_ids"] == answer["prompt_token_ids"]
    assert len(found["token_ids"]) == answer["usage"]["prompt_tokens"]
    assert (found["cache_salt"], found["priority"], found["model"]) == ("s", 2, "tiny")
    sampling = found["sampling_params"]
    assert set(sampling) == set(SAMPLING_FIELDS)
    assert (sampling["seed"], sampling["top_k"]) == (3, 5)
    assert sampling["max_tokens"] == 256 - len(found["token_ids"])


@pytest.mark.parametrize("prompt", ["the tree", ["the tree", "plan"], [5, 6], [[5, 6], [7]]])
def test_each_prompt_is_rendered(http: TestClient, prompt: Any) -> None:
    body = {"prompt": prompt, "max_tokens": 4, "return_token_ids": True}
    found = http.post(f"{TEXT}/render", json=body).json()
    answer = http.post(TEXT, json=body).json()
    expected = [choice["prompt_token_ids"] for choice in answer["choices"]]
    assert [each["token_ids"] for each in found] == expected
    assert len({each["request_id"] for each in found}) == len(found)
    assert all(each["sampling_params"]["max_tokens"] == 4 for each in found)


def test_a_body_is_refused_as_by_the_endpoint_itself(http: TestClient) -> None:
    for path, body in ((CHAT, {"messages": []}), (TEXT, {"prompt": "x", "n": 0}), (TEXT, {})):
        given, expected = (http.post(path + end, json=body) for end in ("/render", ""))
        assert given.status_code == expected.status_code == 400
        assert check_error(given) == check_error(expected)
    assert http.post(f"{TEXT}/render", json={"prompt": "x", "model": "y"}).status_code == 404


def test_ignored_fields_are_named(http: TestClient) -> None:
    response = http.post(f"{TEXT}/render", json={"prompt": "x", "made_up": 1})
    assert response.headers["X-YAIE-Ignored-Params"] == "made_up"
