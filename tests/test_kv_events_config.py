"""Settings of KV events: flags, vLLM's JSON, and what the engine is told."""

from __future__ import annotations

import json

import pytest

from yaie.base.errors import ConfigError
from yaie.base.kv_events_config import KVEventsConfig, is_bound
from yaie.base.renamed_settings import advice_on
from yaie.base.served_models import engine_configs
from yaie.base.settings import Settings, load_settings

LLM_D = {
    "enable_kv_cache_events": True,
    "publisher": "zmq",
    "endpoint": "tcp://gaie-kv-events-epp.llm-d.svc.cluster.local:5557",
    "topic": "kv@10.0.0.7:8000@Qwen/Qwen3-0.6B",
}


def test_without_an_endpoint_nothing_is_recorded() -> None:
    (config,) = engine_configs(Settings())
    assert Settings().kv_events_stream is None
    assert config.cache_events == "off"


@pytest.mark.parametrize(("salted", "recorded"), [(False, "unsalted"), (True, "all")])
def test_flags_have_the_engine_record_changes(salted: bool, recorded: str) -> None:
    settings = Settings(
        kv_events="tcp://*:5557",
        kv_events_replay="tcp://*:6557",
        kv_events_topic="kv@pod@m",
        kv_events_salted=salted,
    )
    assert settings.kv_events_stream == KVEventsConfig(
        endpoint="tcp://*:5557", replay_endpoint="tcp://*:6557", topic="kv@pod@m"
    )
    (config,) = engine_configs(settings)
    assert config.cache_events == settings.engine_config().cache_events == recorded


def test_the_json_of_an_llm_d_chart_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_KV_EVENTS_CONFIG", json.dumps(LLM_D | {"hwm": 5}))
    stream = load_settings().kv_events_stream
    assert stream == KVEventsConfig(endpoint=LLM_D["endpoint"], topic=LLM_D["topic"], hwm=5)  # type: ignore[arg-type]
    assert not is_bound(stream.endpoint)


@pytest.mark.parametrize(
    "given",
    [{}, LLM_D | {"publisher": "null"}, {**LLM_D, "enable_kv_cache_events": False}],
)
def test_json_that_enables_nothing_publishes_nothing(given: dict[str, object]) -> None:
    assert Settings(kv_events_config=json.dumps(given)).kv_events_stream is None


def test_json_alone_has_the_defaults_of_the_flags() -> None:
    stream = Settings(kv_events_config='{"enable_kv_cache_events": true}').kv_events_stream
    assert stream == KVEventsConfig()
    assert (stream.endpoint, stream.buffer_steps) == ("tcp://*:5557", 10_000)


@pytest.mark.parametrize(
    ("endpoint", "listens"),
    [
        ("tcp://*:5557", True),
        ("tcp://127.0.0.1:5557", True),
        ("tcp://[::]:5557", True),
        ("ipc:///tmp/kv", True),
        ("tcp://epp.default.svc:5557", False),
        ("tcp://localhost:5557", False),
    ],
)
def test_addresses_listen_and_names_connect(endpoint: str, listens: bool) -> None:
    assert is_bound(endpoint) == listens


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kv_events": "5557"}, "kv_events is '5557'.*give tcp://\\*:5557 to listen"),
        ({"kv_events": "tcp://*"}, "not a ZeroMQ endpoint"),
        ({"kv_events": "http://x:1"}, "not a ZeroMQ endpoint"),
        ({"kv_events": "tcp://*:1", "kv_events_replay": "x"}, "kv_events_replay is 'x'"),
        ({"kv_events_replay": "tcp://*:1"}, "kv_events_replay needs kv_events; set it"),
        ({"kv_events_topic": "kv@"}, "kv_events_topic needs kv_events; set it"),
        ({"kv_events": "tcp://*:1", "prefix_cache": False}, "omit --no-prefix-cache"),
        ({"kv_events": "tcp://*:1", "models": "a=builtin,b=builtin"}, "but 2 are served; start"),
        ({"kv_events_config": "{"}, "kv_events_config is not valid JSON"),
        ({"kv_events_config": "[]"}, "must be a JSON object"),
        ({"kv_events_config": "{}", "kv_events": "tcp://*:1"}, "set together with kv_events"),
        ({"kv_events_config": '{"endpont": "tcp://*:1"}'}, "endpont.*did you mean endpoint"),
        ({"kv_events_config": '{"publisher": "nats"}'}, "it must be zmq or null"),
        ({"kv_events_config": '{"buffer_steps": 0}'}, "a whole number above 0"),
        ({"kv_events_config": '{"enable_kv_cache_events": "yes"}'}, "must be true or false"),
        (
            {"kv_events_config": '{"enable_kv_cache_events": true, "endpoint": "x"}'},
            "kv_events_config is 'x', which is not a ZeroMQ endpoint",
        ),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        engine_configs(Settings(**given))  # type: ignore[arg-type]


def test_block_sizes_of_vllm_lead_to_the_setting() -> None:
    assert "--kv-block-size" in advice_on("--block-size")
    assert "omit it" in advice_on("--prefix-caching-hash-algo")
