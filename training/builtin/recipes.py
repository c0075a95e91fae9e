"""Recipes of random values: names, codes, dates, and the slots of patterns.

A table's section of kind `recipes` holds `name: text`, or `name:` above indented lines:

    key = text    draws a value for later lines (in a recipe for slots, all lines)
    <0.7 text     is chosen if one random number in [0, 1), common to all such lines, is below
    >0.7 text     is chosen if that number is at least 0.7
    - text        is one of several; all are drawn, then one is chosen
    ~ text        is one of several; one is chosen, then drawn
    text          is what is left

Holes in a text draw values:

    {2..30} {0.3..60~2}     a whole number, a number with two decimals
    {a|b|}                  one of the words
    {NAMES+CITIES}          an entry of word lists
    {10,5..99,NAMES,word}   one of numbers, entries and values; all are drawn, then one is chosen
    {key} {MONTHS@key}      an earlier value, the list's entry at that place (from 1)
    {person} {words.city}   the value of another recipe
    {1..3*NAME} {2**word}   values in a row, or with spaces between them
    {word:capital} {key:02} a changed value (see `CHANGES`), or one in a format

A text of one hole keeps its value's type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from .tables import load

Value = str | int | float
Known = dict[str, Any]
Writer = Callable[[Random, Known], Any]
Drawer = Callable[[Random], Any]
Step = tuple[str, float, Writer]  # key or mark, share, and the writer

_STEP = re.compile(r"(?:(\w+) = |([<>])([\d.]+) |([-~])(?: |$))?(.*)")
_HOLE = re.compile(r"\{([^{}]*)\}")
_CHANGED = re.compile(r"([^:]+):(\w+)")
_SPAN = re.compile(r"(-?[\d.]*\d)\.\.(-?[\d.]+)(?:~(\d))?")
_REPEATED = re.compile(r"([\d.|]+)(\*\*?)(.+)")


class Recipes:
    """The recipes and word lists of a table and of the tables that it builds on.

    `recipes.NAME` is a function of the random generator; `recipes.T` holds the table's sections.
    """

    def __init__(self, table: str, *bases: Recipes) -> None:
        self.table, self.bases = table, bases
        self.T = load(table)
        self._lines: dict[str, list[str]] = getattr(self.T, "RECIPES", {})
        self._steps: dict[str, list[Step]] = {}
        self._drawers: dict[str, Drawer] = {}

    def __getattr__(self, name: str) -> Drawer:
        if drawer := self.find(name):
            return drawer
        raise AttributeError(f"no recipe {name!r} in {self.table}")

    def __getitem__(self, name: str) -> Drawer:
        return self.__getattr__(name)

    def find(self, name: str) -> Drawer | None:
        """Return the recipe of `name` or `table.name`, here or in a base."""
        table, _, short = name.rpartition(".")
        if table in ("", self.table):
            if short not in self._drawers and short in self._lines:
                self._drawers[short] = partial(self._draw, short)
            if short in self._drawers:
                return self._drawers[short]
        return next((found for base in self.bases if (found := base.find(name))), None)

    def add(self, drawer: Drawer, name: str = "") -> Drawer:
        """Add a function that draws a value, under its own or another name."""
        self._drawers[name or drawer.__name__] = drawer
        return drawer

    def _draw(self, name: str, rng: Random) -> Any:
        return _chosen(self._compiled(name), rng, {})

    def _compiled(self, name: str) -> list[Step]:
        if name not in self._steps:
            self._steps[name] = _steps(self._lines[name], self)
        return self._steps[name]

    def slots(self, name: str, rng: Random, /, **known: str) -> dict[str, str]:
        """Return the values of a recipe whose lines name them, as text."""
        return {key: str(value) for key, value in self.record(name, rng, **known).items()}

    def record(self, name: str, rng: Random, /, **known: Any) -> dict[str, Any]:
        """Return the values of a recipe whose lines name them, beside the known ones."""
        for key, _, write in self._compiled(name):
            known[key] = write(rng, known)
        return known

    def entries(self, names: str) -> list[Any]:
        """Return the entries of `LIST` or `LIST+OTHER`, here or in a base.

        Raises AttributeError for an unknown list.
        """
        return [entry for name in names.split("+") for entry in self._list(name)]

    def _list(self, name: str) -> list[Any]:
        for held in self._tables():
            if hasattr(held, name):
                return list(getattr(held, name))
        raise AttributeError(f"no list {name!r} in {self.table}")

    def _tables(self) -> list[Any]:
        return [self.T, *(table for base in self.bases for table in base._tables())]


def _steps(lines: list[str], home: Recipes) -> list[Step]:
    steps = []
    for line in lines:
        key, side, share, several, text = _STEP.fullmatch(line).groups()  # type: ignore[union-attr]
        steps.append((key or side or several or "", float(share or 0), _writer(text, home)))
    return steps


def _chosen(steps: list[Step], rng: Random, known: Known) -> Any:
    drawn, writers, roll = [], [], None
    for mark, share, write in steps:
        if mark == "-":
            drawn.append(write(rng, known))
        elif mark == "~":
            writers.append(write)
        elif mark in ("<", ">"):
            roll = rng.random() if roll is None else roll
            if (roll < share) == (mark == "<"):
                return write(rng, known)
        elif mark:
            known[mark] = write(rng, known)
        else:
            return write(rng, known)
    return rng.choice(writers)(rng, known) if writers else rng.choice(drawn)


def _writer(text: str, home: Recipes) -> Writer:
    parts = _HOLE.split(text)
    writers = [_hole(part, home) if at % 2 else part for at, part in enumerate(parts)]
    if len(parts) == 3 and parts[0] == parts[2] == "":
        return _hole(parts[1], home)
    return lambda rng, known: "".join(
        part if isinstance(part, str) else str(part(rng, known)) for part in writers
    )


def _hole(text: str, home: Recipes) -> Writer:
    if repeated := _REPEATED.fullmatch(text):
        return _repeated(_hole(repeated[1], home), repeated[2], _hole(repeated[3], home))
    if "," in text:
        return _drawn_choice([_entry(part, home) for part in text.split(",")])
    if changed := _CHANGED.fullmatch(text):
        return _with_change(changed[2], _hole(changed[1], home))
    if span := _SPAN.fullmatch(text):
        return _number(span[1], span[2], span[3])
    if "@" in text:
        return _at(*text.split("@"), home)
    if text.isdigit():
        return lambda rng, known: int(text)
    if "|" in text:
        options = text.split("|")
        return _choice([int(o) for o in options] if all(map(_whole, options)) else options)
    if _is_list(text):
        return _choice(home.entries(text))
    return lambda rng, known: known[text] if text in known else home[text](rng)


def _repeated(count: Writer, mark: str, write: Writer) -> Writer:
    glue = " " if mark == "**" else ""
    return lambda rng, known: glue.join(str(write(rng, known)) for _ in range(count(rng, known)))


def _entry(text: str, home: Recipes) -> list[Any] | Writer:
    return home.entries(text) if _is_list(text) else _hole(text, home)


def _drawn_choice(parts: list[list[Any] | Writer]) -> Writer:
    def write(rng: Random, known: Known) -> Any:
        options: list[Any] = []
        for part in parts:
            options += part if isinstance(part, list) else [part(rng, known)]
        return rng.choice(options)

    return write


def _number(low: str, high: str, decimals: str | None) -> Writer:
    if decimals:
        return lambda rng, known: round(rng.uniform(float(low), float(high)), int(decimals))
    return lambda rng, known: rng.randint(int(low), int(high))


def _is_list(text: str) -> bool:
    return text.replace("+", "").replace("_", "").isupper()


def _whole(text: str) -> bool:
    return re.fullmatch(r"0|[1-9]\d*", text) is not None


def _choice(options: list[Any]) -> Writer:
    return lambda rng, known: rng.choice(options)


def _at(name: str, key: str, home: Recipes) -> Writer:
    entries = home.entries(name)
    return lambda rng, known: entries[known[key] - 1]


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number in (11, 12, 13) else ending}"


def _plural(noun: str) -> str:
    return noun + ("es" if noun.endswith(("s", "sh", "ch", "x")) else "s")


CHANGES: dict[str, Callable[[Any], str]] = {
    "capital": str.capitalize,
    "lower": str.lower,
    "ordinal": _ordinal,
    "plural": _plural,
    "decimal": float,
    "half": lambda number: number + 0.5,
    "fives": lambda number: number * 5,
    "tens": lambda number: number * 10,
    "hundreds": lambda number: number * 100,
    "tenths": lambda number: number / 10,
    "hundredths": lambda number: number / 100,
    "thousandths": lambda number: number / 1000,
}


def _with_change(change: str, write: Writer) -> Writer:
    if change in CHANGES:
        return lambda rng, known: CHANGES[change](write(rng, known))
    return lambda rng, known: format(write(rng, known), change)
