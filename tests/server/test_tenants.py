"""The tenant of a request: its API key, or the body's `user` on a server without keys."""

from __future__ import annotations

import pytest

from tests.server.conftest import MakeApp

BODY = {"prompt": "x", "max_tokens": 1}


def test_each_key_is_a_tenant(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="one,two")
    for key in ("one", "two", "one"):
        headers = {"Authorization": f"Bearer {key}"}
        sent = http.post("/v1/completions", json=BODY | {"user": "u"}, headers=headers)
        assert sent.status_code == 200, sent.text
    first, second, third = (request.tenant for request in engine.requests)
    assert first == third != second
    assert not {"one", "two", "u", ""} & {first, second}, "a key must not leave the server"


@pytest.mark.parametrize(
    ("user", "tenant"),
    [({"user": "ada"}, "ada"), ({}, ""), ({"user": None}, "")],
)
def test_without_keys_the_user_is_the_tenant(
    make_app: MakeApp, user: dict[str, object], tenant: str
) -> None:
    http, engine = make_app()
    response = http.post("/v1/completions", json=BODY | user)
    assert response.status_code == 200
    assert [request.tenant for request in engine.requests] == [tenant]
    assert "X-YAIE-Ignored-Params" not in response.headers


def test_the_next_turn_is_expected_in_the_namespace_of_its_key(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="one,two")
    body = {"messages": [{"role": "user", "content": "the plan"}]}
    sent = http.post("/v1/chat/completions", json=body, headers={"Authorization": "Bearer one"})
    assert sent.status_code == 200
    while not engine.expected:
        assert http.get("/stats", headers={"Authorization": "Bearer one"}).status_code == 200
    (request,) = engine.requests
    assert engine.expected[0].owner == request.owner == request.tenant != ""
