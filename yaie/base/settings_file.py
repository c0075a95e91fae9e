"""Settings in a file: YAML, TOML or JSON by its suffix, under the names of the settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yaie.base.errors import ConfigError, nearest_name_hint
from yaie.base.json_reader import DuplicateKey, parse_json
from yaie.base.renamed_settings import advice_on

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
        found = _parse(path)
    except OSError as error:
        raise _wrong(path, f"cannot be read ({error.strerror or error})") from None
    except DuplicateKey as error:
        raise _wrong(path, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"is not {path.suffix[1:].upper()}: {error}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _wrong(path, f"contains a {type(found).__name__} instead of settings by name")
    named: dict[str, object] = {}
    spellings: dict[str, str] = {}
    for key, value in found.items():
        name = str(key).replace("-", "_")
        if (other := spellings.setdefault(name, str(key))) != str(key):
            raise _wrong(path, f"has both {other} and {key}; remove one")
        named[name] = value
    unknown = [name for name in named if name not in names]
    if unknown:
        hints = [
            f"has {n}, which is not a setting; {advice}"
            if (advice := advice_on(n))
            else f"has {n}, which is not a setting{nearest_name_hint(n, names)}"
            for n in unknown
        ]
        raise _wrong(path, "; ".join(hints))
    return {
        name: _models(path, value) if name == "models" else _plain(path, name, value)
        for name, value in named.items()
        if value is not None
    }


def _parse(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix == ".json":
        try:
            return parse_json(text, unique_keys=True) if text.strip() else None
        except DuplicateKey:
            return _parse_yaml(text)  # which knows lines, and reads JSON too
    return _parse_yaml(text)


def _parse_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises `ValueError`."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        _check_keys(node)
        return None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    finally:
        loader.dispose()


def _check_keys(root: Any) -> None:
    """Raise `DuplicateKey` for a mapping with a key twice. (YAML's libraries keep the last one.)"""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not isinstance(getattr(node, "value", None), list):
            continue  # a scalar, or an alias
        seen.add(id(node))
        keys = set()
        for item in node.value:
            if not isinstance(item, tuple):
                waiting.append(item)
                continue
            key, value = item
            waiting += (key, value)
            name = (key.tag, str(key.value).replace("-", "_"))
            if isinstance(key.value, str) and name in keys:
                raise DuplicateKey(key.value, key.start_mark.line + 1)
            keys.add(name)


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
    error = ConfigError(f"the settings file {path} {problem}", param="config")
    error.file = str(path)
    return error
