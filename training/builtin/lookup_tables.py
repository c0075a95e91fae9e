"""Tables of named things in system prompts, in the usual layouts, and questions about a cell."""

from __future__ import annotations

import json
import re
from random import Random
from typing import NamedTuple

from .grammar import expand, filled
from .recipes import Recipes
from .tables import load
from .values import values, words

T = load("systems_everyday")

Pair = tuple[str, str]


FIRST = sorted({*values.T.FIRST_NAMES, *words.T.NAMES})
NAMES = Recipes("lookup_kinds", values)
VALUES = Recipes("lookup_attributes", NAMES)


@NAMES.add
def first(rng: Random) -> str:
    """Return a first name, each as likely as the others."""
    return rng.choice(FIRST)


class Kind(NamedTuple):
    """The first column: its header, the article of its names, and if they are people's."""

    header: str
    article: str
    person: bool


class Attribute(NamedTuple):
    """A column: alternative names, and the question word that it answers."""

    names: str
    tells: str  # where, call, cost, many, when, or ""


KINDS = {key: Kind(*row) for key, row in NAMES.T.KINDS.items()}
ATTRIBUTES = {key: Attribute(*row) for key, row in VALUES.T.ATTRIBUTES.items()}

# {n}: the name with its article, {k}: without, {a}: what is asked.
ENDS = ["[, please|, thanks|, thank you]", " [today|now|again|exactly|please]"]


def shapes() -> list[str]:
    """Return the patterns of whole questions, greetings included."""
    start = "[" + "|".join([*T.STARTS, ""]) + "]"
    end = "[" + "|".join([*ENDS, ""]) + "]"
    asks = [
        *T.ASK,
        *T.ASK_PERSON,
        *T.ASK_THING,
        *(ask for group in T.TELLS.values() for ask in group),
    ]
    return [*(start + ask + end for ask in asks), *T.AGAIN, *T.OTHER]


class Table:
    """Rows of named things with one to three attributes; all values differ."""

    def __init__(self, kind: str, attributes: list[str], rows: int, rng: Random) -> None:
        self.kind = KINDS[kind]
        self.attributes = attributes
        self.full_names = kind == "person" and rng.random() < 0.25
        self.rows: dict[str, dict[str, str]] = {}
        taken: set[str] = set()
        columns = [a for a in attributes if a in ("day", "month")]
        rows = min(rows, 6) if columns else rows
        style = rng.random()
        for _ in range(rows * 3):
            if len(self.rows) == rows:
                break
            name = self._name(kind, rng)
            mine = set(name.lower().split())
            if any(mine <= set(k.lower().split()) or set(k.lower().split()) <= mine
                   or (self.kind.person and mine & set(k.lower().split()) - {"dr.", "ms.", "mr."})
                   for k in self.rows):  # fmt: skip
                continue
            record = {}
            for attribute in attributes:
                value = self._value(attribute, rng, style)
                while value in taken or value.lower() in mine:
                    value = self._value(attribute, rng, style)
                taken.add(value)
                record[attribute] = value
            self.rows[name] = record

    def _name(self, kind: str, rng: Random) -> str:
        if kind == "person":
            if self.full_names:
                return str(NAMES.full(rng))
            if rng.random() < 0.08:
                return values.made_up(rng).capitalize()
        return str(NAMES[kind](rng))

    def _value(self, attribute: str, rng: Random, style: float) -> str:
        if attribute in ("price", "fee") and style < 0.4:
            return str(rng.randint(1, 99))
        return str(VALUES[attribute](rng))

    def shown(self, name: str) -> str:
        return self.kind.article + name

    def answer(self, name: str, attribute: str) -> str:
        return f"The {attribute} of {self.shown(name)} is {self.rows[name][attribute]}."

    def question(self, name: str, attribute: str, rng: Random) -> str:
        """Return an independent question about one cell."""
        person = self.kind.person
        asks = T.ASK + (T.ASK_PERSON if person else T.ASK_THING) * 2
        told = ATTRIBUTES[attribute].tells
        telling = [a for a in self.attributes if ATTRIBUTES[a].tells == told]
        if told and telling == [attribute] and rng.random() < 0.5:
            key = attribute if told == "many" else "person" if person else "thing"
            asks = T.TELLS.get(f"{told} {key}", asks)
        else:
            asks = T.ASK[:5] if rng.random() < 0.3 else asks
        pattern = rng.choice(asks)
        if rng.random() < 0.3:
            pattern = rng.choice(T.STARTS) + pattern
        if rng.random() < 0.12:
            pattern += rng.choice(ENDS)
        called = ATTRIBUTES[attribute].names.split("|")
        slots = {
            "a": attribute if rng.random() < 0.7 else rng.choice(called),
            "n": self.shown(name) if rng.random() < 0.93 else name,
            "k": name,
            "p": self.stranger(rng),
        }
        return expand(pattern, rng, slots)

    def stranger(self, rng: Random) -> str:
        """Return a first name outside the table."""
        held = {part for name in self.rows for part in name.split()}
        return rng.choice([name for name in FIRST if name not in held])

    def run(self, rng: Random) -> list[Pair]:
        """Return a question about a cell, sometimes followed by short ones that depend on it."""
        name, attribute = rng.choice(list(self.rows)), rng.choice(self.attributes)
        pairs = [(self.question(name, attribute, rng), self.answer(name, attribute))]
        while rng.random() < 0.3 and len(pairs) < 4:
            others = [a for a in self.attributes if a != attribute]
            if others and rng.random() < 0.4:
                attribute = rng.choice(others)
                text = expand(rng.choice(T.OTHER), rng, {"a": attribute})
            else:
                name = rng.choice([n for n in self.rows if n != name])
                text = expand(rng.choice(T.AGAIN), rng, {"n": self.shown(name)})
            pairs.append((text, self.answer(name, attribute)))
        return pairs

    def mentioned(self, text: str) -> bool:
        """Return True if a text names a row of the table."""
        low = text.lower()
        return any(re.search(rf"\b{re.escape(name.lower())}\b", low) for name in self.rows)

    def written(self, rng: Random) -> str:
        """Return the table in one of the usual layouts."""
        return self._one(rng) if len(self.attributes) == 1 else self._many(rng)

    def _one(self, rng: Random) -> str:
        attribute = self.attributes[0]
        style = rng.randrange(12)
        upper = style != 8 and rng.random() < 0.3
        cells = [
            (name[:1].upper() + name[1:] if upper else name, row[attribute])
            for name, row in self.rows.items()
        ]
        header = self.kind.header
        slots = {"a": attribute, "A": attribute.capitalize(), "U": attribute.upper()}
        slots |= {"h": header, "H": header.capitalize()}
        title = filled(rng.choice(T.TITLES), slots)
        if style <= 3:
            mark, mid = rng.choice(["", "", "- ", "* "]), rng.choice(T.BETWEEN)
            return "\n".join([title, *(f"{mark}{n}{mid}{v}" for n, v in cells)])
        if style <= 5:
            return self._grid([header, attribute], [list(cell) for cell in cells], rng)
        if style == 6:
            mid, mark = rng.choice([" ", ": ", " "]), rng.choice(["- ", "", "* "])
            return "\n".join([title, *(f"{mark}{n}{mid}({attribute} {v})" for n, v in cells)])
        if style == 7:
            return rng.choice(["\n", "; "]).join(f"{n}, {attribute} {v}" for n, v in cells) + "."
        if style == 8:
            pattern = rng.choice(["The {a} of {n} is {v}.", "{n} has {a} {v}."])
            rows = [filled(pattern, {**slots, "n": self.shown(n), "v": v}) for n, v in cells]
            return _sentences(rows, rng)
        if style == 9:
            return json.dumps(dict(cells), ensure_ascii=False)
        if style == 10:
            rows = [f"{n} {v}" for n, v in cells]
            return f"{title} " + ", ".join(rows[:-1]) + f" and {rows[-1]}."
        return f"{title} " + "; ".join(f"{n}: {v}" for n, v in cells) + "."

    @staticmethod
    def _grid(header: list[str], rows: list[list[str]], rng: Random) -> str:
        if rng.random() < 0.6:
            header = [cell.capitalize() for cell in header]
        style = rng.randrange(5)
        if style == 0:
            lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
            lines.insert(1, "|" + "---|" * len(header))
            return "\n".join(lines)
        glue = [" | ", " | ", ",", "; ", "\t"][style]
        if style == 2 and rng.random() < 0.5:
            glue = ", "
        return "\n".join(glue.join(row) for row in [header, *rows])

    def _many(self, rng: Random) -> str:
        style = rng.randrange(7)
        if style <= 3:
            header = [self.kind.header, *self.attributes]
            return self._grid(header, [[n, *row.values()] for n, row in self.rows.items()], rng)
        if style == 4:
            mark = rng.choice(["", "- ", "* "])
            rows = [f"{mark}{n}: {self._cells(n, '{a} {v}', ', ')}" for n in self.rows]
            return "\n".join(rows)
        if style == 5:
            rows = [f"{self.shown(n)} has {self._cells(n, '{a} {v}', ' and ')}." for n in self.rows]
            return _sentences(rows, rng)
        rows = [f"{n} ({self._cells(n, '{a}: {v}', ', ')})" for n in self.rows]
        return rng.choice(["\n", "; "]).join(rows)

    def _cells(self, name: str, pattern: str, glue: str) -> str:
        return glue.join(filled(pattern, {"a": a, "v": v}) for a, v in self.rows[name].items())


def _sentences(rows: list[str], rng: Random) -> str:
    return rng.choice([" ", "\n"]).join(row[:1].upper() + row[1:] for row in rows)
