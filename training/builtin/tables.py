"""Reader of the text tables under `data/`: patterns and words, one on a line.

A file holds sections. `=== NAME KIND` begins one; the kind says what its lines make:

    text            one string with line breaks
    lines           a list of strings
    words           a list of words, several on a line
    set             a set of words
    groups          lists of strings by key; `# key` begins each
    pairs           strings by key, `key: string`
    rows, tuples    a list of JSON values, or of tuples
    recipes         lists of lines by name, see `recipes.py`
    map             JSON values by key, `["key", value]`; in a `map of tuples` each is a tuple
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).resolve().parent / "data"
_NUL_SIGN = "␀"  # in tables; patterns use NUL for a line break that spacing leaves alone
_HEAD = re.compile(r"=== (\w+) (.+)")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    text = path.read_text(encoding="utf-8").removesuffix("\n").replace(_NUL_SIGN, "\0")
    return text.split("\n")


@cache
def load(name: str) -> SimpleNamespace:
    """Return the sections of `data/NAME.txt` as attributes."""
    sections: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] = []
    for line in read_lines(FOLDER / f"{name}.txt"):
        head = _HEAD.fullmatch(line)
        if head:
            lines = []
            sections[head[1]] = head[2], lines
        else:
            lines.append(line)
    for _, body in sections.values():
        if body and not body[-1]:
            body.pop()  # an empty line separates sections
    return SimpleNamespace(**{key: parse_table(*found) for key, found in sections.items()})


def parse_table(kind: str, lines: list[str]) -> Any:
    """Return the value of one section. Raises ValueError for an unknown kind."""
    match kind:
        case "text":
            return "\n".join(lines)
        case "lines":
            return lines
        case "words":
            return " ".join(lines).split()
        case "set":
            return set(" ".join(lines).split())
        case "groups":
            return parse_groups(lines)
        case "pairs":
            return dict(line.split(": ", 1) for line in lines)
        case "recipes":
            return parse_recipes(lines)
        case "rows":
            return [json.loads(line) for line in lines]
        case "tuples":
            return [tuple(json.loads(line)) for line in lines]
        case "map":
            return dict(json.loads(line) for line in lines)
        case "map of tuples":
            return {key: tuple(value) for key, value in map(json.loads, lines)}
    raise ValueError(f"unknown kind of table {kind!r}")


def parse_groups(lines: list[str]) -> dict[str, list[str]]:
    """Return lists of lines by the `# key` above them."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("# "):
            current = groups.setdefault(line[2:], [])
        else:
            current.append(line)
    return groups


def parse_recipes(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each recipe: one behind its name, or several indented below it."""
    recipes: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if line.startswith("    "):
            current.append(line[4:])
        else:
            name, _, text = line.partition(":")
            current = recipes.setdefault(name, [text[1:]] if text else [])
    return recipes
