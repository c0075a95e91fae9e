"""`yaie config`: shows the settings in effect and their schema, and starts a settings file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.cli.doctor import settings_with_sources
from yaie.cli.failures import usage_error

app = typer.Typer(
    help="Show the settings, or start a settings file.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_JSON_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}


@app.command("show")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="show only settings that differ from their default")
    ] = False,
) -> None:
    """Show each setting with its value and source."""
    from yaie.base.settings import SETTINGS

    found = [each for each in settings_with_sources() if each["source"] != "default" or not changed]
    if as_json:
        print(json.dumps({each["name"]: each for each in found}))
        return
    for each in found:
        setting = SETTINGS.get(each["name"])
        shown = setting.shown(each["value"]) if setting else each["value"] or "not set"
        print(f"{each['name']:<22} {shown:<18} {each['source']}")


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of settings files, for editors and checks."""
    print(json.dumps(settings_schema(), indent=2))


@app.command("init")
def init(
    path: Annotated[Path, typer.Argument(help="file to write", metavar="FILE")] = Path("yaie.yaml"),
) -> None:
    """Write a YAML or TOML file with every setting commented out; keep an existing file."""
    if path.suffix.lower() not in (".yaml", ".yml", ".toml"):
        raise usage_error(f"{path} is neither YAML nor TOML", advice="yaie config init yaie.yaml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_commented(is_toml=path.suffix.lower() == ".toml"))
    except FileExistsError:
        raise usage_error(f"{path} exists", advice="another name, or remove it") from None
    except OSError as error:
        raise usage_error(
            f"cannot write {path}", why=error.strerror or str(error), advice="another folder"
        ) from None
    print(f"{path}: every setting, commented out; use it with: yaie serve --config {path}")


def settings_schema() -> dict[str, Any]:
    """Return the JSON schema of a settings file."""
    from yaie.base.settings import SETTINGS

    properties: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        kind: dict[str, Any] = {"type": _JSON_TYPES[setting.kind]}
        if setting.choices:
            kind["enum"] = list(setting.choices)
        limits = {"minimum": setting.about.least, "maximum": setting.about.most}
        limits["exclusiveMinimum"] = setting.about.above
        kind |= {key: value for key, value in limits.items() if value is not None}
        if setting.kind is str and not setting.choices:
            kind["type"] = ["string", "array"]
        if setting.is_optional:
            kind = {"anyOf": [kind, {"type": "null"}]}
        properties[name] = {"description": setting.about.meaning, "default": setting.default} | kind
    properties["models"]["type"] = ["string", "array", "object"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of YAIE",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _commented(*, is_toml: bool) -> str:
    from yaie.base.settings import SETTINGS

    lines = ["# Settings of YAIE. Flags win over YAIE_* variables, which win over this file.", ""]
    separator = " = " if is_toml else ": "
    for name, setting in SETTINGS.items():
        value = "" if setting.default is None else json.dumps(setting.default)
        lines += [f"# {setting.help}", f"# {name}{separator}{value or json.dumps('')}", ""]
    return "\n".join(lines)
