"""The doctor: faults, sources of settings, and secrets that stay secret."""

from __future__ import annotations

import json
import re
import socket

import pytest

from tests.cli.conftest import Cli
from yaie.base.errors import ConfigError
from yaie.base.settings import SETTINGS
from yaie.cli.doctor import (
    _check_port,
    _check_settings,
    _check_weights_cache,
    _print_report,
    run_check,
    settings_with_sources,
)
from yaie.models.builtin import BUILTIN_MODEL_DIR


def test_an_exception_is_a_failed_check() -> None:
    def raises(error: Exception) -> tuple[str, str]:
        raise error

    known = run_check("a", lambda: raises(ConfigError("port is wrong")))  # type: ignore[arg-type]
    unknown = run_check("b", lambda: raises(OSError("no disk")))  # type: ignore[arg-type]
    assert (known.status, known.detail) == ("failed", "port is wrong")
    assert (unknown.status, unknown.detail) == ("failed", "OSError: no disk")


def test_each_setting_is_shown_with_its_source_and_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("YAIE_POLICY", "lpm")
    monkeypatch.setenv("YAIE_API_KEY", "sesame")
    monkeypatch.delenv("YAIE_EVICTION", raising=False)
    shown = {setting["name"]: setting for setting in settings_with_sources()}
    variables = ["YAIE_BASE_URL", "YAIE_CHAT_HISTORY", "YAIE_CONFIG", "YAIE_DEBUG", "YAIE_KERNELS"]
    assert list(shown) == [*SETTINGS, *variables]
    assert shown["policy"] == {"name": "policy", "value": "lpm", "source": "YAIE_POLICY"}
    assert shown["eviction"] == {"name": "eviction", "value": "adaptive", "source": "default"}
    assert "sesame" not in json.dumps(shown)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("api_key", None, "not set"),
        ("cors_origins", "", "not set"),
        ("prefix_cache", True, "on"),
        ("exact", False, "off"),
        ("weights_cache_bytes", 32 * 2**30, "32 GiB"),
        ("max_body_bytes", 10 * 2**20, "10 MiB"),
        ("max_body_bytes", 1000, "1000"),
        ("drain_s", 30.0, "30 s"),
        ("port", 8000, "8000"),
    ],
)
def test_values_are_shown_as_people_write_them(name: str, value: object, text: str) -> None:
    assert SETTINGS[name].shown(value) == text


def test_wrong_and_unknown_variables_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_POLCY", "lpm")
    status, detail = _check_settings()
    assert status == "warning"
    assert "YAIE_POLICY" in detail
    monkeypatch.setenv("YAIE_PORT", "many")
    assert run_check("settings", _check_settings).status == "failed"
    for check in (_check_port, _check_weights_cache):  # not to blame
        assert check() == ("warning", "not checked: the settings are invalid")


def test_a_taken_port_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("YAIE_PORT", str(taken.getsockname()[1]))
        assert _check_port()[0] == "warning"
    assert _check_port()[0] == "ok"


def test_the_report_shows_only_settings_that_differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YAIE_RESPONSE_CACHE_BYTES", "3G")
    _print_report([], settings_with_sources())
    shown = capsys.readouterr().out
    assert re.search(r"response_cache_bytes +3 GiB +YAIE_RESPONSE_CACHE_BYTES", shown)
    assert " default\n" not in shown
    assert f"lists all {len(settings_with_sources())}" in shown


@pytest.mark.slow
def test_a_red_check_is_exit_code_1(yaie: Cli) -> None:
    done = yaie("doctor", "--json", YAIE_PORT="many")
    report = json.loads(done.stdout)
    red = {check["name"] for check in report["checks"] if check["status"] == "failed"}
    assert (done.returncode, report["ok"]) == (1, False)
    assert "settings" in red and not {"port", "weights"} & red
    assert "python" not in red


@pytest.mark.integration
@pytest.mark.skipif(
    not (BUILTIN_MODEL_DIR / "model.safetensors").is_file(), reason="the model is not packaged"
)
def test_a_healthy_machine_passes_with_a_self_test(yaie: Cli) -> None:
    done = yaie("doctor", "--json", YAIE_PORT="0")
    report = json.loads(done.stdout)
    found = {check["name"]: check for check in report["checks"]}
    assert (done.returncode, report["ok"]) == (0, True), report
    assert "radix tree? " in found["self test"]["detail"]
    assert "prefix" in found["self test"]["detail"].lower()
