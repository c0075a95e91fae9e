"""API keys: accepted forms, open paths, and paths behind a prefix."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from tests.server.conftest import MakeApp

BODY = {"prompt": "x"}
PROBES = ("/health", "/liveness", "/metrics", "/ping", "/readiness")
OPEN = (*PROBES, "/", "/docs", "/openapi.json", "/version")


def test_api_keys(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="first, sécond")
    good = ["Bearer first", "bearer sécond", "Bearer  first "]
    bad = ["", "first", "Bearer", "Bearer ", "Bearer firs", "Bearer firstt", "Basic first",
           "Bearer first, sécond", "Bearer \xff\xfe", "Bearer " + "k" * 50_000]  # fmt: skip
    for value in good:
        headers = {"Authorization": value.encode()}
        assert http.post("/v1/completions", json=BODY, headers=headers).status_code == 200
    assert http.get("/v1/models", headers={"X-API-Key": "first"}).status_code == 200
    for value in bad:
        response = http.post(
            "/v1/completions", json=BODY, headers={"Authorization": value.encode("latin-1")}
        )
        assert response.status_code == 401, value
        assert response.json()["error"]["code"] == "invalid_api_key"
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.headers["X-Request-ID"]
    proxied = {"Authorization": "Basic dXNlcjpwYXNz", "X-API-Key": "first"}
    assert http.get("/v1/models", headers=proxied).status_code == 200
    assert http.get("/v1/models", headers={**proxied, "X-API-Key": "x"}).status_code == 401
    twice = [("Authorization", "Bearer first"), ("Authorization", "Bearer first")]
    assert http.get("/v1/models", headers=twice).status_code == 401
    for path in (*OPEN, "/health/"):
        assert http.get(path).status_code == 200
    for path in ("/stats", "/v1/models", "/docs/x", "/openapi", "/health//", "/metrics/x",
                 "/HEALTH", "/nothing", "/versions"):  # fmt: skip
        for host in ("testserver", "testserver/health?", "a/?x="):
            assert http.get(path, headers={"Host": host}).status_code == 401, path
    assert len(engine.requests) == len(good)


def test_every_route_needs_the_key(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="k")
    app: Any = http.app
    paths = {*app.openapi()["paths"], "/redoc"}
    paths -= set(OPEN)
    assert {"/v1/chat/completions", "/stats", "/v1/models"} <= paths
    for path in paths:
        for method in ("GET", "POST"):
            assert http.request(method, path).status_code == 401


def test_keys_are_required_behind_a_prefix(make_app: MakeApp) -> None:
    app = make_app(api_key="k")[0].app
    http = TestClient(app, root_path="/llm")  # as uvicorn: the root path is in the path too
    key = {"Authorization": "Bearer k"}
    for path in OPEN:
        assert http.get(f"/llm{path}").status_code == 200, path
        assert http.get(path).status_code == 200, path  # other servers leave the prefix out
    for path in ("/stats", "/v1/models", "/docs/x", "/llm/health", "health", "//health"):
        assert http.get(f"/llm{path}").status_code == 401, path
    assert http.get("/llm/v1/models", headers=key).status_code == 200
    lost = http.get("/llm/nothing", headers=key).json()["error"]["message"]
    assert lost == "the path '/llm/nothing' does not exist; see /llm/docs for the endpoints"
