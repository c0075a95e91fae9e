"""Metrics under the names of vLLM and SGLang, with their semantics."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient, error_script
from tests.server.test_operation import samples
from yaie.base.errors import ConfigError, EngineDied
from yaie.base.settings import Settings
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, Timings, TokenDelta

ROOT = Path(__file__).parents[2]
BODY = {"prompt": "x"}
BOTH = "vllm,sglang"
# Metrics that the Grafana dashboards published with vLLM 0.32 and SGLang 0.5.23 query.
ON_DASHBOARDS = {
    "vllm": (
        *("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"),
        *("prompt_tokens_total", "generation_tokens_total", "request_success_total"),
        *("e2e_request_latency_seconds_bucket", "e2e_request_latency_seconds_sum"),
        *("inter_token_latency_seconds_bucket", "inter_token_latency_seconds_count"),
        *("time_to_first_token_seconds_bucket", "time_to_first_token_seconds_count"),
        *("request_prompt_tokens_bucket", "request_generation_tokens_bucket"),
        *("request_queue_time_seconds_sum", "request_prefill_time_seconds_sum"),
        *("request_decode_time_seconds_sum", "request_max_num_generation_tokens_sum"),
    ),
    "sglang": (
        *("num_running_reqs", "num_queue_reqs", "gen_throughput", "cache_hit_rate"),
        *("e2e_request_latency_seconds_bucket", "time_to_first_token_seconds_bucket"),
    ),
}
# What endpoint pickers of the gateway API inference extension scrape by default.
FOR_ROUTERS = {
    "vllm:num_requests_waiting": 4.0,
    "vllm:num_requests_running": 3.0,
    "vllm:kv_cache_usage_perc": 0.25,  # of the live slots; the 512 evictable ones are free
    "sglang:num_queue_reqs": 4.0,
    "sglang:num_running_reqs": 3.0,
    "sglang:token_usage": 0.25,
}
BUSY = EngineStats(
    num_running=3, num_waiting=4, num_live_slots=256, num_cached_slots=512, num_free_slots=256
)


def by_name(http: TestClient) -> dict[str, list[tuple[str, float]]]:
    """Return labels and value of each series."""
    found: dict[str, list[tuple[str, float]]] = {}
    for (name, labels), value in samples(http).items():
        found.setdefault(name, []).append((labels, value))
    return found


@pytest.fixture
def http(make_app: MakeApp) -> TestClient:
    client, engine = make_app(metrics_compat=BOTH)
    engine.stats = BUSY
    return client


def test_other_names_are_off_by_default(make_app: MakeApp) -> None:
    names = by_name(make_app()[0])
    assert not [name for name in names if ":" in name]


@pytest.mark.parametrize("engine", ON_DASHBOARDS)
def test_one_engine_has_the_metrics_of_its_dashboards(make_app: MakeApp, engine: str) -> None:
    http, _ = make_app(metrics_compat=engine)
    assert http.post("/v1/completions", json=BODY).status_code == 200
    found = by_name(http)
    added = {name: series for name, series in found.items() if ":" in name}
    assert {name.split(":")[0] for name in added} == {engine}
    missing = {f"{engine}:{name}" for name in ON_DASHBOARDS[engine]} - set(added)
    assert not missing
    for name, series in added.items():  # dashboards select `model_name="$model_name"`
        assert all("model_name=tiny" in labels for labels, _ in series), name


def test_routers_read_load_and_cache(http: TestClient) -> None:
    found = by_name(http)
    assert {name: found[name][0][1] for name in FOR_ROUTERS} == FOR_ROUTERS
    ((labels, one),) = found["vllm:cache_config_info"]
    assert labels == "block_size=16,engine=0,model_name=tiny,num_gpu_blocks=64" and one == 1
    ((labels, one),) = found["sglang:cache_config_info"]
    assert "page_size=16" in labels and "num_pages=64" in labels and one == 1
    assert found["sglang:page_size"][0][1] == 16 and found["sglang:num_pages"][0][1] == 64


def test_blocks_are_those_of_kv_events(make_app: MakeApp) -> None:
    found = by_name(make_app(metrics_compat="vllm", kv_block_size=64)[0])
    ((labels, _),) = found["vllm:cache_config_info"]
    assert "block_size=64" in labels and "num_gpu_blocks=16" in labels
    assert found["yaie_cache_config_info"] == [("block_size=64,num_blocks=16", 1)]


def test_the_endpoint_picker_finds_each_metric_of_its_settings(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.stats = BUSY
    found = by_name(http)
    settings = yaml.safe_load((ROOT / "deploy/endpoint-picker.yaml").read_text(encoding="utf-8"))
    plugins = {each["type"]: each.get("parameters", {}) for each in settings["plugins"]}
    parameters = plugins["core-metrics-extractor"]
    (engine_config,) = parameters["engineConfigs"]
    assert engine_config["name"] == parameters["defaultEngine"]
    numbers = {
        name: found[metric][0][1]
        for name, metric in engine_config.items()
        if name in ("queuedRequestsSpec", "runningRequestsSpec", "kvUsageSpec")
    }
    assert numbers == {
        "queuedRequestsSpec": BUSY.num_waiting,
        "runningRequestsSpec": BUSY.num_running,
        "kvUsageSpec": 0.25,
    }
    ((labels, _),) = found[engine_config["cacheInfoSpec"]]
    size, blocks = (engine_config[f"cache{each}LabelName"] for each in ("BlockSize", "NumBlocks"))
    assert dict(pair.split("=") for pair in labels.split(",")) == {size: "16", blocks: "64"}
    used = {each["pluginRef"] for each in settings["schedulingProfiles"][0]["plugins"]}
    assert used <= set(plugins)


def test_counters_are_those_of_the_engine(make_app: MakeApp) -> None:
    http, engine = make_app(metrics_compat=BOTH)
    engine.stats = EngineStats(
        prompt_tokens=80, cached_tokens=60, output_tokens=9, num_preemptions=2
    )
    found = {name: series[0][1] for name, series in by_name(http).items()}
    assert found["vllm:prefix_cache_queries_total"] == 80
    assert found["vllm:prefix_cache_hits_total"] == 60
    assert found["vllm:num_preemptions_total"] == 2
    assert found["vllm:generation_tokens_total"] == found["sglang:generation_tokens_total"] == 9
    assert found["sglang:cached_tokens_total"] == 60
    assert found["sglang:num_retracted_requests_total"] == 2


def test_each_choice_counts_as_a_request(make_app: MakeApp) -> None:
    http, engine = make_app(metrics_compat=BOTH)

    async def say(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        """Answer two tokens, after 1 s in the queue and 2 s of prefill."""
        timings = Timings(queued_s=1.0, first_token_s=3.0, total_s=7.0)
        async for delta in engine.say(request):
            last = delta.finish_reason is not None
            yield replace(delta, timings=timings) if last else delta

    engine.script = say
    body = {"prompt": ["x", "y"], "n": 2, "max_tokens": 2, "temperature": 1}
    assert http.post("/v1/completions", json=body).status_code == 200
    found = {name: sum(value for _, value in series) for name, series in by_name(http).items()}
    for name, total in {
        "vllm:request_success_total": 4,
        "vllm:e2e_request_latency_seconds_count": 4,
        "vllm:time_to_first_token_seconds_count": 4,
        "vllm:request_queue_time_seconds_sum": 4 * 1.0,
        "vllm:request_prefill_time_seconds_sum": 4 * 2.0,
        "vllm:request_decode_time_seconds_sum": 4 * 4.0,
        "vllm:request_inference_time_seconds_sum": 4 * 6.0,
        "vllm:request_generation_tokens_sum": 8,
        "vllm:request_max_num_generation_tokens_count": 2,  # by prompt
        "vllm:request_max_num_generation_tokens_sum": 4,
        "sglang:num_requests_total": 4,
        "sglang:num_aborted_requests_total": 0,
        "sglang:queue_time_seconds_sum": 4 * 1.0,
    }.items():
        assert found[name] == pytest.approx(total), name


def test_outcomes_have_the_finish_reasons_of_vllm(make_app: MakeApp) -> None:
    http, engine = make_app(metrics_compat="vllm")
    http.post("/v1/completions", json={**BODY, "max_tokens": 1})
    http.post("/v1/completions", json=BODY)
    engine.script = error_script(EngineDied("the engine died").to_wire(), after=[5])
    http.post("/v1/completions", json={**BODY, "stream": True})
    engine.script = error_script(EngineDied("the engine died").to_wire())  # never began
    http.post("/v1/completions", json=BODY)
    found = {
        labels.split(",")[1]: value for labels, value in by_name(http)["vllm:request_success_total"]
    }
    assert found == {
        "finished_reason=length": 1,
        "finished_reason=stop": 1,
        "finished_reason=error": 1,
    }


def test_models_have_series_of_their_own(tiny_model_dir: object, make_app: MakeApp) -> None:
    http, _ = make_app(models=f"b={tiny_model_dir}", metrics_compat="vllm")
    http.post("/v1/completions", json={**BODY, "model": "b"})
    found = by_name(http)
    assert {labels for labels, _ in found["vllm:num_requests_running"]} == {
        "engine=0,model_name=tiny",
        "engine=0,model_name=b",
    }
    assert found["vllm:e2e_request_latency_seconds_count"] == [("engine=0,model_name=b", 1)]
    # The server does not measure these by model.
    assert "vllm:inter_token_latency_seconds_count" not in found


def test_a_starting_engine_has_no_cache_yet(make_app: MakeApp) -> None:
    engine = ScriptedClient([5])
    engine.info = None
    http, _ = make_app(engine, is_ready=False, metrics_compat=BOTH)
    found = by_name(http)
    assert "vllm:kv_cache_usage_perc" not in found and "vllm:cache_config_info" not in found
    engine.info = INFO
    assert "vllm:kv_cache_usage_perc" in by_name(http)


@pytest.mark.parametrize("text", ["vllm, SGLANG", "sglang,vllm,", " vllm ,, sglang"])
def test_several_engines_are_separated_by_commas(text: str) -> None:
    assert Settings(metrics_compat=text).compatible_metrics == ("vllm", "sglang")


def test_an_unknown_engine_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"'tgi' is not an engine .*; name one or more of vllm"):
        Settings(metrics_compat="vllm,tgi").check_server()


def test_a_scrape_is_quick(http: TestClient) -> None:
    """Endpoint pickers scrape five times a second; a scrape must take less than 50 ms."""
    http.post("/v1/completions", json=BODY)
    http.get("/metrics")
    times = []
    for _ in range(5):
        began = time.perf_counter()
        http.get("/metrics")
        times.append(time.perf_counter() - began)
    assert min(times) < 0.05
