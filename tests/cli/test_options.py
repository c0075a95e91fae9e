"""Flags of the settings, counts as people write them, and limits of a command."""

from __future__ import annotations

import contextlib
import inspect
import math
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import typer

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import InvalidRequest
from yaie.base.setting_field import Setting
from yaie.base.settings import SETTINGS
from yaie.cli import terminal
from yaie.cli.main import app
from yaie.cli.options import (
    ENGINE_FLAGS,
    parse_count,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.cli.run import LONGEST_TIMEOUT_S, time_limit
from yaie.cli.sampling_options import make_options


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_every_setting_is_a_flag_of_serve(setting: Setting) -> None:
    serve = getattr(typer.main.get_command(app), "commands", {})["serve"]
    (option,) = [each for each in serve.params if each.name == setting.name]
    assert option.opts[0] == setting.flag and option.default is None
    assert option.help.startswith(setting.about.meaning) and option.help.endswith("]")
    assert all(choice in option.help for choice in setting.choices)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("max_running", "[256]"),
        ("prefix_cache", "[on]"),
        ("weights_cache_bytes", "[32 GiB]"),
        ("request_timeout_s", "[600 s]"),
        ("api_key", "[none]"),
        ("num_slots", "[from free memory]"),
        ("kv_dtype", "[auto: same as the model]"),
        ("response_cache_bytes", "[0]"),
        ("keep_alive_s", "[80 s]"),
    ],
)
def test_defaults_are_shown_as_people_read_them(name: str, default: str) -> None:
    assert SETTINGS[name].help.endswith(default)


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
        ("16Gi", 16 * 2**30),
        ("16gib", 16 * 2**30),
        ("3T", 3 * 2**40),
        ("9007199254740993", 2**53 + 1),
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


def test_a_repeated_lora_flag_adds_adapters(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    app = typer.Typer()

    @app.command()
    @settings_options(ENGINE_FLAGS)
    def command(settings: dict[str, Any]) -> None:
        found.append(settings)

    app(["--lora", "sql=/a", "--lora", "/b,/c", "--threads", "2"], standalone_mode=False)
    app([], standalone_mode=False)
    assert found == [{"lora": "sql=/a,/b,/c", "threads": 2}, {}]


def test_only_what_was_typed_is_handed_on() -> None:
    seen: dict[str, Any] = {}

    @settings_options(ENGINE_FLAGS, leave_out=("audit",))
    def command(prompt: str = "", *, settings: dict[str, Any]) -> None:
        seen.update(settings, prompt=prompt)

    assert "audit" not in inspect.signature(command).parameters
    untyped = {flag.name: None for flag in ENGINE_FLAGS if flag.name != "audit"}
    command(prompt="hi", **untyped | {"dtype": "float32"})
    assert seen == {"dtype": "float32", "prompt": "hi"}


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "0", "1e300", "-0.0"])
def test_a_time_limit_that_no_clock_can_count_is_a_usage_error(seconds: str) -> None:
    with (
        pytest.raises(AdvisedError, match="--timeout must be") as failure,
        time_limit(float(seconds)),
    ):
        raise AssertionError("the command began")
    assert failure.value.exit_code == 2


def test_code_that_handles_exceptions_is_stopped_too() -> None:
    """The engine handles a failed step and continues; the alarm is a BaseException instead."""
    with pytest.raises(AdvisedError, match="no complete answer") as failure, time_limit(0.05):
        while True:
            with contextlib.suppress(Exception):  # as the engine does
                threading.Event().wait(10)
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


def test_an_unknown_variable_gives_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.environ", {"YAIE_POLICY": "lpm", "HOME": "/"})
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    warn_of_unknown_variables()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("os.environ", {"YAIE_MODLE": "x"})
    warn_of_unknown_variables()
    warning = "warning: YAIE_MODLE is not a setting and was ignored; did you mean YAIE_MODEL?\n"
    assert capsys.readouterr() == ("", warning)
    terminal.be_quiet()
    warn_of_unknown_variables()
    assert capsys.readouterr() == ("", "")
