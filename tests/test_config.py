"""Settings: their sources, their checks, and text that stands for a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaie.base.errors import ConfigError
from yaie.base.settings import (
    SETTINGS,
    EngineConfig,
    Settings,
    load_settings,
)
from yaie.base.unknown_variables import unknown_variables
from yaie.cli.doctor import settings_with_sources
from yaie.cli.options import warn_of_unknown_variables
from yaie.kernels import library_search


def test_keywords_override_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_MAX_STEP_ROWS", "64")
    monkeypatch.setenv("YAIE_POLICY", "fcfs")
    settings = load_settings(max_step_rows=128)
    assert (settings.max_step_rows, settings.policy) == (128, "fcfs")


@pytest.mark.parametrize("name", [name for name, each in SETTINGS.items() if each.kind is int])
def test_counts_beyond_their_range_are_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"YAIE_{name.upper()}", str(2**64))
    with pytest.raises(ConfigError, match=f"YAIE_{name.upper()} is .*; it must be at most"):
        load_settings()


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(f"YAIE_{name.upper()}", raising=False)
    default = load_settings()
    for name in SETTINGS:
        monkeypatch.setenv(f"YAIE_{name.upper()}", "")
    assert load_settings() == default
    shown = {setting["name"]: setting["source"] for setting in settings_with_sources()}
    assert {shown[name] for name in SETTINGS} == {"default"}
    monkeypatch.setenv(library_search.VARIABLE, "")
    monkeypatch.setenv("CXX", "no-such-compiler")
    found = library_search.LibraryLoader(prebuilt=Path("none")).status()
    assert "no-such-compiler" in found.reason  # the option was accepted, as `auto` is


@pytest.mark.parametrize("blank", [" ", ",", "\n", " , \t,"])
def test_a_blank_api_key_is_an_error(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YAIE_API_KEY", raising=False)
    for make in (Settings, load_settings):
        with pytest.raises(ConfigError, match="contains no key") as failure:
            make(api_key=blank)
        assert failure.value.exit_code == 2
        assert "YAIE_API_KEY" in failure.value.message and "--api-key" in failure.value.message
    monkeypatch.setenv("YAIE_API_KEY", blank)
    with pytest.raises(ConfigError, match="contains no key"):
        load_settings()


@pytest.mark.parametrize(
    ("given", "keys"),
    [(None, ()), ("", ()), ("k\n", ("k",)), (" a , b,", ("a", "b")), ("sécond", ("sécond",))],
)
def test_commas_separate_api_keys(
    given: str | None, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YAIE_API_KEY", raising=False)
    assert tuple(Settings(api_key=given).tenants_by_key()) == keys


@pytest.mark.parametrize("name", ["request_timeout_s", "drain_s", "stall_s"])
@pytest.mark.parametrize("value", ["nan", "-inf", "-1"])
def test_times_must_be_numbers_in_range(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} is {value}"):
        load_settings(**{name: value})


SERVICE_LINKS = {  # variables of a pod with the services "yaie" and "yaie-chat"
    "YAIE_SERVICE_HOST": "10.96.1.2",
    "YAIE_SERVICE_PORT": "8000",
    "YAIE_SERVICE_PORT_HTTP": "8000",
    "YAIE_PORT": "tcp://10.96.1.2:8000",
    "YAIE_PORT_8000_TCP": "tcp://10.96.1.2:8000",
    "YAIE_PORT_8000_TCP_PROTO": "tcp",
    "YAIE_PORT_8000_TCP_PORT": "8000",
    "YAIE_PORT_8000_TCP_ADDR": "10.96.1.2",
    "YAIE_CHAT_SERVICE_HOST": "10.96.1.3",
    "YAIE_CHAT_PORT": "udp://10.96.1.3:53",
    "YAIE_CHAT_PORT_53_UDP_ADDR": "10.96.1.3",
}


def test_service_variables_of_kubernetes_are_ignored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.environ", SERVICE_LINKS | {"YAIE_POLICY": "lpm"})
    settings = load_settings()
    assert (settings.port, settings.policy) == (8000, "lpm")
    assert load_settings(port=8005).port == 8005
    shown = {setting["name"]: setting for setting in settings_with_sources()}
    assert shown["port"] == {"name": "port", "value": 8000, "source": "default"}
    assert unknown_variables() == []
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    warn_of_unknown_variables()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("value", ["8000/tcp", "http://10.96.1.2:8000", "tcp:8000", "10.96.1.2"])
def test_other_malformed_ports_are_errors(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_PORT", value)
    with pytest.raises(ConfigError, match="YAIE_PORT is "):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [("YAIE_SERVER_PORT", "8000"), ("YAIE_PORTS", "8000"), ("YAIE_SERVICE_NAME", "yaie")],
)
def test_a_name_like_a_service_variable_gives_a_warning(name: str, value: str) -> None:
    (warning,) = unknown_variables({name: value})
    assert warning.startswith(f"{name} is not a setting")


@pytest.mark.parametrize("name", ["yaie_port", "Yaie_Port", "YAIE_port"])
def test_a_setting_in_lower_case_gives_a_warning(name: str) -> None:
    assert unknown_variables({name: "9000", "yaie_home": "/srv/yaie"}) == [
        f"{name} was ignored; write YAIE_PORT"
    ]


def test_a_service_address_is_an_error_as_a_keyword() -> None:
    with pytest.raises(ConfigError, match="--port is 'tcp:"):
        load_settings(port="tcp://10.96.1.2:8000")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log_level", "INFO"),
        ("dtype", "BFloat16"),
        ("quantization", "INT8"),
        ("kv_dtype", "Int8"),
        ("device", "CPU"),
        ("policy", "FCFS"),
        ("eviction", "LRU"),
        ("attention_backend", "Reference"),
    ],
)
def test_choices_are_accepted_in_any_case(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(load_settings(**{name: value}), name) == value.lower()
    monkeypatch.setenv(f"YAIE_{name.upper()}", value)
    assert getattr(load_settings(), name) == value.lower()
    monkeypatch.setenv(f"YAIE_{name.upper()}", "NONSENSE")
    with pytest.raises(ConfigError, match=f"YAIE_{name.upper()} is 'NONSENSE'"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("prefix_cache", "off", False),
        ("prefix_cache", "True", True),
        ("exact", "1", True),
        ("num_slots", " 4096 ", 4096),
        ("drain_s", "0.5", 0.5),
        ("port", "0", 0),
        ("weights_cache", "off", "off"),
    ],
)
def test_text_of_variables_becomes_values(
    name: str, text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"YAIE_{name.upper()}", text)
    assert getattr(load_settings(), name) == value


@pytest.mark.parametrize(
    ("name", "value", "requirement"),
    [
        ("max_step_rows", "64", "a whole number"),
        ("max_step_rows", True, "a whole number"),
        ("threads", 1.5, "a whole number"),
        ("exact", "yes", "true or false"),
        ("model", 7, "text"),
        ("policy", None, "one of prefix-aware, fair, fcfs, lpm, priority"),
        ("port", 65536, "at most 65535"),
        ("request_timeout_s", "10", "a number"),
        ("stall_s", 0, "greater than 0"),
    ],
)
def test_values_of_a_wrong_type_or_size_are_errors(
    name: str, value: object, requirement: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{name} is .*; it must be {requirement}$") as failure:
        Settings(**{name: value})  # type: ignore[arg-type]
    assert failure.value.param == name
    if name in EngineConfig.__dataclass_fields__:
        with pytest.raises(ConfigError, match=f"^{name} is "):
            EngineConfig(**{name: value})  # type: ignore[arg-type]


def test_all_wrong_settings_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_DTYPE", "int3")
    with pytest.raises(ConfigError, match=r"^YAIE_DTYPE is 'int3'.*; --port is 'many'"):
        load_settings(port="many")


def test_an_unknown_keyword_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"^modle is not a setting; did you mean model\?"):
        load_settings(modle="builtin")


def test_the_settings_of_the_engine_are_a_part_of_all_settings() -> None:
    settings = Settings(policy="fcfs", port=9, num_slots=64)
    assert settings.engine_config() == EngineConfig(policy="fcfs", num_slots=64)
