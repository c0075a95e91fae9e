"""`ApiServer`: a server as an object, with handlers to override and tools to register."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

import yaie
from server import fire as fire_server
from server import run as run_server
from tests.server.scripted_client import ScriptedClient
from yaie import LLM
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.client.engine_client import EngineClient
from yaie.server.api_server import ApiServer, BaseInferenceApiServer
from yaie.server.routes.endpoint_registry import EndpointConfig
from yaie.text.tokenizer import Tokenizer

HANDLERS = {
    "chat_completions": ("POST", "/v1/chat/completions"),
    "completions": ("POST", "/v1/completions"),
    "health_check": ("GET", "/health"),
    "get_metrics": ("GET", "/metrics"),
    "list_models": ("GET", "/v1/models"),
    "get_model": ("GET", "/v1/models/x"),
    "list_tools": ("GET", "/v1/tools"),
    "execute_tool": ("POST", "/v1/tools/execute"),
}


class Scripted(ApiServer):
    """A server over an engine of its own."""

    tokenizer: Tokenizer

    def make_client(self, config: EngineConfig) -> EngineClient:
        return ScriptedClient(self.tokenizer.encode("The tree"))


@pytest.fixture
def scripted(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "tokenizer", tokenizer, raising=False)


@contextmanager
def served(server: ApiServer) -> Iterator[TestClient]:
    with TestClient(server.app, raise_server_exceptions=False) as http:
        while http.get("/readiness").status_code != 200:
            assert server.app.state.service.failure is None
            time.sleep(0.005)
        yield http


def weather(city: str, unit: Literal["c", "f"] = "c") -> dict[str, str]:
    """Return the weather of a city."""
    return {"city": city, "unit": unit}


@pytest.mark.usefixtures("scripted")
def test_a_subclass_has_the_engine_that_it_makes(tiny_model_dir: Path) -> None:
    with served(Scripted(tiny_model_dir, served_model_name="mine")) as http:
        answer = http.post("/v1/completions", json={"prompt": "x", "max_tokens": 9}).json()
        assert answer["choices"][0]["text"] == "The tree"
        assert http.get("/v1/models").json()["data"][0]["id"] == "mine"
    assert BaseInferenceApiServer is ApiServer is yaie.ApiServer


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("name", HANDLERS)
def test_each_handler_can_be_overridden(tiny_model_dir: Path, name: str) -> None:
    async def handler(self: ApiServer, request: Request, model_id: str = "") -> Response:
        """Answer in another way."""
        return JSONResponse({"mine": name + model_id})

    kind: type[ApiServer] = type("Own", (Scripted,), {name: handler})
    method, path = HANDLERS[name]
    with served(kind(tiny_model_dir, tool_key="k")) as http:
        expected = {"mine": name + ("x" if name == "get_model" else "")}
        assert http.request(method, path).json() == expected
        for other, (verb, place) in HANDLERS.items():
            if other != name:
                response = http.request(verb, place)
                assert response.status_code in (200, 400, 401, 404)
                assert "mine" not in response.text


@pytest.mark.usefixtures("scripted")
def test_a_subclass_extends_endpoints_and_has_hooks(tiny_model_dir: Path) -> None:
    events = []

    class Own(Scripted):
        @property
        def endpoints(self) -> list[EndpointConfig]:
            own = EndpointConfig(path="/mine", handler=self.mine)
            return [*(each for each in super().endpoints if each.path != "/stats"), own]

        async def mine(self, request: Request) -> Response:
            """Answer with the model's name."""
            return JSONResponse(self.settings.model_name)

        async def on_startup(self) -> None:
            events.append("startup")

        async def on_shutdown(self) -> None:
            events.append("shutdown")

    with served(Own(tiny_model_dir)) as http:
        assert http.get("/mine").json() == str(tiny_model_dir)
        assert http.get("/stats").status_code == 404
    assert events == ["startup", "shutdown"]


def test_an_llm_of_this_process_is_served_and_stays_open(tiny_model_dir: Path) -> None:
    with LLM(tiny_model_dir, num_slots=600, threads=1, inference_name="own") as llm:
        for _ in range(2):  # a second server of the same engine too
            with served(ApiServer(llm)) as http:
                body = {"prompt": "the lazy dog", "max_tokens": 8, "temperature": 0}
                answer = http.post("/v1/completions", json=body).json()
                expected = llm.process_prompt("the lazy dog", {"max_tokens": 8, "temperature": 0})
                assert answer["model"] == "own"
                assert answer["choices"][0]["text"] == expected.text
                with http.stream("POST", "/v1/completions", json={**body, "stream": True}) as lines:
                    assert "[DONE]" in lines.read().decode()


def test_settings_are_checked_and_processes_are_one() -> None:
    server = ApiServer("builtin", port=1234, log_level="warning")
    assert (server.settings.port, server.settings.model) == (1234, "builtin")
    with pytest.raises(ConfigError, match="did you mean port"):
        ApiServer("builtin", prt=5)
    for wrong in ({"workers": 2}, {"reload": True}):
        with pytest.raises(ConfigError, match="run one process"):
            server.run(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="ssl_"):
        server.fire(ssl_certfile="a.pem")


def test_a_server_is_run_by_one_call_or_refused_with_the_reason() -> None:
    assert run_server is fire_server
    for wrong in ({"workers": 2}, {"reload": True}):
        with pytest.raises(ConfigError, match="run one process"):
            run_server("builtin", port=0, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_batch_size is not a setting; use max_running"):
        run_server("builtin", max_batch_size=3)


# -- tools ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scripted")
def test_tools_of_the_server_are_listed_and_run_with_the_key(tiny_model_dir: Path) -> None:
    body = {"name": "weather", "arguments": {"city": "Paris"}}
    with served(Scripted(tiny_model_dir, tools=[weather])) as http:
        (tool,) = http.get("/v1/tools").json()["data"]
        assert tool["function"]["name"] == "weather"
        assert tool["function"]["parameters"]["required"] == ["city"]
        assert http.post("/v1/tools/execute", json=body).status_code == 404
    with served(Scripted(tiny_model_dir, tools=[weather], tool_key="k")) as http:
        assert http.post("/v1/tools/execute", json=body).status_code == 401
        answer = http.post("/v1/tools/execute", json=body, headers={"X-Tool-Key": "k"}).json()
        assert json.loads(answer["content"]) == {"city": "Paris", "unit": "c"}
