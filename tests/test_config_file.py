"""Settings in a file: forms, precedence over defaults, and errors that name the file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from yaie.base.errors import ConfigError
from yaie.base.served_models import engine_configs
from yaie.base.settings import SETTINGS, load_settings
from yaie.base.settings_file import SUFFIXES
from yaie.cli.config import settings_schema
from yaie.cli.main import run_command_line

FORMS = {
    ".yaml": "num-slots: 64\nexact: true\npolicy: FCFS\napi_key: [a, b]\nthreads: null\n",
    ".toml": 'num_slots = 64\nexact = true\npolicy = "fcfs"\napi_key = ["a", "b"]\n',
    ".json": '{"num_slots": 64, "exact": true, "policy": "fcfs", "api_key": "a,b"}',
}
FORMS[".yml"] = FORMS[".yaml"]


def write(folder: Path, text: str, suffix: str = ".yaml") -> Path:
    file = folder / f"settings{suffix}"
    file.write_text(text)
    return file


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_each_form_gives_the_same_settings(suffix: str, tmp_path: Path) -> None:
    found = load_settings(write(tmp_path, FORMS[suffix], suffix))
    assert (found.num_slots, found.exact, found.policy) == (64, True, "fcfs")
    assert found.api_keys == ("a", "b")


def test_keywords_win_over_variables_and_those_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "num_slots: 64\nmax_running: 3\nmax_waiting: 4\nport: 1\n")
    monkeypatch.setenv("YAIE_CONFIG", str(file))
    monkeypatch.setenv("YAIE_MAX_RUNNING", "30")
    monkeypatch.setenv("YAIE_MAX_WAITING", "40")
    found = load_settings(max_waiting=400)
    assert (found.num_slots, found.max_running, found.max_waiting) == (64, 30, 400)
    assert found.port == 1


def test_models_may_be_a_table(tmp_path: Path) -> None:
    text = "models:\n  a: builtin\n  b: {model: /m, quantization: int8, num-slots: 64}\n"
    first, second = engine_configs(load_settings(write(tmp_path, text)))
    assert (first.model_name, first.model) == ("a", "builtin")
    assert (second.model, second.quantization, second.num_slots) == ("/m", "int8", 64)


@pytest.mark.parametrize(
    ("text", "suffix", "problem"),
    [
        ("num_slot: 4", ".yaml", "has num_slot, which is not a setting; did you mean num_slots"),
        ("num_slots: few", ".yaml", "num_slots in {file} is 'few'; it must be a whole number"),
        ("num_slots: {a: 1}", ".yaml", "has a table for num_slots, which takes one value"),
        ("- a", ".yaml", "contains a list instead of settings by name"),
        ("a: [", ".yaml", "is not YAML"),
        ("{", ".json", "is not JSON"),
        ("a = ", ".toml", "is not TOML"),
        ("a: 1", ".ini", "has the suffix '.ini'; write one of .yaml"),
        ("models: {a: {quantization: int8}}", ".yaml", "has no model for a in models"),
    ],
)
def test_a_wrong_file_is_named(text: str, suffix: str, problem: str, tmp_path: Path) -> None:
    file = write(tmp_path, text, suffix)
    with pytest.raises(ConfigError, match=re.escape(problem.format(file=file))) as caught:
        load_settings(file)
    assert str(file) in caught.value.message


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read \\(No such file"):
        load_settings(tmp_path / "absent.yaml")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        assert load_settings(write(tmp_path, "", suffix)) == load_settings()


@pytest.mark.parametrize("name", ["begin.yaml", "begin.toml"])
def test_a_begun_file_has_every_setting_as_a_comment(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    assert run_command_line(["config", "init", str(file)]) == 0
    assert load_settings(file) == load_settings()
    text = file.read_text()
    separator = " = " if name.endswith("toml") else ": "
    uncommented = re.sub(r"(?m)^# (\w+)(?= = |: )", r"\1", text)
    named = re.findall(rf"(?m)^(\w+){separator}", uncommented)
    assert named == list(SETTINGS)
    assert run_command_line(["config", "init", str(file)]) == 2
    assert "exists" in capsys.readouterr().err


def test_settings_are_shown_with_their_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "num_slots: 64\nadmin_key: hidden\n")
    monkeypatch.setenv("YAIE_CONFIG", str(file))
    monkeypatch.setenv("YAIE_PORT", "81")
    assert run_command_line(["config", "show", "--changed", "--json"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert shown["num_slots"] == {"name": "num_slots", "value": 64, "source": str(file)}
    assert shown["port"]["source"] == "YAIE_PORT"
    assert shown["admin_key"]["value"] == "(set)"
    assert "max_running" not in shown


def test_the_schema_describes_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert run_command_line(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == json.loads(json.dumps(settings_schema()))
    assert list(schema["properties"]) == list(SETTINGS)
    validator = jsonschema.Draft202012Validator(schema)
    defaults = {name: each.default for name, each in SETTINGS.items()}
    assert not list(validator.iter_errors(defaults))
    assert list(validator.iter_errors({"num_slots": 1}))
    assert list(validator.iter_errors({"num_slot": 64}))
    assert list(validator.iter_errors({"policy": "best"}))
