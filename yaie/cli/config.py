"""`yaie config`: shows and checks settings, prints their schema, and starts a settings file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.cli.doctor import setting_line, settings_with_sources
from yaie.cli.failures import usage_error
from yaie.cli.options import warn_of_unknown_variables

app = typer.Typer(
    help="Show or check the settings, or start a settings file.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", help="settings file: YAML, TOML or JSON [YAIE_CONFIG]", metavar="FILE"
    ),
]
_JSON_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}


@app.command("show")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="show only settings that differ from their default")
    ] = False,
    config: Config = None,
) -> None:
    """Show each setting with its value and source; exit code 2 names each wrong value."""
    from yaie.base.settings import given_settings, settings_in_file

    found = settings_with_sources(config)
    found = [each for each in found if each["source"] != "default" or not changed]
    if as_json:
        print(json.dumps({each["name"]: each for each in found}))
    else:
        print("\n".join(map(setting_line, found)))
    path, in_file = settings_in_file(config)
    given = given_settings({}, in_file, path).items()
    _check_values({name: value for name, (value, _) in given}, {n: s for n, (_, s) in given}, path)


@app.command("check")
def check(
    path: Annotated[
        Path | None, typer.Argument(help="settings file [YAIE_CONFIG]", metavar="[FILE]")
    ] = None,
) -> None:
    """Check a settings file and the YAIE_* variables; exit code 2 names each wrong value.

    Models are not looked up.
    """
    from yaie.base.served_models import engine_configs
    from yaie.base.settings import load_settings, settings_in_file
    from yaie.server.serving import check_tls

    path, in_file = settings_in_file(path)
    _check_values(in_file, dict.fromkeys(in_file, str(path)), path)
    settings = load_settings(path)
    configs = engine_configs(settings)
    check_tls(settings)
    warn_of_unknown_variables()
    what = "variables" if path is None else f"{path}: {len(in_file)} settings"
    print(f"{what}, all valid; models: {', '.join(each.source for each in configs)}")


def _check_values(
    found: Mapping[str, object], sources: Mapping[str, str], path: Path | None
) -> None:
    """Raise `ConfigError` that names each wrong value by its variable, or its place in a file."""
    from yaie.base.errors import ConfigError
    from yaie.base.settings import SETTINGS

    problems = []
    for name, given in found.items():
        value = SETTINGS[name].parse(given) if isinstance(given, str) else given
        source = sources[name]
        try:
            SETTINGS[name].check(value, f"{name} in {path}" if source == str(path) else source)
        except ConfigError as error:
            problems.append(error.message)
    if problems:
        wrong = ConfigError("; ".join(problems))
        wrong.file = None if path is None else str(path)
        raise wrong


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
            file.write(_comment(is_toml=path.suffix.lower() == ".toml"))
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
            kind["type"] = ["string", "integer" if setting.takes_integers else "array"]
        if setting.is_optional:
            kind = {"anyOf": [kind, {"type": "null"}]}
        if setting.kind is int:  # settings files take sizes with units, such as 16G
            kind = {"anyOf": [kind, {"type": "string", "pattern": r"^[0-9][0-9.,_]*[kmgtKMGT]"}]}
        properties[name] = {"description": setting.about.meaning, "default": setting.default} | kind
    properties["models"]["type"] = ["string", "array", "object"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of YAIE",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _comment(*, is_toml: bool) -> str:
    from yaie.base.settings import SETTINGS

    lines = ["# Settings of YAIE. Flags win over YAIE_* variables, which win over this file.", ""]
    separator = " = " if is_toml else ": "
    for name, setting in SETTINGS.items():
        value = "" if setting.default is None else json.dumps(setting.default)
        lines += [f"# {setting.help}", f"# {name}{separator}{value or json.dumps('')}", ""]
    return "\n".join(lines)
