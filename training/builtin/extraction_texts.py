"""Texts with values to extract: twenty-odd kinds of records and the sentences that state them.

A block begins with `# kind: field=drawer ...`; every other line is a pattern (see `grammar.py`)
with the fields as slots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

from . import values, words
from .tables import load

T = load("extraction_texts")

Value = str | int | float


def ranges(described: Mapping[str, str]) -> dict[str, Callable[[Random], int]]:
    """Return drawers of whole numbers from descriptions such as `2 30`."""

    def drawer(low: int, high: int) -> Callable[[Random], int]:
        return lambda rng: rng.randint(low, high)

    return {name: drawer(*map(int, text.split())) for name, text in described.items()}


DRAW: dict[str, Callable[[Random], Value]] = {
    **ranges(T.RANGES),
    "person": values.person,
    "first": values.first_name,
    "doctor": values.titled,
    "place": values.place,
    "firm": values.firm,
    "word": values.word,
    "filename": values.file_name,
    "code": values.code,
    "phone": values.phone,
    "product": values.product,
    "products": values.products,
    "date": values.date,
    "time": values.time,
    "price": values.price,
    "title": values.title,
    "day": lambda r: r.choice(words.T.DAYS),
    "month": lambda r: r.choice(words.T.MONTHS),
    "colour": lambda r: r.choice(words.T.COLOURS),
    "animal": lambda r: r.choice(words.T.ANIMALS),
    "fruit": lambda r: r.choice(words.T.FRUITS),
    "job": lambda r: r.choice(words.T.JOBS) if r.random() < 0.7 else values.word(r),
    "language": lambda r: r.choice(words.T.LANGUAGES),
    "number": lambda r: values.number(r, 6),
    "temperature": lambda r: r.choice([r.randint(1, 45), r.randint(10, 300) / 10]),
    "email": lambda r: values.email_of(values.person(r), r),
    "street": lambda r: values.surname(r) + r.choice([" Street", " Road", " Lane", " Avenue"]),
    "subject": lambda r: r.choice(
        ["maths", "history", "biology", "music", "physics", "art", "geography", values.word(r)]
    ),
    "department": lambda r: r.choice(
        "sales support finance design research legal marketing logistics".split()
    ),
    "currency": lambda r: r.choice("euros dollars pounds yen francs rupees".split()),
    "level": lambda r: r.choice("low high urgent normal medium critical".split()),
    "sport": lambda r: r.choice("tennis chess rowing golf judo skiing fencing boxing".split()),
    "dish": lambda r: r.choice("pasta soup salad rice pizza curry stew cake".split()),
    "meeting": lambda r: r.choice(
        ["team", "board", "budget", "design", "sales", "summer", "yearly", values.word(r)]
    ) + " " + r.choice(T.GATHERINGS),
}  # fmt: skip

# The other names under which a field may be asked for.


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
SLOT = re.compile(r"\{(\w+)\}")


def regex_of(drawer: str) -> str:
    """Return a regular expression for a drawer's values in normalised text."""
    return str(T.SHAPES.get(drawer, r"\w+(?: \w+)?"))
