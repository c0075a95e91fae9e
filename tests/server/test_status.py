"""Status, rates and resources of the service, and the times in its answers."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient, silent_script
from tests.server.test_operation import samples
from yaie.base.stats import EngineStats
from yaie.base.types import EngineState
from yaie.server.metrics.status import ServerStatus, status_of
from yaie.server.metrics.timings import WINDOW_S, TokenRate

BODY = {"prompt": "x"}


@pytest.mark.parametrize("state", EngineState)
def test_each_state_has_one_of_five_statuses(state: EngineState) -> None:
    broken = (EngineState.STALLED, EngineState.DEAD, EngineState.FAILED)
    status = status_of(state, is_full=False)
    assert (status is ServerStatus.ERROR) is (state in broken)
    busy = status_of(state, is_full=True)
    assert busy is (ServerStatus.BUSY if status is ServerStatus.READY else status)


def test_a_queue_full_of_tokens_is_busy(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.info = replace(INFO, max_waiting_tokens=90)
    for tokens, status in ((89, "ready"), (90, "busy")):
        engine.stats = EngineStats(num_waiting=1, num_waiting_tokens=tokens)
        assert http.get("/health").json()["server_status"] == status


def test_a_full_queue_is_busy_and_changes_are_logged(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="yaie.server.metrics.status")
    http, engine = make_app()
    assert http.get("/health").json()["server_status"] == "ready"
    engine.stats = EngineStats(num_waiting=INFO.max_waiting, num_steps=3)
    answer = http.get("/health")
    assert (answer.status_code, answer.json()["server_status"]) == (200, "busy")
    assert samples(http)["yaie_server_status", "status=busy"] == 1
    engine.state, engine.state_reason = EngineState.DEAD, "because of a test"
    assert http.get("/health").json()["server_status"] == "error"
    said = [each.message for each in caplog.records if each.name == "yaie.server.metrics.status"]
    assert said == [
        "status: starting",
        "status: starting -> ready",
        "status: ready -> busy",
        "status: busy -> error: because of a test",
    ]


def test_health_tells_the_load_and_the_model(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.stats = EngineStats(num_waiting=2, num_running=1, num_live_slots=256, num_steps=9)
    found = http.get("/health").json()
    assert (found["num_waiting"], found["num_running"], found["kv_utilization"]) == (2, 1, 0.25)
    assert (found["device"], found["attention_backend"]) == ("cpu", "reference")
    assert found["uptime_s"] >= 0 and found["last_step_age_s"] >= 0 and found["version"]


def test_probes_have_words_of_their_own(make_app: MakeApp) -> None:
    http, engine = make_app()
    assert http.get("/liveness").json()["status"] == "alive"
    assert http.get("/readiness").json()["status"] == "ready"
    assert http.get("/health").json()["status"] == "healthy"
    engine.state = EngineState.DEAD
    assert http.get("/liveness").json()["status"] == "alive"
    engine.state = EngineState.STALLED
    assert http.get("/liveness").json()["status"] == "stalled"
    assert http.get("/readiness").json()["status"] == "stalled"


def test_a_long_queue_may_end_readiness(make_app: MakeApp) -> None:
    http, engine = make_app(ready_max_waiting=3)
    engine.stats = EngineStats(num_waiting=3)
    assert http.get("/readiness").status_code == 200
    engine.stats = EngineStats(num_waiting=4)
    answer = http.get("/readiness")
    assert (answer.status_code, answer.json()["status"]) == (503, "busy")
    assert "4 requests are queued" in answer.json()["reason"]
    assert http.get("/health").status_code == 200


def test_errors_have_the_id_and_the_time(make_app: MakeApp) -> None:
    http, engine = make_app(request_timeout_s=0.3)
    before = int(time.time())
    answer = http.get("/nothing", headers={"X-Request-ID": "mine"}).json()
    assert answer["request_id"] == "mine"
    assert before <= answer["timestamp"] <= time.time()
    engine.script = silent_script
    late = http.post("/v1/completions", json=BODY)
    assert late.json()["request_id"] == late.headers["X-Request-ID"]


def usages(http: TestClient, path: str, body: dict[str, object]) -> tuple[dict[str, float], ...]:
    whole = http.post(path, json=body).json()["usage"]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    events = http.post(path, json={**body, **options}).text.split("\n\n")
    return whole, json.loads(events[-3].removeprefix("data: "))["usage"]


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_usage_has_time_and_rate(http: TestClient, path: str) -> None:
    messages = [{"role": "user", "content": "x"}]
    body = {"messages": messages} if "chat" in path else BODY
    for usage in usages(http, path, body):
        assert usage["processing_time"] >= 0
        rate = usage["completion_tokens"] / max(usage["processing_time"], 5e-5)
        assert usage["tokens_per_second"] == pytest.approx(rate, rel=0.5)


def test_rates_forget_what_is_older_than_a_minute() -> None:
    now = [1000.0]
    rate = TokenRate(lambda: now[0])
    assert (rate.last_minute, rate.lifetime) == (0, 0)
    now[0] += 10
    rate.add(100)
    assert (rate.last_minute, rate.lifetime) == (10, 10)
    now[0] += WINDOW_S - 1
    assert rate.last_minute == pytest.approx(100 / WINDOW_S)
    now[0] += 1
    assert rate.last_minute == 0
    assert rate.lifetime == pytest.approx(100 / 70)
    rate.add(5)
    assert rate.last_minute == pytest.approx(5 / WINDOW_S)


def test_rates_are_in_stats_and_metrics(make_app: MakeApp) -> None:
    http, _ = make_app()
    assert http.get("/stats").json()["tokens_per_second"] == {"last_minute": 0, "lifetime": 0}
    tokens = http.post("/v1/completions", json=BODY).json()["usage"]["completion_tokens"]
    found = samples(http)
    assert 0 < found["yaie_output_tokens_per_second", "window=60s"] <= tokens
    assert 0 < found["yaie_output_tokens_per_second", "window=lifetime"] <= tokens
    assert http.get("/stats").json()["tokens_per_second"]["last_minute"] > 0


def test_processes_are_measured(make_app: MakeApp, tokenizer: object) -> None:
    engine = ScriptedClient([5])
    engine.pid = os.getpid()  # type: ignore[attr-defined]
    http, _ = make_app(engine)
    found = samples(http)
    assert found["process_resident_memory_bytes", ""] > 1e6
    engines = found["yaie_engine_process_resident_memory_bytes", "model=tiny"]
    assert engines == pytest.approx(found["process_resident_memory_bytes", ""], rel=0.1)
    assert found["process_start_time_seconds", ""] <= found["yaie_start_time_seconds", ""]
    assert found["yaie_uptime_seconds", ""] >= 0
    engine.pid = None  # type: ignore[attr-defined]
    assert ("yaie_engine_process_resident_memory_bytes", "model=tiny") not in samples(http)


def test_latency_is_measured_by_route_and_model(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.info = replace(INFO, max_model_len=128)
    http.post("/v1/completions", json=BODY)
    http.post("/v1/completions", json={**BODY, "model": "no-such-model"})
    http.get("/health")
    found = samples(http)
    name = "yaie_http_request_seconds_count"
    assert found[name, "model=tiny,route=/v1/completions"] == 1
    assert found[name, "model=,route=/v1/completions"] == 1
    assert not [labels for each, labels in found if each == name and "health" in labels]
