"""Texts with values to extract: twenty-odd kinds of records and the sentences that state them.

A block begins with `# kind: field=drawer ...`; every other line is a pattern (see `grammar.py`)
with the fields as slots.
"""

from __future__ import annotations

import re
from random import Random

from .recipes import Recipes, Value
from .values import values

DRAW = Recipes("extraction_texts", values)
T = DRAW.T


def blocks(text: str) -> dict[str, tuple[dict[str, str], list[str]]]:
    """Return each kind's drawers by field, and its patterns."""
    out: dict[str, tuple[dict[str, str], list[str]]] = {}
    fields: dict[str, str] = {}
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith("# "):
            kind, rest = line[2:].split(": ", 1)
            fields, lines = dict(pair.split("=", 1) for pair in rest.split()), []
            out[kind] = (fields, lines)
        else:
            lines.append(line.replace("\\n", "\n"))
    return out


TEXTS = blocks(T._TEXTS)


def drawn(kind: str, rng: Random) -> dict[str, Value]:
    """Return a value for each field of a kind of record; an address may hold the name."""
    found = {field: DRAW[drawer](rng) for field, drawer in TEXTS[kind][0].items()}
    if "email" in found and "name" in found:
        found["email"] = values.email_of(str(found["name"]), rng)
    return found


SLOT = re.compile(r"\{(\w+)\}")


def regex_of(drawer: str, pattern: str = "") -> str:
    """Return a regular expression for a drawer's values in normalised text of any pattern."""
    return str(T.SHAPES.get(drawer, r"\w+(?: \w+)?"))
