"""Models of one service, each with its own engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from yaie.base.errors import StartupError
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineState
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.text.template_renderer import RENDERER
from yaie.text.tokenizer import Tokenizer

Pair = tuple[TestClient, Service, ScriptedClient]


@pytest.fixture
def pair(make_app: MakeApp, tiny_model_dir: Path, tokenizer: Tokenizer) -> Pair:
    """Ready service with two models."""
    return with_another(make_app, tiny_model_dir, tokenizer)


def with_another(make_app: MakeApp, tiny_model_dir: Path, tokenizer: Tokenizer) -> Pair:
    """Load a second model into a ready service."""
    http, _ = make_app()
    service: Service = http.app.state.service  # type: ignore[attr-defined]
    engine = ScriptedClient(tokenizer.encode("second"))
    config = EngineConfig(model=str(tiny_model_dir), served_model_name="other")
    model = ServedModel(config, lambda config: engine, service.run_in_thread)
    assert http.portal is not None
    http.portal.call(model.load)
    service.models[model.name] = model
    return http, service, engine


def test_each_model_answers_with_its_own_engine(pair: Pair) -> None:
    http, _, engine = pair

    def text_of(**fields: str) -> str:
        body = http.post("/v1/completions", json={"prompt": "x", **fields}).json()
        return str(body["choices"][0]["text"])

    assert text_of(model="other") == "second"
    assert text_of(model="tiny") == text_of() == text_of(model="") == "The tree 🙂 plan."
    assert len(engine.requests) == 1


def test_no_request_waits_for_the_chat_template(
    make_app: MakeApp,
    tiny_model_dir: Path,
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    http, *_ = with_another(make_app, tiny_model_dir, tokenizer)
    rendered, render = [], RENDERER.render

    def spy(template: str, variables: dict[str, Any], max_chars: int) -> str:
        rendered.append(variables["messages"][0]["content"])
        return render(template, variables, max_chars)

    monkeypatch.setattr(RENDERER, "render", spy)
    body = {"model": "other", "messages": [{"role": "user", "content": "x"}]}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    assert rendered[0] == "x"  # no probe of the template before it


def test_every_model_is_listed(pair: Pair) -> None:
    http, _, _ = pair
    assert [card["id"] for card in http.get("/v1/models").json()["data"]] == ["tiny", "other"]
    assert http.get("/v1/models/other").json()["id"] == "other"
    message = http.get("/v1/models/third").json()["error"]["message"]
    assert message.endswith("this server has 'tiny', 'other'")


@pytest.mark.parametrize("name", ["tiny", "other"])
def test_one_unready_model_makes_the_service_unready(pair: Pair, name: str) -> None:
    http, service, engine = pair
    engine = engine if name == "other" else service.models[name].client  # type: ignore[assignment]
    engine.state, engine.state_reason = EngineState.DEAD, "killed"
    assert http.get("/health").json()["state"] == "dead"
    assert http.get("/health").json()["reason"] == "killed"
    for other in service.models:
        status = http.post("/v1/completions", json={"prompt": "x", "model": other}).status_code
        assert status == (503 if other == name else 200)


def test_one_failed_model_fails_the_service(pair: Pair) -> None:
    http, service, _ = pair
    service.models["other"].failure = StartupError("too little memory")
    assert http.get("/liveness").status_code == 503
    assert service.failure is service.models["other"].failure


def test_an_unknown_model_is_refused_while_loading(make_app: MakeApp) -> None:
    engine = ScriptedClient([5])
    engine.state, engine.info = EngineState.STARTING, None
    http, _ = make_app(engine, is_ready=False)
    answer = http.post("/v1/completions", json={"prompt": "x", "model": "other"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (404, "model")


def test_two_applications_of_one_process_keep_apart(
    make_app: MakeApp, tokenizer: Tokenizer
) -> None:
    one, first = make_app(api_key="k")
    other, second = make_app(ScriptedClient(tokenizer.encode("second")))
    assert other.post("/v1/completions", json={"prompt": "x"}).status_code == 200
    assert one.post("/v1/completions", json={"prompt": "x"}).status_code == 401
    assert (len(first.requests), len(second.requests)) == (0, 1)
    assert 'route="/v1/completions",status="200"' not in one.get("/metrics").text


@pytest.mark.parametrize("name", ["state", "state_reason", "info", "stats", "num_restarts", "pid"])
def test_a_scrape_may_meet_an_unload(name: str) -> None:
    """The metrics are read in another thread, which may run between any two reads of a field."""

    class Unloaded(ServedModel):
        reads = 0

        @property  # type: ignore[override]
        def _client(self) -> ScriptedClient | None:
            self.reads += 1
            return engine if self.reads == 1 else None

        @_client.setter
        def _client(self, client: object) -> None:
            pass

    engine = ScriptedClient([])
    config = EngineConfig(model="m")
    model = Unloaded(config, lambda _: engine, Service.write_in_thread)  # type: ignore[arg-type]
    model._tokenizer = None
    getattr(model, name)
    assert model.reads == 1
