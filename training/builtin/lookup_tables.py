"""Tables of named things in system prompts, in the usual layouts, and questions about a cell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from .grammar import expand
from .tables import load
from .values import values, words

T = load("systems_everyday")

Pair = tuple[str, str]


def _code(rng: Random) -> str:
    return "".join(rng.choice("ABCDEFGHKLMNPRSTWX") for _ in range(rng.choice([1, 1, 2])))


def _named(names: list[str]) -> Callable[[Random], str]:
    return lambda rng: rng.choice(names)


class Kind(NamedTuple):
    """The first column: names, header and article."""

    draw: Callable[[Random], str]
    header: str
    article: str = "the "
    person: bool = False


def _combined(header: str, article: str, heads: str, kinds: str, singles: str) -> Kind:
    """Return a kind whose names have two words, shared with many others, or sometimes one word."""
    first, second, alone = heads.split(), kinds.split(), singles.split()

    def draw(rng: Random) -> str:
        if alone and rng.random() < 0.3:
            return rng.choice(alone)
        return f"{rng.choice(first)} {rng.choice(second)}"

    return Kind(draw, header, f"{article.strip()} " if article.strip() else "")


FIRST = sorted({*values.T.FIRST_NAMES, *words.T.NAMES})
_LANDMARKS = "Oak Lake River Garden Tower Sun Moon Rose Harbour Forest Mill Castle Bridge Star"
KINDS = {
    **{key: _combined(*text.split(" =")) for key, text in T.KINDS.items()},
    "person": Kind(lambda r: r.choice(FIRST), "name", "", person=True),
    "doctor": Kind(lambda r: f"Dr. {r.choice(values.T.SURNAMES)}", "doctor", "", person=True),
    "pet": Kind(_named("Rex Bella Luna Milo Coco Max Daisy Simba Nala Rocky Toby Molly Oscar Lucky "
                       "Pepper Ginger Felix Fluffy Bruno Misty Shadow Biscuit Tiger".split()),
                "pet", "", person=True),
    "show": Kind(lambda r: f"{r.choice(values.T.ADJECTIVES).capitalize()} "
                 f"{r.choice(values.T.RARE).capitalize()}", "title", ""),
    "book": Kind(lambda r: f"{r.choice(values.T.RARE).capitalize()} and "
                 f"{r.choice(values.T.RARE).capitalize()}" if r.random() < 0.4 else
                 f"The {r.choice(values.T.RARE).capitalize()}", "title", ""),
    "room": Kind(lambda r: f"{r.choice(_LANDMARKS.split())} {r.choice(['Room', 'Room', 'Suite'])}",
                 "room"),
    "machine": Kind(lambda r: r.choice(values.T.RARE) if r.random() < 0.7 else
                    f"{r.choice('web mail build test print file db gpu'.split())}-"
                    f"{r.randint(1, 20)}", "server", ""),
    "branch": Kind(lambda r: f"{r.choice(words.T.CITIES)} office", "office"),
    "goods": Kind(lambda r: f"{r.choice(values.T.ADJECTIVES + words.T.COLOURS)} "
                  f"{r.choice(values.T.GOODS + words.T.THINGS)}" if r.random() < 0.7 else
                  r.choice(values.T.GOODS + words.T.THINGS), "product"),
    "flight": Kind(lambda r: f"flight {_code(r)}{r.choice(['', ' '])}{r.randint(10, 999)}",
                   "flight", ""),
    "carrier": Kind(lambda r: f"{values.firm(r)}", "carrier", ""),
    "company": Kind(lambda r: f"{values.firm(r)}", "company", ""),
    "trip": Kind(lambda r: f"{r.choice(['trip', 'trip', 'tour', 'cruise'])} to "
                 f"{r.choice(words.T.CITIES)}", "trip"),
    "year": Kind(lambda r: f"{r.randint(1850, 1999)}", "year", ""),
    "chapter": Kind(lambda r: r.choice("installation|first steps|metrics|caching|evictions|queues|"
                                       "tool calls|streaming|benchmarks|errors|testing|security|"
                                       "logging|releases|glossary|sampling|schemas|namespaces"
                                       .split("|")) + " chapter", "chapter"),
}  # fmt: skip


def _whole(low: int, high: int) -> Callable[[Random], str]:
    return lambda rng: str(rng.randint(low, high))


def _room(rng: Random) -> str:
    roll = rng.random()
    if roll < 0.7:
        return str(rng.randint(1, 60) if roll < 0.35 else rng.randint(100, 499))
    return f"{rng.choice('ABCDEFG')}{rng.choice(['', '', '-', '.'])}{rng.randint(1, 320)}"


def _price(rng: Random) -> str:
    if rng.random() < 0.5:
        return str(rng.randint(2, 60) if rng.random() < 0.6 else rng.randint(60, 900))
    cents = rng.choice([50, 20, 90, 95, 99, 80, 40, 75, rng.randint(10, 99)])
    return f"{rng.randint(1, 49)}.{cents}"


def _clock(rng: Random) -> str:
    return f"{rng.randint(6, 22):02d}:{rng.choice('00 15 30 45 05 20 50'.split())}"


class Attribute(NamedTuple):
    """A column: values, alternative names, and the question word that it answers."""

    draw: Callable[[Random], str]
    names: str
    tells: str = ""  # where, call, cost, many or when


ATTRIBUTES = {
    "room": Attribute(_room, "room|room number", "where"),
    "desk": Attribute(_whole(1, 140), "desk|desk number", "where"),
    "phone": Attribute(lambda r: values.phone(r) if r.random() < 0.4 else str(r.randint(100, 9999)),
                       "phone|phone number|telephone number", "call"),
    "extension": Attribute(_whole(10, 999), "extension|extension number", "call"),
    "price": Attribute(_price, "price", "cost"),
    "fee": Attribute(_price, "fee", "cost"),
    "rate": Attribute(lambda r: f"{r.randint(0, 9)}.{r.randint(1, 99)}", "rate|interest rate"),
    "stock": Attribute(_whole(0, 250), "stock", "many"),
    "capacity": Attribute(_whole(2, 180), "capacity", "many"),
    "shelf": Attribute(_room, "shelf|shelf number", "where"),
    "code": Attribute(lambda r: values.code(r) if r.random() < 0.5 else str(r.randint(1000, 9999)),
                      "code"),
    "time": Attribute(_clock, "time|starting time", "when"),
    "day": Attribute(_named(words.T.DAYS), "day", "when"),
    "month": Attribute(_named(words.T.MONTHS), "month", "when"),
    "rack": Attribute(_room, "rack|rack number", "where"),
    "address": Attribute(lambda r: f"10.0.{r.randint(0, 20)}.{r.randint(1, 250)}", "address"),
    "laptop": Attribute(values.code, "laptop"),
    "policy": Attribute(_whole(1000, 99999), "policy|policy number"),
    "gate": Attribute(_room, "gate|gate number", "where"),
    "floor": Attribute(_whole(0, 30), "floor", "where"),
    "counter": Attribute(_whole(1, 60), "counter|counter number", "where"),
    "locker": Attribute(_whole(1, 300), "locker|locker number"),
    "bed": Attribute(_room, "bed|bed number", "where"),
    "seat": Attribute(lambda r: f"{r.randint(1, 30)}{r.choice('ABCDEFGH')}", "seat|seat number"),
    "bay": Attribute(_room, "bay|bay number", "where"),
    "table": Attribute(_whole(1, 60), "table|table number"),
    "number": Attribute(_whole(1, 99), "number"),
    "box": Attribute(_room, "box|box number", "where"),
    "reel": Attribute(_whole(1, 900), "reel|reel number"),
    "owner": Attribute(lambda r: f"{r.choice(FIRST)} {r.choice(values.T.SURNAMES)}", "owner"),
    "author": Attribute(lambda r: f"{r.choice(FIRST)} {r.choice(values.T.SURNAMES)}", "author"),
    "guide": Attribute(_named(FIRST), "guide"),
    "duration": Attribute(_whole(1, 40), "duration|number of days"),
    "pitch": Attribute(_room, "pitch|pitch number", "where"),
    "ticket": Attribute(_whole(100, 9999), "ticket|ticket number"),
    "page": Attribute(_whole(1, 400), "page|page number"),
    "studio": Attribute(_room, "studio", "where"),
}  # fmt: skip

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
                return f"{rng.choice(FIRST)} {rng.choice(values.T.SURNAMES)}"
            if rng.random() < 0.08:
                return values.made_up(rng).capitalize()
        return self.kind.draw(rng)

    def _value(self, attribute: str, rng: Random, style: float) -> str:
        if attribute in ("price", "fee") and style < 0.4:
            return str(rng.randint(1, 99))
        return ATTRIBUTES[attribute].draw(rng)

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
        titles = [f"{attribute.capitalize()} list:", f"{header.capitalize()} and {attribute}:",
                  f"The {attribute} of each {header}:", f"{header.capitalize()}: {attribute}",
                  f"## {attribute.capitalize()} by {header}",
                  f"{attribute.upper()} LIST"]  # fmt: skip
        title = rng.choice(titles) + "\n"
        if style <= 3:
            mark, mid = (
                rng.choice(["", "", "- ", "* "]),
                rng.choice([": ", ": ", " - ", " = ", ", "]),
            )
            return title + "\n".join(f"{mark}{name}{mid}{value}" for name, value in cells)
        if style <= 5:
            return self._grid([header, attribute], [list(cell) for cell in cells], rng)
        if style == 6:
            mid = rng.choice([" ", ": ", " "])
            mark = rng.choice(["- ", "", "* "])
            return title + "\n".join(f"{mark}{n}{mid}({attribute} {v})" for n, v in cells)
        if style == 7:
            rows = [f"{n}, {attribute} {v}" for n, v in cells]
            return rng.choice(["\n", "; "]).join(rows) + "."
        if style == 8:
            pattern = rng.choice(
                [f"The {attribute} of {{}} is {{}}.", f"{{}} has {attribute} {{}}."]
            )
            rows = [pattern.format(self.shown(n), v) for n, v in cells]
            return rng.choice([" ", "\n"]).join(r[:1].upper() + r[1:] for r in rows)
        if style == 9:
            return json.dumps(dict(cells), ensure_ascii=False)
        if style == 10:
            rows = [f"{n} {v}" for n, v in cells]
            return title.strip() + " " + ", ".join(rows[:-1]) + f" and {rows[-1]}."
        return title.strip() + " " + "; ".join(f"{n}: {v}" for n, v in cells) + "."

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
            rows = [f"{mark}{n}: " + ", ".join(f"{a} {v}" for a, v in row.items())
                    for n, row in self.rows.items()]  # fmt: skip
            return "\n".join(rows)
        if style == 5:
            rows = [f"{self.shown(n)} has " + " and ".join(f"{a} {v}" for a, v in row.items()) + "."
                    for n, row in self.rows.items()]  # fmt: skip
            return rng.choice([" ", "\n"]).join(r[:1].upper() + r[1:] for r in rows)
        rows = [f"{n} (" + ", ".join(f"{a}: {v}" for a, v in row.items()) + ")"
                for n, row in self.rows.items()]  # fmt: skip
        return rng.choice(["\n", "; "]).join(rows)
