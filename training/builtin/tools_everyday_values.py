"""Values of the everyday tools: paths, addresses, codes, phrases, dates as people write them."""

from __future__ import annotations

from functools import partial
from random import Random

from .grammar import expand, to_regex
from .recipes import Recipes
from .values import values

DRAW = Recipes("tools_everyday_values", values)
T = DRAW.T
_WRITTEN = {
    **{name: getattr(T, section) for name, section in T.WRITTEN.items()},
    "book": f"[{'|'.join(T._BOOKS)}]",
    "folder": f"[{'|'.join(T._FOLDERS)}]",
}
_LISTED = {name: DRAW.entries(sections) for name, sections in T.LISTED.items()}


def _write(pattern: str, rng: Random) -> str:
    return expand(pattern, rng, DRAW.slots("written", rng))


def _choose(entries: list[str], rng: Random) -> str:
    return rng.choice(entries)


for _name in T.WRITTEN:
    DRAW.add(partial(_write, _WRITTEN[_name]), _name)
for _name in T.LISTED.keys() - {"currency"}:
    DRAW.add(partial(_choose, _LISTED[_name]), _name)


@DRAW.add
def book(rng: Random) -> str:
    """Return a book's title."""
    return _write(rng.choice(T._BOOKS), rng)


@DRAW.add
def owned_email(rng: Random) -> str:
    """Return an address made from a name."""
    return str(values.email_of(DRAW.full(rng), rng))


@DRAW.add
def folder(rng: Random) -> str:
    """Return a folder's path."""
    slots = DRAW.slots("folder_slots", rng)
    return expand(rng.choice(T._FOLDERS), rng, slots)


@DRAW.add
def date(rng: Random) -> str:
    """Return a date as people write it in a request."""
    day, month = rng.randint(1, 28), rng.choice(DRAW.entries("MONTHS"))
    days = DRAW.entries("DAYS")
    iso = f"{rng.randint(2024, 2028)}-{rng.randint(1, 12):02d}-{day:02d}"
    late = f"the {day}th of {month}" if day in range(24, 28) else "tomorrow"
    return rng.choice([iso, iso, f"{month} {day}", f"{day} {month}", rng.choice(days),
                       rng.choice(days), "tomorrow", "next " + rng.choice(days), late])  # fmt: skip


_INTEGERS = "id few minutes percent degrees pixels amount number".split()
TYPES = {**dict.fromkeys(_INTEGERS, "integer"), "price": "number", "rate": "number"}
QUOTED = {"phrase", "note", "say", "subject", "song", "book", "trouble", "sql", "query", "event",
          "word"}  # fmt: skip


def regex_of(drawer: str) -> str:
    """Return a regular expression for a drawer's values in normalised text."""
    if drawer in _WRITTEN:
        slots = {**dict.fromkeys("nwayAS", r"\w+"), "S2": r"\w+", "k": r"\d+",
                 "c": r"\w+(?: \w+){0,2}"}  # fmt: skip
        return to_regex(_WRITTEN[drawer], slots)
    if drawer in _LISTED:
        return "(?:" + "|".join(to_regex(one) for one in _LISTED[drawer]) + ")"
    return T._SHAPES.get(drawer, r"\d+(?: \d+)?")
