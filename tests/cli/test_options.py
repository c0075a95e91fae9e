"""Flags, variables and settings are the same things under the same names."""

from __future__ import annotations

import contextlib
import inspect
import math
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from yaie.cli import terminal
from yaie.cli.doctor import settings_with_sources
from yaie.cli.failures import CommandFailed
from yaie.cli.options import (
    ENGINE_FLAGS,
    KNOWN_VARIABLES,
    SERVER_FLAGS,
    parse_count,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.cli.run import LONGEST_TIMEOUT_S, time_limit
from yaie.cli.sampling_options import make_options
from yaie.config import (
    CLIENT_VARIABLES,
    LIBRARY_VARIABLES,
    EngineConfig,
    Settings,
    load_settings,
    unknown_variables,
)
from yaie.errors import ConfigError, InvalidRequest
from yaie.kernels import loader


def test_every_setting_is_a_flag_and_every_flag_a_setting() -> None:
    flags = [flag.name for flag in (*ENGINE_FLAGS, *SERVER_FLAGS)]
    assert sorted(flags) == sorted(Settings.model_fields)
    assert {flag.name for flag in ENGINE_FLAGS} == set(EngineConfig.__dataclass_fields__)


@pytest.mark.parametrize("flag", [*ENGINE_FLAGS, *SERVER_FLAGS], ids=lambda flag: flag.name)
def test_a_flags_kind_fits_its_setting(flag: Any) -> None:
    kind = {parse_count: "int", bool: "bool", float: "float", str: "str"}[flag.kind]
    annotation = str(Settings.model_fields[flag.name].annotation)
    if "Literal" not in annotation:
        assert kind in annotation


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8000", 8000),
        ("8,000", 8000),
        ("8_000", 8000),
        ("8k", 8000),
        ("8K", 8192),
        ("8Ki", 8192),
        ("1.5k", 1500),
        ("2m", 2_000_000),
        ("10MiB", 10 * 2**20),
        ("-1", -1),
        ("0", 0),
    ],
)
def test_counts_are_read_as_people_write_them(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "k", "8q", "eight", "1.5", "1e3x", "nan", "infk", "--1"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"count|whole number"):
        parse_count(text)


def test_only_what_was_typed_is_handed_on() -> None:
    seen: dict[str, Any] = {}

    @settings_options(ENGINE_FLAGS, leave_out=("audit",))
    def command(prompt: str = "", *, settings: dict[str, Any]) -> None:
        seen.update(settings, prompt=prompt)

    assert "audit" not in inspect.signature(command).parameters
    untyped = {flag.name: None for flag in ENGINE_FLAGS if flag.name != "audit"}
    command(prompt="hi", **untyped | {"dtype": "float32"})
    assert seen == {"dtype": "float32", "prompt": "hi"}


def test_a_flag_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_MAX_STEP_ROWS", "64")
    monkeypatch.setenv("YAIE_POLICY", "fcfs")
    settings = load_settings(max_step_rows=128)
    assert (settings.max_step_rows, settings.policy) == (128, "fcfs")


@pytest.mark.parametrize(
    "name", [flag.name for flag in (*ENGINE_FLAGS, *SERVER_FLAGS) if flag.kind is parse_count]
)
def test_a_count_beyond_what_the_engine_can_be_told_is_a_wrong_setting(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"YAIE_{name.upper()}", str(2**64))
    with pytest.raises(ConfigError, match=f"YAIE_{name.upper()} is .* less than or equal to"):
        load_settings()


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"YAIE_{name.upper()}", raising=False)
    default = load_settings()
    for name in Settings.model_fields:
        monkeypatch.setenv(f"YAIE_{name.upper()}", "")
    assert load_settings() == default
    shown = {setting["name"]: setting["source"] for setting in settings_with_sources()}
    assert {shown[name] for name in Settings.model_fields} == {"default"}
    monkeypatch.setenv(loader.VARIABLE, "")
    monkeypatch.setenv("CXX", "no-such-compiler")
    found = loader.Loader(prebuilt=Path("none")).status()
    assert "no-such-compiler" in found.reason  # the option was accepted, as `auto` is


@pytest.mark.parametrize("blank", [" ", ",", "\n", " , \t,"])
def test_a_key_that_is_set_but_blank_does_not_open_the_server(
    blank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YAIE_API_KEY", raising=False)
    for make in (Settings, load_settings):
        with pytest.raises(ConfigError, match="holds no key") as failure:
            make(api_key=blank)
        assert failure.value.exit_code == 2
        assert "YAIE_API_KEY" in failure.value.message and "--api-key" in failure.value.message
    monkeypatch.setenv("YAIE_API_KEY", blank)
    with pytest.raises(ConfigError, match="holds no key"):
        load_settings()


@pytest.mark.parametrize(
    ("given", "keys"),
    [(None, ()), ("", ()), ("k\n", ("k",)), (" a , b,", ("a", "b")), ("sécond", ("sécond",))],
)
def test_keys_are_separated_by_commas_and_an_empty_text_is_none(
    given: str | None, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YAIE_API_KEY", raising=False)
    assert Settings(api_key=given).api_keys == keys


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "0", "1e300", "-0.0"])
def test_a_time_limit_that_no_clock_can_count_is_a_usage_error(seconds: str) -> None:
    with (
        pytest.raises(CommandFailed, match="--timeout must be") as failure,
        time_limit(float(seconds)),
    ):
        raise AssertionError("the command began")
    assert failure.value.exit_code == 2


def test_whatever_is_cut_off_by_the_time_limit_does_not_take_it_for_a_fault_of_its_own() -> None:
    """The engine ends a step that fails, and goes on; the alarm must not be such a failure."""
    with pytest.raises(CommandFailed, match="no complete answer") as failure, time_limit(0.05):
        while True:
            with contextlib.suppress(Exception):  # what the engine does, only shorter
                time.sleep(10)
    assert failure.value.exit_code == 124


def test_the_longest_time_limit_can_be_set() -> None:
    with time_limit(LONGEST_TIMEOUT_S):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > LONGEST_TIMEOUT_S / 2
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize("flag", ["temperature", "top_p"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
def test_a_sampling_flag_out_of_range_is_a_usage_error(flag: str, value: float) -> None:
    with pytest.raises(InvalidRequest, match=flag) as failure:
        make_options({flag: value})
    assert failure.value.exit_code == 2


def test_sampling_options_are_those_that_were_typed() -> None:
    untyped = make_options({"temperature": None, "stop": None})
    assert untyped.given() == {"max_tokens": 512}
    assert untyped.shrinks_to_fit
    typed = make_options({"max_tokens": 7, "temperature": 0.0, "stop": ["END"]})
    assert typed.given() == {"max_tokens": 7, "temperature": 0.0, "stop": ["END"]}
    assert not typed.shrinks_to_fit


@pytest.mark.parametrize("name", ["request_timeout_s", "drain_s", "stall_s"])
@pytest.mark.parametrize("value", ["nan", "-inf", "-1"])
def test_a_time_that_is_no_number_is_a_wrong_setting(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} is '{value}'"):
        load_settings(**{name: value})


SERVICE_LINKS = {  # what Kubernetes puts into every pod beside services "yaie" and "yaie-chat"
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


def test_what_kubernetes_says_of_its_services_is_no_setting(
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
def test_only_a_port_that_kubernetes_would_write_is_taken_for_one(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_PORT", value)
    with pytest.raises(ConfigError, match="YAIE_PORT is "):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [("YAIE_SERVER_PORT", "8000"), ("YAIE_PORTS", "8000"), ("YAIE_SERVICE_NAME", "yaie")],
)
def test_a_wrong_name_that_looks_like_kubernetes_is_warned_about(name: str, value: str) -> None:
    (warning,) = unknown_variables({name: value})
    assert warning.startswith(f"{name} is not a setting")


def test_a_port_that_kubernetes_would_write_is_no_keyword() -> None:
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
def test_a_choice_may_be_written_in_capitals(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(load_settings(**{name: value}), name) == value.lower()
    monkeypatch.setenv(f"YAIE_{name.upper()}", value)
    assert getattr(load_settings(), name) == value.lower()
    monkeypatch.setenv(f"YAIE_{name.upper()}", "NONSENSE")
    with pytest.raises(ConfigError, match=f"YAIE_{name.upper()} is 'NONSENSE'"):
        load_settings()


def test_variables_that_are_known_at_once_are_all_settings_or_read_elsewhere() -> None:
    assert unknown_variables(dict.fromkeys(KNOWN_VARIABLES, "")) == []
    missing = (CLIENT_VARIABLES | LIBRARY_VARIABLES) - KNOWN_VARIABLES
    assert not missing, "a question to a server would import the settings"


def test_a_variable_that_is_no_setting_is_warned_about(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.environ", {"YAIE_POLICY": "lpm", "HOME": "/"})
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    with monkeypatch.context() as without_settings:
        without_settings.setitem(sys.modules, "yaie.config", None)
        warn_of_unknown_variables()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("os.environ", {"YAIE_MODLE": "x"})
    warn_of_unknown_variables()
    warning = "warning: YAIE_MODLE is not a setting and was ignored; did you mean YAIE_MODEL?\n"
    assert capsys.readouterr() == ("", warning)
    terminal.be_quiet()
    warn_of_unknown_variables()
    assert capsys.readouterr() == ("", "")
