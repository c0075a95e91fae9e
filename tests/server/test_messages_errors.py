"""Errors below `/v1/messages`: Anthropic's form, wherever they come from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient, error_script
from tests.server.test_messages import MESSAGES, read_events
from tests.server.test_openapi import check_described
from yaie.base.errors import EngineDied, Overloaded, RequestFailed
from yaie.base.settings import Settings
from yaie.base.types import EngineState
from yaie.server.app import create_app
from yaie.server.schemas.models import MessagesModelList

BODY = {"messages": MESSAGES, "max_tokens": 9}


def check(response: Any, status: int, kind: str, fault: str) -> None:
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"type", "error", "request_id"} and body["type"] == "error"
    assert set(body["error"]) == {"type", "message"}
    assert body["error"]["type"] == kind
    assert fault in body["error"]["message"]
    assert body["request_id"] == response.headers["X-Request-ID"] == response.headers["Request-Id"]


def test_an_unknown_model_names_the_served_one(http: TestClient) -> None:
    response = http.post("/v1/messages", json=BODY | {"model": "claude-sonnet-4-5"})
    fault = "the model 'claude-sonnet-4-5' is not served here; this server has 'tiny'"
    check(response, 404, "not_found_error", fault)


def test_keys(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="k")
    check(http.post("/v1/messages", json=BODY), 401, "authentication_error", "X-API-Key")
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert http.post("/v1/messages", json=BODY, headers=headers).status_code == 200


def test_a_large_body(make_app: MakeApp) -> None:
    http, _ = make_app(max_body_bytes=1024)
    body = BODY | {"system": "x" * 2000}
    check(http.post("/v1/messages", json=body), 413, "request_too_large", "1024 bytes")


def test_paths_methods_and_media_types(http: TestClient) -> None:
    check(http.get("/v1/messages"), 405, "invalid_request_error", "GET")
    check(http.post("/v1/messages/batches"), 404, "not_found_error", "does not exist")
    sent = http.post("/v1/messages", content=b"x", headers={"content-type": "text/plain"})
    check(sent, 415, "invalid_request_error", "text/plain")
    assert "type" not in http.get("/v1/messagesx").json(), "another API's path"


def test_models_have_the_form_of_the_header(tiny_model_dir: Any) -> None:
    names = ["tiny", "claude-x", "org/c"]
    settings = Settings(model=str(tiny_model_dir), served_model_name=",".join(names), api_key="k")
    app = create_app(settings, make_client=lambda config: ScriptedClient([5]))
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    with TestClient(app, headers=headers) as http:
        while http.get("/readiness").status_code != 200:
            pass
        page = http.get("/v1/models").json()
        check_described(MessagesModelList, page)
        assert (page["first_id"], page["last_id"], page["has_more"]) == ("tiny", "org/c", False)
        card = page["data"][1]
        assert card == http.get("/v1/models/claude-x").json()
        assert (card["type"], card["display_name"], card["lifecycle"]) == (
            "model",
            "claude-x",
            "active",
        )
        assert card["max_input_tokens"] == 255
        assert datetime.fromisoformat(card["created_at"]).tzinfo is not None
        for query, ids, has_more in (
            ("limit=2", names[:2], True),
            ("limit=2&after_id=claude-x", names[2:], False),
            ("before_id=org/c", names[:2], False),
            ("before_id=org/c&limit=1", names[1:2], True),
            ("after_id=org/c", [], False),
        ):
            page = http.get(f"/v1/models?{query}").json()
            assert ([card["id"] for card in page["data"]], page["has_more"]) == (ids, has_more)
        check(http.get("/v1/models/other"), 404, "not_found_error", "'other' is not served")
        check(http.get("/v1/models?limit=0"), 400, "invalid_request_error", "limit must be")
        check(http.get("/v1/models?after_id=x"), 400, "invalid_request_error", "after_id must be")
        wrong = http.get("/v1/models", headers={"x-api-key": "no"})
        check(wrong, 401, "authentication_error", "key")


def test_states_of_the_engine(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.refusal = Overloaded("the waiting queue is full")
    response = http.post("/v1/messages", json=BODY)
    check(response, 429, "rate_limit_error", "full")
    assert response.headers["Retry-After"] == "1"
    engine.state = EngineState.DEAD
    check(http.post("/v1/messages", json=BODY), 503, "overloaded_error", "restarted")


def test_a_failed_request(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(RequestFailed("secret").to_wire())
    response = http.post("/v1/messages", json=BODY)
    check(response, 500, "api_error", "failed inside the engine")
    assert "secret" not in response.text


def test_a_stream_ends_with_its_error(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(EngineDied("the engine died").to_wire(), after=engine.answer[:2])
    response = http.post("/v1/messages", json=BODY | {"stream": True})
    assert response.status_code == 200
    *_, last = read_events(response.text)
    assert last == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "the engine died"},
        "request_id": response.headers["X-Request-ID"],
    }
