"""Probes, metrics, limits and request ids."""

from __future__ import annotations

import logging
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from starlette.types import Message

from tests.batch.request_files import question
from tests.server.batch_calls import create, upload
from tests.server.conftest import MakeApp
from tests.server.scripted_client import (
    ScriptedClient,
    error_script,
    silent_script,
)
from yaie.base.errors import EngineDied, Overloaded, QueueTimedOut, RequestError
from yaie.base.stats import WAIT_BOUNDS_S, EngineStats, TenantStats, WaitStats, metrics
from yaie.base.tenants import tenant_digest
from yaie.base.types import EngineState, GenerationRequest

BODY = {"prompt": "x"}
RESPONSES = "yaie_http_responses_total"
GENERATING = "this server generates text; send requests to "
GENERATING += "/v1/chat/completions and /v1/completions and /v1/responses and /v1/messages"
GENERATING += " and /api/chat and /api/generate"
PROBES = ("/health", "/liveness", "/metrics", "/ping", "/readiness")


def set_state(engine: ScriptedClient, state: EngineState, reason: str = "") -> None:
    engine.state, engine.state_reason = state, reason


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (EngineState.STARTING, "engine_starting"),
        (EngineState.DRAINING, "engine_draining"),
        (EngineState.STALLED, "engine_died"),
        (EngineState.DEAD, "engine_died"),
        (EngineState.FAILED, "engine_unavailable"),
    ],
)
def test_states_that_refuse_requests(make_app: MakeApp, state: EngineState, code: str) -> None:
    http, engine = make_app()
    set_state(engine, state, "because of a test")
    for stream in (False, True):
        response = http.post("/v1/completions", json={**BODY, "stream": stream})
        assert response.status_code == 503
        assert int(response.headers["Retry-After"]) > 0
        assert response.json()["error"]["code"] == code
    for probe in ("/health", "/readiness"):
        response = http.get(probe)
        assert (response.status_code, response.json()["state"]) == (503, state.value)
        assert response.json()["reason"] == "because of a test"
        assert "Retry-After" in response.headers
    is_alive = state not in (EngineState.FAILED, EngineState.STALLED)
    assert (http.get("/liveness").status_code == 200) is is_alive
    assert http.get("/metrics").status_code == 200
    assert http.get("/stats").json()["state"] == state.value


def test_starting(make_app: MakeApp) -> None:
    engine = ScriptedClient([5])
    engine.state, engine.info = EngineState.STARTING, None
    http, _ = make_app(engine, is_ready=False)
    assert http.get("/health").json()["state"] == "starting"
    assert http.get("/liveness").status_code == 200
    assert http.get("/readiness").status_code == 503
    assert http.get("/v1/models").json()["data"][0]["max_model_len"] is None
    response = http.post("/v1/completions", json=BODY)
    assert response.json()["error"]["code"] == "engine_starting"


def test_ready_and_busy(make_app: MakeApp) -> None:
    http, engine = make_app()
    found = http.get("/health").json()
    assert (
        found
        | {
            "server": "yaie",
            "status": "healthy",
            "state": "ready",
            "reason": "",
            "model": "tiny",
            "restarts": 0,
            "warm_up_s": 0.25,
        }
        == found
    )
    assert "\nyaie_warm_up_seconds 0.25\n" in http.get("/metrics").text
    engine.stats = EngineStats(num_running=2)
    response = http.get("/health")
    assert (response.status_code, response.json()["state"]) == (200, "busy")


def test_models(http: TestClient) -> None:
    (card,) = http.get("/v1/models").json()["data"]
    assert (card["id"], card["object"], card["max_model_len"]) == ("tiny", "model", 256)
    assert (card["dtype"], card["quantization"]) == ("float32", "int4")
    assert http.get("/v1/models/tiny").json() == card
    assert http.get("/v1/models/").json()["data"] == [card]
    for other in ("tiny/", "/"):
        assert http.get(f"/v1/models/{other}").status_code == 404


# Fields without which Codex 0.171 refuses the catalogue, tried one by one.
NEEDED_BY_CODEX = {
    "slug", "display_name", "supported_reasoning_levels", "shell_type", "visibility",
    "supported_in_api", "priority", "base_instructions", "support_verbosity", "truncation_policy",
    "experimental_supported_tools",
}  # fmt: skip


def test_the_list_of_models_has_the_catalogue_of_codex(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, _ = make_app()
    (entry,) = http.get("/v1/models", params={"client_version": "0.171.0"}).json()["models"]
    assert {name for name in NEEDED_BY_CODEX if entry.get(name) is None} == set()
    assert (entry["slug"], entry["context_window"]) == ("tiny", 256)
    assert entry["supported_reasoning_levels"] == []
    model = http.app.state.service.model()  # type: ignore[attr-defined]
    abilities = replace(model.abilities, variables=("reasoning_effort",))
    monkeypatch.setattr(model, "abilities", abilities)
    (entry,) = http.get("/v1/models").json()["models"]
    levels = [level["effort"] for level in entry["supported_reasoning_levels"]]
    assert (levels, entry["default_reasoning_level"]) == (["low", "medium", "high"], "medium")


def test_stats(http: TestClient) -> None:
    answer = http.get("/stats").json()
    assert answer["hit_rate"] == 0.75
    assert set(answer["stats"]) == {each.name for each in fields(EngineStats)}
    assert answer["info"]["vocab_size"] == 420


@pytest.mark.parametrize("api_key", [None, "k"])
def test_stats_show_waits_by_tenant(make_app: MakeApp, api_key: str | None) -> None:
    """A key and a user have public names, the same at each look."""
    http, engine = make_app(api_key=api_key)
    name = tenant_digest(b"k") if api_key else "ada@example.org"
    tenants = [
        TenantStats(
            tenant=each,
            num_waiting=3,
            num_admitted=2,
            mean_wait_s=0.5,
            longest_wait_s=0.75,
            tokens=100,
        )
        for each in (name, "")
    ]
    engine.stats = EngineStats(waits=WaitStats(tenants=tuple(tenants)))
    answer = http.get("/stats", headers={"X-API-Key": "k"})
    first, second = answer.json()["stats"]["waits"]["tenants"]
    assert tenant_digest(name.encode()) not in answer.text
    assert name not in answer.text
    shown = first["tenant"]
    assert len(shown) == 16
    assert shown in http.get("/stats", headers={"X-API-Key": "k"}).text
    assert first == {
        "tenant": shown,
        "num_waiting": 3,
        "num_admitted": 2,
        "mean_wait_s": 0.5,
        "longest_wait_s": 0.75,
        "tokens": 100,
    }
    assert second["tenant"] == ""


def test_waits_are_a_histogram_without_tenants(make_app: MakeApp) -> None:
    http, engine = make_app()
    counts = (4, *[0] * (len(WAIT_BOUNDS_S) - 1), 2)
    waits = WaitStats(counts=counts, total_s=1300.0)
    engine.stats = EngineStats(waits=waits, num_waiting_tenants=3, oldest_wait_s=2.5)
    found = samples(http)
    assert [name for name, _ in found if name.endswith("_created")] == []
    assert found["yaie_queue_seconds_bucket", "le=0.01"] == 4
    assert found["yaie_queue_seconds_bucket", "le=600.0"] == 4
    assert found["yaie_queue_seconds_bucket", "le=+Inf"] == 6
    assert found["yaie_queue_seconds_count", ""] == 6
    assert found["yaie_queue_seconds_sum", ""] == 1300.0
    assert found["yaie_num_waiting_tenants", ""] == 3
    assert found["yaie_oldest_wait_seconds", ""] == 2.5


def samples(
    http: TestClient, headers: dict[str, str] | None = None
) -> dict[tuple[str, str], float]:
    found = {}
    for family in text_string_to_metric_families(http.get("/metrics", headers=headers).text):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            found[sample.name, labels] = sample.value
    return found


def test_metrics(make_app: MakeApp) -> None:
    http, _ = make_app()
    http.post("/v1/completions", json=BODY)
    http.post("/v1/completions", json={**BODY, "stream": True, "max_tokens": 2})
    http.post("/v1/completions", json={"prompt": 5})
    for n in range(5):  # a client's strings must not become labels
        http.get(f"/made-up-{n}")
        http.request(f"VERB{n}", "/health")
    found = samples(http)
    assert found["yaie_requests_total", "outcome=stop"] == 1
    assert found["yaie_requests_total", "outcome=length"] == 1
    assert found["yaie_time_to_first_token_seconds_count", ""] == 2
    assert found["yaie_request_seconds_count", ""] == 2
    assert found["yaie_inter_token_seconds_count", ""] > 0
    assert found["yaie_request_prompt_tokens_total", ""] == 2
    assert found["yaie_engine_state", "state=ready"] == 1
    assert found["yaie_engine_steps_total", ""] == 3
    assert found["yaie_http_active_requests", ""] == 0  # /metrics is excluded
    responses = {key: n for key, n in found.items() if key[0] == RESPONSES}
    route = "method=POST,route=/v1/completions"
    assert responses[RESPONSES, f"{route},status=200"] == 2
    assert responses[RESPONSES, f"{route},status=400"] == 1
    assert responses[RESPONSES, "method=GET,route=other,status=404"] == 5
    assert not any("made-up" in labels or "VERB" in labels for _, labels in found)
    names = {name for name, _ in found}
    assert {
        f"{each.name}_total" for each in metrics() if each.description.kind == "counter"
    } <= names
    gauges = {each.field: each.name for each in metrics() if each.description.kind == "gauge"}
    known = EngineStats().values()
    assert names.issuperset(name for field, name in gauges.items() if field in known)
    assert names.isdisjoint(name for field, name in gauges.items() if field not in known)


def test_refused_requests_are_left_out_of_latency(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(Overloaded("full").to_wire())
    assert http.post("/v1/completions", json=BODY).status_code == 429
    engine.script = error_script(EngineDied("died").to_wire())
    assert http.post("/v1/completions", json=BODY).status_code == 503
    assert samples(http)["yaie_request_seconds_count", ""] == 0
    engine.script = silent_script
    late = http.post("/v1/completions", json={**BODY, "request_timeout_s": 0.5})
    assert late.status_code == 504
    found = samples(http)
    assert found["yaie_requests_total", "outcome=overloaded"] == 1
    assert found["yaie_requests_total", "outcome=engine_died"] == 1
    assert found["yaie_request_seconds_count", ""] == 1  # a timeout counts as latency
    assert found["yaie_request_prompt_tokens_total", ""] == 1


def test_a_wait_that_was_too_long_leaves_latency_and_tokens(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.script = error_script(QueueTimedOut("late").to_wire())
    assert http.post("/v1/completions", json=BODY).status_code == 503
    found = samples(http)
    assert found["yaie_requests_total", "outcome=queue_timeout"] == 1
    assert found["yaie_request_seconds_count", ""] == 0
    assert found["yaie_request_prompt_tokens_total", ""] == 0


def test_the_log_shows_a_missing_first_token_as_a_dash(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    http, engine = make_app()
    engine.script = error_script(EngineDied("died").to_wire())
    with caplog.at_level(logging.INFO):
        http.post("/v1/completions", json=BODY)
    assert "outcome=engine_died" in caplog.text and " first_token_s=- " in caplog.text


def test_requests_in_progress_are_counted(make_app: MakeApp) -> None:
    http, engine = make_app()
    seen = []

    async def looking(request: GenerationRequest) -> Any:
        async for delta in engine.say(request):
            seen.append(http.app.state.service.metrics.active._value.get())
            yield delta

    engine.script = looking
    http.post("/v1/completions", json=BODY)
    assert set(seen) == {1}


def test_refusals_are_counted_for_their_route(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="k", max_body_bytes=1024)
    right = {"Authorization": "Bearer k"}
    http.post("/v1/completions", json=BODY)
    http.post("/v1/completions", content=b"x" * 2000, headers=right)
    http.get("/v1/models/any")
    found = samples(http)
    assert found[RESPONSES, "method=POST,route=/v1/completions,status=401"] == 1
    assert found[RESPONSES, "method=POST,route=/v1/completions,status=413"] == 1
    assert found[RESPONSES, "method=GET,route=/v1/models/{model_id:path},status=401"] == 1


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/health", "GET, HEAD"),
        ("/v1/completions", "POST"),
        ("/docs", "GET, HEAD"),
        ("/v1/responses/input_tokens", "POST"),  # also a response's id by its form
    ],
)
def test_a_wrong_method_gets_the_allowed_ones(http: TestClient, path: str, allowed: str) -> None:
    response = http.put(path)
    assert response.status_code == 405
    assert sorted(response.headers["Allow"].split(", ")) == allowed.split(", ")
    assert response.json()["error"]["message"].endswith(f"; use {allowed}")


@pytest.mark.parametrize("asked", ["abc-1.2_X", "a" * 128])
def test_a_good_request_id_is_kept(http: TestClient, asked: str) -> None:
    response = http.post("/v1/completions", json=BODY, headers={"X-Request-ID": asked})
    assert response.headers["X-Request-ID"] == asked


def test_the_log_names_the_clients_request_id(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    http, engine = make_app()
    engine.script = error_script(RequestError("out of luck"))
    response = http.post("/v1/completions", json=BODY, headers={"X-Request-ID": "mine-7"})
    assert response.status_code == 500
    (told,) = [r.getMessage() for r in caplog.records if "out of luck" in r.getMessage()]
    assert "mine-7" in told


def test_a_client_that_leaves_while_it_sends_is_counted(
    http: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    parts = iter(
        [
            {"type": "http.request", "body": b'{"pro', "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> Message:
        return next(parts)

    async def send(message: Message) -> None:
        pass

    for path in ("/v1/completions", "/v1/chat/completions"):
        scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
            "query_string": b"", "headers": [(b"content-type", b"application/json")],
            "http_version": "1.1", "scheme": "http", "root_path": "",
            "server": ("test", 80), "client": ("test", 1),
        }  # fmt: skip
        assert http.portal is not None
        http.portal.call(http.app, scope, receive, send)
        parts = iter([{"type": "http.disconnect"}])
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
    assert 'status="500"' not in http.get("/metrics").text
    assert 'status="499"' in http.get("/metrics").text


def test_head_is_get_without_a_body(make_app: MakeApp, tmp_path: Path) -> None:
    http, _ = make_app(batch_dir=str(tmp_path))
    app: Any = http.app
    gets = [path for path, operations in app.openapi()["paths"].items() if "get" in operations]
    assert {"/health", "/v1/models", "/metrics", "/stats", "/"} <= set(gets)
    stored = http.post("/v1/responses", json={"input": "the plan?"}).json()["id"]
    file_id = upload(http, question("a"))
    ids = {"model": "tiny", "response": stored, "file": file_id}
    ids["batch"] = create(http, file_id)["id"]
    for path in (*gets, "/docs", "/openapi.json"):
        named = re.sub(r"{(\w+)_id}", lambda found: ids[found[1]], path)
        response = http.head(named)
        assert (response.status_code, response.content) == (200, b""), path


@pytest.mark.parametrize("asked", ["", "a b", "a" * 129, "é", "a\tb", "{}"])
def test_a_bad_request_id_is_replaced(http: TestClient, asked: str) -> None:
    response = http.get("/health", headers={"X-Request-ID": asked.encode()})
    assert re.fullmatch(r"[0-9a-f]{32}", response.headers["X-Request-ID"])


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/chat/completions", "did you mean '/v1/chat/completions'?"),
        ("/v1/v1/models", "did you mean '/v1/models'?"),
        ("/v1/health", "did you mean '/health'?"),
        ("/embeddings", "did you mean '/v1/embeddings'?"),
        ("/v1/filesystem", "see /docs for the endpoints"),
        ("/v1/images/generations", GENERATING),
        ("/v1/classify", GENERATING),
        ("/responses", "did you mean '/v1/responses'?"),
        ("/v2", "see /docs for the endpoints"),
    ],
)
def test_unknown_paths_are_answered_with_advice(make_app: MakeApp, path: str, advice: str) -> None:
    response = make_app()[0].post(path, json={})
    assert response.status_code == 404
    assert response.json()["error"]["message"] == f"the path {path!r} does not exist; {advice}"


def test_body_limit(make_app: MakeApp) -> None:
    http, engine = make_app(max_body_bytes=2000)
    large = b'{"prompt": "' + b"x" * 3000 + b'"}'
    headers = {"Content-Type": "application/json"}
    declared = http.post("/v1/completions", content=large, headers=headers)
    chunked = http.post(
        "/v1/completions",
        content=iter([large[i : i + 100] for i in range(0, len(large), 100)]),
        headers=headers,
    )
    for response in (declared, chunked):
        assert response.status_code == 413
        assert response.json()["error"]["code"] == "request_too_large"
    assert engine.requests == []
    assert http.post("/v1/completions", json=BODY).status_code == 200
