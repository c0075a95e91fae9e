"""Grammar flags of `run`: --schema, --regex and --choice constrain the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from yaie.base.types import Grammar
from yaie.cli.failures import usage_error

Schema = Annotated[
    Path | None,
    typer.Option("--schema", help="JSON schema for the answer", metavar="FILE"),
]
Regex = Annotated[
    str | None,
    typer.Option("--regex", help="regular expression for the whole answer", metavar="PATTERN"),
]
Choices = Annotated[
    list[str] | None,
    typer.Option("--choice", help="allowed answer; repeatable", metavar="TEXT"),
]
ChoiceList = Annotated[
    str | None,
    typer.Option("--choices", help="allowed answers, separated by commas", metavar="A,B,C"),
]


def listed_choices(choices: list[str] | None, listed: str | None) -> list[str] | None:
    """Return the answers allowed by --choice and --choices; raise a usage error for none."""
    if listed is None:
        return choices
    found = [text.strip() for text in listed.split(",") if text.strip()]
    if not found:
        raise usage_error(f"--choices {listed!r} is empty", advice="--choices yes,no")
    return [*(choices or []), *found]


def grammar_of(schema: Path | None, regex: str | None, choices: list[str] | None) -> Grammar | None:
    """Return the grammar for the flags, or None without flags.

    Raises a usage error for several grammar flags, or for a file without a JSON schema.
    """
    given = {"--schema": schema, "--regex": regex, "--choice": choices or None}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise usage_error(f"{' and '.join(names)} exclude each other", advice="one of them")
    if schema is not None:
        return _of_file(schema)
    if regex is not None:
        return Grammar(kind="regex", source=regex, param="--regex")
    if choices:
        return Grammar(kind="choice", source=json.dumps(choices), param="--choice")
    return None


def _of_file(path: Path) -> Grammar:
    advice = "a file with a JSON schema"
    try:
        schema = json.loads(path.read_bytes())
    except OSError as error:
        raise usage_error(
            f"cannot read {path}", why=error.strerror or str(error), advice=advice
        ) from None
    except (ValueError, RecursionError) as error:
        raise usage_error(f"{path} is not JSON", why=str(error), advice=advice) from None
    if not isinstance(schema, dict):
        raise usage_error(
            f"{path} is not a JSON schema",
            why=f"it contains a {type(schema).__name__} instead of an object",
            advice=advice,
        )
    return Grammar(kind="json_schema", source=json.dumps(schema), param="--schema")
