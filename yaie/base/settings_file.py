"""Settings in a file: YAML, TOML or JSON by its suffix, under the names of the settings."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yaie.base.errors import ConfigError, nearest_name_hint

VARIABLE = "YAIE_CONFIG"
SUFFIXES = (".yaml", ".yml", ".toml", ".json")


def read_config_file(path: Path, names: Mapping[str, object]) -> dict[str, object]:
    """Return the values in a settings file by setting.

    `names` are the settings. A dash counts as an underscore. A list becomes comma-separated text,
    as in `api_key`, and `models` may be a table: name to model, or to a table with `model` and the
    model's settings. Raises `ConfigError` with the file and the wrong entry.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise _wrong(path, f"has the suffix {path.suffix!r}; write one of {', '.join(SUFFIXES)}")
    try:
        found = _parsed(path)
    except OSError as error:
        raise _wrong(path, f"cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"is not {path.suffix[1:].upper()}: {error}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _wrong(path, f"contains a {type(found).__name__} instead of settings by name")
    values: dict[str, object] = {}
    for key, value in found.items():
        name = str(key).replace("-", "_")
        if name not in names:
            raise _wrong(path, f"has {key}, which is not a setting{nearest_name_hint(name, names)}")
        if value is not None:
            values[name] = _models(path, value) if name == "models" else _plain(path, name, value)
    return values


def _parsed(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix == ".json":
        return json.loads(text) if text.strip() else None
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _plain(path: Path, name: str, value: object) -> object:
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    if isinstance(value, dict):
        raise _wrong(path, f"has a table for {name}, which takes one value")
    return value


def _models(path: Path, value: object) -> object:
    """Return the setting `models` as text."""
    if not isinstance(value, dict):
        return _plain(path, "models", value)
    entries = []
    for name, model in value.items():
        own = dict(model) if isinstance(model, dict) else {"model": model}
        if not own.get("model"):
            raise _wrong(path, f"has no model for {name} in models; write model: FOLDER")
        settings = [f"{key}={each}" for key, each in own.items() if key != "model"]
        entries.append(";".join([f"{name}={own['model']}", *settings]))
    return ",".join(entries)


def _wrong(path: Path, problem: str) -> ConfigError:
    return ConfigError(f"the settings file {path} {problem}", param="config")
