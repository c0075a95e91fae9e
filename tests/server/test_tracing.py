"""Traces: spans of the steps of a request, and nothing at all while they are off."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from tests.server.conftest import MakeApp
from tests.server.scripted_client import Script, ScriptedClient, error_script
from yaie.base.errors import ConfigError, RequestError
from yaie.base.settings import Settings
from yaie.base.types import GenerationRequest, Timings, TokenDelta
from yaie.server.ops import tracing
from yaie.server.ops.tracing import ENDPOINT_VARIABLES, NO_TRACE, Tracing, tracing_of

STEPS = ["read", "translate", "queue", "prefill", "decode", "write"]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "zebra"
TIMES = Timings(queued_s=0.0001, first_token_s=0.0003, total_s=0.0007)
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": SECRET}], "max_tokens": 8}


@pytest.fixture(autouse=True)
def without_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENDPOINT_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Exporter into memory, in place of that to a collector."""
    memory = pytest.importorskip(
        "opentelemetry.sdk.trace.export.in_memory_span_exporter",
        reason="opentelemetry-sdk, of the extra dev, is not installed",
    )
    exporter = memory.InMemorySpanExporter()
    monkeypatch.setattr(tracing, "make_exporter", lambda endpoint: exporter)
    return exporter


def timed(script: Script) -> Script:
    """Return a script whose last deltas carry times, as those of an engine."""

    async def follow(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        async for delta in script(request):
            is_last = delta.finish_reason is not None
            yield replace(delta, timings=TIMES) if is_last else delta

    return follow


def traced(make_app: MakeApp, **settings: object) -> tuple[Any, ScriptedClient]:
    http, engine = make_app(traces="http://collector:4318", **settings)
    engine.script = timed(engine.say)
    return http, engine


def spans_of(http: Any, exporter: Any) -> tuple[Any, dict[str, Any]]:
    """Return the span of the one request, and those below it by name."""
    http.app.state.tracing._provider.force_flush()
    spans = exporter.get_finished_spans()
    (root,) = [each for each in spans if each.kind.name == "SERVER"]
    below = [each for each in spans if each is not root]
    assert all(each.parent.span_id == root.context.span_id for each in below)
    assert all(each.context.trace_id == root.context.trace_id for each in below)
    return root, {each.name: each for each in below}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "operation"), [("chat/completions", "chat"), ("completions", "text_completion")]
)
def test_six_steps_below_the_callers_span(
    make_app: MakeApp, exporter: Any, path: str, operation: str, stream: bool
) -> None:
    http, _ = traced(make_app)
    body = CHAT if operation == "chat" else {"prompt": SECRET, "max_tokens": 8}
    body = {**body, "stream": stream, "temperature": 0.5, "presence_penalty": 0.25}
    http.post(f"/v1/{path}", json=body, headers={"traceparent": PARENT}).raise_for_status()
    root, below = spans_of(http, exporter)
    assert (root.name, sorted(below)) == (f"{operation} tiny", sorted(STEPS))
    assert f"{root.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{root.parent.span_id:016x}" == PARENT.split("-")[2]
    for name, span in below.items():
        assert root.start_time <= span.start_time <= span.end_time <= root.end_time, name
    ends = [below[name] for name in STEPS]
    before = ends[:5] if stream else ends  # a stream is written while it decodes
    assert all(a.end_time <= b.start_time for a, b in pairwise(before))
    assert below["queue"].end_time - below["queue"].start_time == 100_000
    found = dict(root.attributes)
    assert found["gen_ai.operation.name"] == operation
    assert found["gen_ai.request.temperature"] == 0.5
    assert found["gen_ai.request.presence_penalty"] == 0.25
    assert (found["gen_ai.request.max_tokens"], found["gen_ai.request.stream"]) == (8, stream)
    assert found["gen_ai.usage.input_tokens"] > 0 < found["gen_ai.usage.output_tokens"]
    assert found["gen_ai.response.finish_reasons"] == ("stop",)
    assert (found["http.response.status_code"], found["yaie.outcome"]) == (200, "stop")


def test_no_text_is_in_a_span(make_app: MakeApp, exporter: Any) -> None:
    http, _ = traced(make_app)
    answer = http.post("/v1/chat/completions", json={**CHAT, "stop": [SECRET]}).json()
    root, below = spans_of(http, exporter)
    shown = "".join(span.to_json() for span in (root, *below.values()))
    assert SECRET not in shown
    assert answer["choices"][0]["message"]["content"] not in shown


def test_errors_have_a_type(make_app: MakeApp, exporter: Any) -> None:
    http, engine = traced(make_app)
    engine.script = error_script(RequestError(500, "broken", "server_error", None, "broken"))
    assert http.post("/v1/completions", json={"prompt": "x"}).status_code == 500
    root, below = spans_of(http, exporter)
    assert root.status.status_code.name == "ERROR"
    assert root.attributes["error.type"] == "500"
    assert sorted(below) == ["read", "translate", "unfinished", "write"]


def test_a_wrong_body_is_no_fault_of_the_server(make_app: MakeApp, exporter: Any) -> None:
    http, _ = traced(make_app)
    assert http.post("/v1/completions", json={"max_tokens": "x"}).status_code == 400
    root, below = spans_of(http, exporter)
    assert root.status.status_code.name == "UNSET"
    assert root.attributes["http.response.status_code"] == 400
    assert sorted(below) == ["read", "write"]
    assert "error.type" in below["read"].attributes


def test_a_kept_answer_has_no_steps_of_the_engine(make_app: MakeApp, exporter: Any) -> None:
    http, _ = traced(make_app, response_cache_bytes=2**20)
    for _ in range(2):
        exporter.clear()
        http.post("/v1/completions", json={"prompt": "x", "temperature": 0})
        root, below = spans_of(http, exporter)
    assert root.attributes["yaie.response_cache"] == "hit"
    assert sorted(below) == ["read", "translate", "write"]


def test_only_generating_requests_are_traced(make_app: MakeApp, exporter: Any) -> None:
    http, _ = traced(make_app)
    http.get("/v1/models")
    http.post("/v1/chat/completions/render", json=CHAT)
    http.post("/tokenize", json={"prompt": "x"})
    http.app.state.tracing._provider.force_flush()
    assert exporter.get_finished_spans() == ()


def test_the_end_of_the_server_exports_the_rest(make_app: MakeApp, exporter: Any) -> None:
    http, _ = traced(make_app)
    http.post("/v1/completions", json={"prompt": "x"})
    http.__exit__()
    assert len(exporter.get_finished_spans()) == 1 + len(STEPS)


def test_without_a_collector_there_is_no_layer(make_app: MakeApp) -> None:
    http, _ = make_app()
    assert http.app.state.tracing is None
    http.post("/v1/completions", json={"prompt": "x"}).raise_for_status()
    with NO_TRACE.step("read"):
        pass


@pytest.mark.integration
def test_nothing_is_imported_while_traces_are_off() -> None:
    # Of FastAPI's own imports the API may be one.
    code = "import yaie.server.app, sys; print([m for m in sys.modules if m in {names}])"
    code = code.format(names=["opentelemetry.sdk", "opentelemetry.exporter"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    for name in ("opentelemetry.sdk", "opentelemetry.sdk.trace"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"run pip install 'opentelemetry-api>="):
        tracing_of(Settings(model="m", traces="http://collector:4318"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    assert tracing_of(Settings(model="m")) is None
    assert "pip install 'opentelemetry-api>=" in caplog.text


def test_the_environment_turns_traces_on_and_off(
    monkeypatch: pytest.MonkeyPatch, exporter: Any
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    tracing = tracing_of(Settings(model="m"))
    assert isinstance(tracing, Tracing)
    assert tracing._provider.resource.attributes["service.name"] == "mine"
    tracing._provider.shutdown()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert tracing_of(Settings(model="m")) is None


def test_a_dead_collector_is_logged_once_and_its_spans_are_counted(
    make_app: MakeApp, exporter: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from opentelemetry.sdk.trace.export import SpanExportResult

    http, _ = traced(make_app)
    library = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    take = exporter.export

    def fail(spans: Any) -> SpanExportResult:
        for _ in range(5):
            library.warning("Transient error %s", "ConnectionRefused")
        return SpanExportResult.FAILURE

    def ask() -> None:
        http.post("/v1/completions", json={"prompt": "x", "max_tokens": 2}).raise_for_status()
        http.app.state.tracing._provider.force_flush()

    with caplog.at_level(logging.INFO):
        exporter.export = fail
        for _ in range(3):
            ask()
        exporter.export = take
        ask()
    said = [each for each in caplog.records if "trace" in each.name]
    assert [each.name for each in said] == ["yaie.server.ops.trace_export"] * 2
    down, up = (each.getMessage() for each in said)
    assert down.startswith("traces cannot be sent: Transient error ConnectionRefused; ")
    text = http.get("/metrics").text
    lost = float(re.search(r"^yaie_trace_spans_lost_total (\S+)$", text, re.M)[1])  # type: ignore[index]
    assert lost >= 3 * len(STEPS)
    assert up == f"traces are sent again; {lost:.0f} spans were lost"


@pytest.mark.parametrize("is_known", [False, True])
def test_a_silent_collector_does_not_hold_up_the_end(
    exporter: Any, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """A known outage is not waited for at all."""
    made = tracing_of(Settings(traces="http://collector:4318"))
    assert made is not None
    answers = threading.Event()
    monkeypatch.setattr(exporter, "shutdown", answers.wait)
    monkeypatch.setattr(tracing, "FLUSH_S", 0.01 if not is_known else 3600)
    if is_known:
        made.exporter._begin_outage("a test")
    try:
        asyncio.run(asyncio.wait_for(made.close(), 60))
    finally:
        answers.set()
