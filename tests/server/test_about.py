"""Answers about the server itself: its front page, its version, and its models."""

from __future__ import annotations

import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from tests.server.test_openapi import check_described
from yaie.base.own_package import read_version
from yaie.base.settings import Settings
from yaie.base.types import EngineState
from yaie.server.app import create_app
from yaie.server.schemas.models import ModelCard

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_the_front_page_is_html_for_browsers_only(http: TestClient) -> None:
    page = http.get("/", headers=BROWSER)
    assert page.headers["content-type"].startswith("text/html")
    answer = http.get("/").json()
    assert answer["server"] == "yaie"
    for path in answer["links"].values():
        assert f'href="{path}"' in page.text
        assert http.get(path).status_code == 200, path


def test_links_of_the_front_page_have_the_prefix(http: TestClient) -> None:
    app: Any = http.app
    prefixed = TestClient(app, root_path="/llm")
    assert 'href="/llm/docs"' in prefixed.get("/llm/", headers=BROWSER).text
    assert prefixed.get("/llm/").json()["links"]["models"] == "/llm/v1/models"


def test_the_version_is_the_applications(http: TestClient) -> None:
    app: Any = http.app
    assert http.get("/version").json() == {"version": app.version}
    assert app.version == read_version()
    assert http.get("/openapi.json").json()["info"]["version"] == app.version


def test_ping_is_health(make_app: MakeApp) -> None:
    http, engine = make_app()
    ping, health = (http.get(path).json() for path in ("/ping", "/health"))
    assert {**ping, "last_step_age_s": 0} == {**health, "last_step_age_s": 0}
    engine.state = EngineState.DEAD
    assert http.get("/ping").status_code == 503


def test_a_card_tells_limits_and_abilities(http: TestClient, tiny_model_dir: Any) -> None:
    card = http.get("/v1/models/tiny").json()
    check_described(ModelCard, card)
    assert (card["root"], card["parent"]) == (str(tiny_model_dir), None)
    assert (card["permission"], card["owned_by"]) == ([], "yaie")
    assert card["limits"]["max_choices"] == 128
    assert card["capabilities"]["chat"] is True


def test_a_card_is_there_while_the_model_loads(make_app: MakeApp) -> None:
    engine = ScriptedClient([5])
    engine.state, engine.info = EngineState.STARTING, None
    http, _ = make_app(engine, is_ready=False)
    card = http.get("/v1/models/tiny").json()
    check_described(ModelCard, card)
    assert card["limits"] is None


def test_an_id_may_have_slashes(tiny_model_dir: Any) -> None:
    name = "org/model/v 1"
    app = create_app(
        Settings(model=str(tiny_model_dir), served_model_name=name),
        make_client=lambda config: ScriptedClient([5]),
    )
    with TestClient(app) as http:
        for path in ("org/model/v%201", "org%2Fmodel%2Fv%201"):
            assert http.get(f"/v1/models/{path}").json()["id"] == name


def test_a_model_may_have_several_names(tiny_model_dir: Any) -> None:
    settings = Settings(model=str(tiny_model_dir), served_model_name="tiny, claude-x,,tiny")
    assert settings.model_names == ("tiny", "claude-x")
    engine = ScriptedClient([5])
    with TestClient(create_app(settings, make_client=lambda config: engine)) as http:
        while http.get("/readiness").status_code != 200:
            time.sleep(0.005)
        assert [card["id"] for card in http.get("/v1/models").json()["data"]] == [
            "tiny",
            "claude-x",
        ]
        assert http.get("/v1/models/claude-x").json()["id"] == "claude-x"
        chat: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 9}
        for path in ("/v1/messages", "/v1/chat/completions"):
            for asked, answered in (("claude-x", "claude-x"), ("tiny", "tiny"), (None, "tiny")):
                response = http.post(path, json=chat | {"model": asked})
                assert response.json()["model"] == answered
            response = http.post(path, json=chat | {"model": "other"})
            assert response.status_code == 404
            assert "'tiny', 'claude-x'" in response.json()["error"]["message"]


@pytest.mark.parametrize("body", [{"input": "x", "model": "tiny"}, {}])
def test_embeddings_are_refused_with_a_reason(http: TestClient, body: dict[str, str]) -> None:
    response = http.post("/v1/embeddings", json=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "unsupported_endpoint"
    assert error["message"].startswith("the model 'tiny' generates text and computes no embeddings")
