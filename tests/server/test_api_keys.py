"""API keys: accepted forms, open paths, prefixes, and what is shown of keys."""

from __future__ import annotations

import hashlib
from array import array
from pathlib import Path
from typing import Any

import pytest
import requests
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from yaie.base.cache_changes import BlocksRemoved, BlocksStored
from yaie.base.stats import EngineStats, TenantStats, WaitStats
from yaie.base.tenants import tenant_digest
from yaie.server.http.api_keys import Keyring
from yaie.server.ops.kv_event_format import BlockRemoved, BlockStored, as_events

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
    refused = http.get("/v1/models", headers=twice)
    assert refused.status_code == 401 and "repeats the header" in refused.text
    for path in (*OPEN, "/health/"):
        assert http.get(path).status_code == 200
    for path in ("/stats", "/v1/models", "/docs/x", "/openapi", "/health//", "/metrics/x",
                 "/HEALTH", "/nothing", "/versions"):  # fmt: skip
        for host in ("testserver", "testserver/health?", "a/?x="):
            assert http.get(path, headers={"Host": host}).status_code == 401, path
    assert len(engine.requests) == len(good)


@pytest.mark.parametrize("path", ["/v1/models", "/health", "/stats", "/nothing"])
def test_keys_of_two_clients_are_refused(make_app: MakeApp, tmp_path: Path, path: str) -> None:
    file = tmp_path / "keys"
    file.write_text("ada first\nada second\nbob third\n")
    file.chmod(0o600)
    http, _ = make_app(api_key_file=str(file), admin_key="admin")
    keys = {"first": "ada", "second": "ada", "third": "bob", "admin": None, "wrong": None}
    alone = {key: http.get(path, headers={"X-API-Key": key}).status_code for key in keys}
    for one, tenant in keys.items():
        for other, other_tenant in keys.items():
            headers = {"Authorization": f"Bearer {one}", "X-API-Key": other}
            response = http.get(path, headers=headers)
            if {tenant, other_tenant} == {"ada", "bob"}:
                assert response.status_code == 400, headers
                error = response.json()["error"]
                assert "API keys of two clients; send one of them" in error["message"]
                assert not any(key in error["message"] for key in keys)
            else:
                known = one if tenant else other
                assert response.status_code == alone[known], headers
    doubled = [("X-API-Key", "first"), ("X-API-Key", "third")]
    assert http.get(path, headers=doubled).status_code == alone["wrong"]


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


def test_keys_of_one_name_are_one_tenant_and_shown_by_it(make_app: MakeApp, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("ada old-key\nada new-key\nplain-key\n")
    http, engine = make_app(api_key_file=str(file))
    for key in ("old-key", "new-key", "plain-key"):
        answer = http.post("/v1/completions", json=BODY, headers={"X-API-Key": key})
        assert answer.status_code == 200
    old, new, plain = (each.tenant for each in engine.requests)
    assert old == new == "ada"
    assert plain == tenant_digest(b"plain-key")
    text = http.get("/metrics", headers={"X-API-Key": "new-key"}).text
    assert 'yaie_key_requests_total{key="ada"} 2.0' in text
    assert plain not in text


def test_series_of_keys_are_shown_to_keys_alone(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="first,second")
    http.post("/v1/completions", json=BODY, headers={"X-API-Key": "first"})
    as_json = {"Accept": "application/json"}
    for headers in ({}, as_json, {"X-API-Key": "wrong"}, {"X-API-Key": "first, second"}):
        answer = http.get("/metrics", headers=headers)
        assert answer.status_code == 200
        assert "yaie_requests_total" in answer.text
        assert "yaie_key_" not in answer.text
    for key in ("first", "second"):
        for headers in ({}, as_json):
            text = http.get("/metrics", headers={"X-API-Key": key, **headers}).text
            assert "yaie_key_requests_total{" in text
            assert "yaie_requests_total" in text


def test_the_port_of_the_metrics_hides_series_of_keys_too(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="server"):
        http, _ = make_app(api_key="first", metrics_port=0)
    http.post("/v1/completions", json=BODY, headers={"X-API-Key": "first"})
    (line,) = [each.message for each in caplog.records if "metrics on" in each.message]
    url = line.removeprefix("metrics on ")
    assert "yaie_requests_total" in requests.get(url, timeout=10).text
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": b"Bearer \xff"}):
        assert "yaie_key_" not in requests.get(url, headers=headers, timeout=10).text
    for headers in ({"Authorization": "Bearer first"}, {"X-API-Key": "first"}):
        assert "yaie_key_requests" in requests.get(url, headers=headers, timeout=10).text
    for path in ("/liveness", "/stats", "/v1/models", "/"):
        assert requests.get(url.removesuffix("/metrics") + path, timeout=10).status_code == 404


def test_nothing_derived_from_a_key_alone_is_shown(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="first")
    key = {"X-API-Key": "first"}
    http.post("/v1/completions", json=BODY, headers=key)
    tenant = engine.requests[0].tenant
    numbers = {"num_waiting": 0, "num_admitted": 1, "tokens": 1}
    waits = TenantStats(tenant=tenant, mean_wait_s=0.0, longest_wait_s=0.0, **numbers)
    engine.stats = EngineStats(waits=WaitStats(tenants=(waits,)))
    paths = ("/metrics", "/stats", "/health", "/v1/models")
    shown = [http.get(path, headers=key) for path in paths]
    (name,) = (each["tenant"] for each in shown[1].json()["stats"]["waits"]["tenants"])
    assert len(name) == 16
    digest = hashlib.sha256(b"first").hexdigest()
    for answer in shown:
        assert tenant not in answer.text
        assert digest[:12] not in answer.text


def test_block_names_hide_the_keys_that_they_depend_on(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="first")
    keyring: Keyring = http.app.state.service.keyring  # type: ignore[attr-defined]
    names = [7, 2**64 - 1]
    stored = BlocksStored(packed_names(names), None, b"\0" * 128, 16)
    (event,) = as_events([stored], keyring.hide_block)
    (removed,) = as_events([BlocksRemoved(packed_names(names[:1]))], keyring.hide_block)
    child = BlocksStored(packed_names([9]), names[1], b"\0" * 64, 16)
    (below,) = as_events([child], keyring.hide_block)
    assert isinstance(event, BlockStored) and isinstance(below, BlockStored)
    assert isinstance(removed, BlockRemoved)
    assert not {*names, 0} & {*event.block_hashes}
    assert removed.block_hashes == event.block_hashes[:1]
    assert below.parent_block_hash == event.block_hashes[1]
    assert event.parent_block_hash is None


def packed_names(names: list[int]) -> bytes:
    return array("Q", names).tobytes()
