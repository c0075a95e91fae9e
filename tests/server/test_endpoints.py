"""The registry of endpoints: it drives routes, keys, metrics and the OpenAPI document."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.testclient import TestClient

from tests.server.scripted_client import ScriptedClient
from yaie.base.errors import ConfigError, EngineUnavailable, YaieError
from yaie.base.settings import Settings
from yaie.server.app import create_app
from yaie.server.routes.endpoint_registry import EndpointConfig, standard_endpoints
from yaie.text.tokenizer import Tokenizer

Serve = Callable[..., Any]


async def hello(request: Request, name: str = "you") -> Response:
    """Greet a caller."""
    return JSONResponse({"hello": name})


HELLO = EndpointConfig(path="/hello/{name}", handler=hello)


@pytest.fixture
def serve(tiny_model_dir: Path, tokenizer: Tokenizer) -> Serve:
    """Serve an application over a scripted engine; waits until it is ready."""

    @contextmanager
    def run(
        *, is_ready: bool = True, api_key: str | None = None, **arguments: Any
    ) -> Iterator[Any]:
        failures: list[YaieError] = []
        app = create_app(
            Settings(model=str(tiny_model_dir), api_key=api_key),
            lambda config: ScriptedClient(tokenizer.encode("The tree")),
            failures.append,
            **arguments,
        )
        with TestClient(app, raise_server_exceptions=False) as http:
            while is_ready and http.get("/readiness").status_code != 200:
                assert not failures
                time.sleep(0.005)
            yield http, failures

    return run


def test_the_registry_is_the_routes_and_the_document(serve: Serve) -> None:
    with serve() as (http, _):
        registry = http.app.state.endpoints
        assert registry == standard_endpoints()
        document = http.app.openapi()["paths"]
        shown = {
            (re.sub(r":\w+}", "}", each.path), method)
            for each in registry
            if each.is_shown
            for method in each.methods
        }
        described = {
            (path, method.upper()) for path, operations in document.items() for method in operations
        }
        assert described == shown
        for each in registry:  # whatever it answers to an empty request, the path exists
            known = "swagger-ui.css" if each.path.startswith("/docs/") else "x"
            path = re.sub(r"{[\w:]+}", known, each.path)
            for method in each.methods:
                response = http.request(method, path)
                assert response.status_code != 405, path
                assert "does not exist" not in response.text, path


def test_every_endpoint_needs_a_key_unless_it_says_so(serve: Serve) -> None:
    extended = [
        *standard_endpoints(),
        HELLO,
        replace(HELLO, path="/open", name="open", is_open=True),
    ]
    with serve(api_key="k", endpoints=extended) as (http, _):
        for each in extended:
            path = re.sub(r"{[\w:]+}", "x", each.path)
            for method in each.methods:
                refused = http.request(method, path).status_code == 401
                assert refused != each.is_open, (method, path)
        document = http.app.openapi()["paths"]
        assert document["/open"]["get"]["security"] == []
        assert "401" not in document["/open"]["get"]["responses"]
        assert "401" in document["/hello/{name}"]["get"]["responses"]


def test_the_registry_can_be_extended(serve: Serve) -> None:
    with serve(endpoints=[*standard_endpoints(), HELLO]) as (http, _):
        assert http.get("/hello/tree").json() == {"hello": "tree"}
        assert http.put("/hello/tree").headers["Allow"] == "GET"
        described = http.app.openapi()["paths"]["/hello/{name}"]["get"]
        assert described["description"] == "Greet a caller."
        assert described["tags"] == ["extensions"]
        assert 'route="/hello/{name}"' in http.get("/metrics").text
        assert http.get("/hello/tree").headers["X-Request-ID"]


def test_the_first_request_builds_no_validator(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[object] = []
    original = TypeAdapter.__init__

    def count(self: Any, *arguments: Any, **named: Any) -> None:
        built.append(arguments)
        original(self, *arguments, **named)

    monkeypatch.setattr(TypeAdapter, "__init__", count)
    own = [HELLO, *standard_endpoints()]
    with serve(endpoints=own, is_ready=False) as (http, _):
        assert built  # by `create_app`
        built.clear()
        http.get("/health")  # ready or not yet
    assert built == []
    with serve() as (http, _):
        assert http.get("/health").status_code == 200
    built.clear()
    with serve() as (http, _):  # the standard endpoints are built once for a process
        assert http.get("/health").status_code == 200
    assert built == []


def test_the_registry_can_be_pruned_and_a_handler_replaced(serve: Serve) -> None:
    async def tree(request: Request) -> Response:
        return JSONResponse({"object": "mine"})

    kept = [
        replace(each, handler=tree) if each.path == "/v1/models" else each
        for each in standard_endpoints()
        if each.path != "/v1/completions"
    ]
    with serve(endpoints=kept) as (http, _):
        assert http.get("/v1/models").json() == {"object": "mine"}
        answer = http.post("/v1/completions", json={"prompt": "x"})
        assert answer.status_code == 404
        assert "/v1/completions" not in http.app.openapi()["paths"]
        advice = http.post("/v1/audio/speech").json()["error"]["message"]
        assert "/v1/chat/completions" in advice
        assert "/v1/completions" not in advice


def test_wrong_endpoints_are_refused() -> None:
    for wrong, words in (
        ({"path": "hello"}, "must begin with '/'"),
        ({"methods": ()}, "needs a tuple of methods"),
        ({"methods": "GET"}, "needs a tuple of methods"),
    ):
        with pytest.raises(ConfigError, match=words):
            replace(HELLO, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="has two endpoints"):
        create_app("builtin", endpoints=[HELLO, HELLO])


# -- hooks ---------------------------------------------------------------------------------------


def test_hooks_run_once_around_the_engine_and_the_port_answers_meanwhile(serve: Serve) -> None:
    events: list[str] = []
    go = asyncio.Event()

    async def begin() -> None:
        events.append("startup")
        await go.wait()

    async def end() -> None:
        assert app.state.service.model().client.state.value == "ready"  # not yet stopped
        events.append("shutdown")

    with serve(is_ready=False, on_startup=begin, on_shutdown=end) as (http, failures):
        app = http.app
        probe = http.get("/readiness")
        assert probe.status_code == 503
        assert http.get("/health").json()["state"] == "starting"
        assert http.get("/liveness").status_code == 200
        http.portal.call(go.set)
        while http.get("/readiness").status_code != 200:
            assert not failures
            time.sleep(0.005)
        assert events == ["startup"]
    assert events == ["startup", "shutdown"]


def test_a_failed_start_hook_is_a_failed_start_with_its_reason(serve: Serve) -> None:
    async def fail() -> None:
        raise RuntimeError("no database")

    with serve(is_ready=False, on_startup=fail) as (http, failures):
        while not failures:
            http.get("/liveness")
        assert "no database" in failures[0].message
        assert failures[0].exit_code != 0
        health = http.get("/health")
        assert health.status_code == 503
        assert "no database" in health.text
        answer = http.post("/v1/completions", json={"prompt": "x"})
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == EngineUnavailable.code


def test_a_failed_end_hook_is_logged_and_the_engine_stops(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise RuntimeError("no database")

    async def hang() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("yaie.server.app.HOOK_S", 0.01)
    for hook, words in ((fail, "no database"), (hang, "TimeoutError")):
        with serve(on_shutdown=hook) as (http, _):
            client = http.app.state.service.model().client
        assert client.state.value == "dead"
        assert f"the on_shutdown hook failed: {words}" in caplog.text
