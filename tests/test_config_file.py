"""Settings in a file: forms, precedence over defaults, and errors that name the file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from yaie.base.errors import ConfigError
from yaie.base.served_models import engine_configs
from yaie.base.settings import SETTINGS, EngineConfig, load_settings
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
    assert tuple(found.tenants_by_key()) == ("a", "b")


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


def test_the_number_of_drafts_may_be_an_integer(tmp_path: Path) -> None:
    for suffix, text in ((".toml", "speculate = 8"), (".yaml", "speculate: 8")):
        assert load_settings(write(tmp_path, text, suffix)).speculate == "8"
    config = EngineConfig(speculate=8)
    assert config == EngineConfig(speculate="8")
    assert config.max_draft_tokens == 8
    for wrong in (0, 65, -1, True, 2.0):
        with pytest.raises(ConfigError, match="speculate is"):
            EngineConfig(speculate=wrong)  # type: ignore[arg-type]
    assert settings_schema()["properties"]["speculate"]["type"] == ["string", "integer"]


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
        ("num_slots: 64q", ".yaml", "a whole number, such as 8000, 8k (8,000), 8K (8,192) or 16G"),
        ("{prot: 4, num_slot: 4}", ".yaml", "has prot, which is not a setting; did you mean port"),
        ("{prot: 4, num_slot: 4}", ".yaml", "has num_slot, which is not a setting"),
        ("num_slots: {a: 1}", ".yaml", "has a table for num_slots, which takes one value"),
        ("- a", ".yaml", "contains a list instead of settings by name"),
        ("a: [", ".yaml", "is not YAML"),
        ("{", ".json", "is not JSON"),
        ("a = ", ".toml", "is not TOML"),
        ("a: 1", ".ini", "has the suffix '.ini'; write one of .yaml"),
        ("models: {a: {quantization: int8}}", ".yaml", "has no model for a in models"),
        ("port: 1\nmodel: x\nport: 2\n", ".yaml", "has port twice, again in line 3; remove one"),
        ("num-slots: 1\nnum_slots: 2\n", ".yaml", "has num_slots twice, again in line 2"),
        ("models:\n  a: {model: x,\n   model: y}\n", ".yaml", "has model twice, again in line 3"),
        ('{"port": 1,\n "port": 2}', ".json", "has port twice, again in line 2"),
        ('{"num-slots": 1, "num_slots": 2}', ".json", "has both num-slots and num_slots"),
        ("num-slots = 1\nnum_slots = 2\n", ".toml", "has both num-slots and num_slots"),
        ("kv-block_size = 1\nkv_block-size = 2\n", ".toml", "both kv-block_size and kv_block-size"),
        ("port = 1\nport = 2\n", ".toml", "is not TOML: Cannot overwrite a value"),
        ('{"models": ' + "[" * 20_000 + "]" * 20_000 + "}", ".json", "is nested too deep"),
    ],
)
def test_a_wrong_file_is_named(text: str, suffix: str, problem: str, tmp_path: Path) -> None:
    file = write(tmp_path, text, suffix)
    with pytest.raises(ConfigError, match=re.escape(problem.format(file=file))) as caught:
        load_settings(file)
    assert str(file) in caught.value.message
    assert caught.value.file == str(file)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("memory_bytes: 3G\nnum_slots: 64k", ".yaml"),
        ('memory_bytes = "3GiB"\nnum_slots = 64_000', ".toml"),
        ('{"memory_bytes": "3Gi", "num_slots": "64k"}', ".json"),
    ],
)
def test_sizes_have_units_in_every_file(text: str, suffix: str, tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, text, suffix))
    assert (settings.memory_bytes, settings.num_slots) == (3 * 2**30, 64_000)


def test_sizes_have_units_in_variables_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_MEMORY_BYTES", "16G")
    monkeypatch.setenv("YAIE_NUM_SLOTS", "64k")
    settings = load_settings(write(tmp_path, "models: {a: {model: /m, num_slots: 8Ki}}"))
    assert (settings.memory_bytes, settings.num_slots) == (16 * 2**30, 64_000)
    assert [each.num_slots for each in engine_configs(settings)] == [8192]
    monkeypatch.setenv("YAIE_NUM_SLOTS", "64q")
    with pytest.raises(ConfigError, match=r"YAIE_NUM_SLOTS is '64q'; .* 8k \(8,000\)") as caught:
        load_settings()
    assert caught.value.file is None


def test_config_check_names_each_wrong_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "num_slots: 64q\nport: 99999\nmetrics_auth: true\n")
    monkeypatch.setenv("YAIE_NUM_SLOTS", "64")  # wins over the file, whose value is still wrong
    assert run_command_line(["config", "check", str(file)]) == 2
    said = capsys.readouterr().err
    assert f"num_slots in {file} is '64q'" in said and f"port in {file} is 99999" in said
    assert f"try: yaie config check {file}" in said
    file.write_text("metrics_auth: true\n")
    assert run_command_line(["config", "check", str(file)]) == 2
    assert "metrics_auth needs api_key" in capsys.readouterr().err
    file.write_text("metrics_auth: true\nmodels: {a: builtin}\nmemory_bytes: 3G\n")
    monkeypatch.setenv("YAIE_API_KEY", "from-a-secret")
    monkeypatch.setenv("YAIE_CONFIG", str(file))
    for arguments in ([str(file)], []):
        assert run_command_line(["config", "check", *arguments]) == 0
        assert f"{file}: 3 settings, all valid; models: builtin" in capsys.readouterr().out
    monkeypatch.delenv("YAIE_CONFIG")
    assert run_command_line(["config", "show", "--changed", "--config", str(file)]) == 0
    assert re.search(rf"memory_bytes +3 GiB +{file}", capsys.readouterr().out)


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


@pytest.mark.parametrize("options", [[], ["--json"], ["--changed"]])
def test_config_show_ends_with_each_wrong_value(
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write(tmp_path, "port: .inf\nnum_slots: 64q\n")
    monkeypatch.setenv("YAIE_CONFIG", str(file))
    monkeypatch.setenv("YAIE_MAX_RUNNING", "few")
    assert run_command_line(["config", "show", *options]) == 2
    said = capsys.readouterr()
    assert "max_waiting" in said.out or options == ["--changed"]
    assert f"port in {file} is inf" in said.err and f"num_slots in {file} is '64q'" in said.err
    assert "YAIE_MAX_RUNNING is 'few'" in said.err and "Traceback" not in said.err
