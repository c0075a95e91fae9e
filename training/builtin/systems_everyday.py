"""Realistic system prompts: a place of work with its rules, and a table that users ask about.

Called by `conversation` and `long_conversation` of the package, which put questions about the table
between those of other kinds, or send raw messages under a prompt that sets one task for all of
them (text to JSON, a label, yes or no). `wordings.py` reads the shapes of the questions.
"""

# ruff: noqa: E501  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from . import (
    choices,
    extraction,
    extraction_frames,
    extraction_layouts,
    extraction_marked,
    values,
    words,
)
from .extraction_texts import DRAW, SLOT, TEXTS
from .extraction_texts import T as TEXT_TABLE
from .grammar import articles, expand
from .tables import load

T = load("systems_everyday")

Pair = tuple[str, str]


def _combined(heads: str, kinds: str, singles: str = "") -> Callable[[Random], str]:
    """Names of two words that share a word with many others, and some of one word."""
    first, second, alone = heads.split(), kinds.split(), singles.split()

    def draw(rng: Random) -> str:
        if alone and rng.random() < 0.3:
            return rng.choice(alone)
        return f"{rng.choice(first)} {rng.choice(second)}"

    return draw


def _code(rng: Random) -> str:
    return "".join(rng.choice("ABCDEFGHKLMNPRSTWX") for _ in range(rng.choice([1, 1, 2])))


def _named(names: list[str]) -> Callable[[Random], str]:
    return lambda rng: rng.choice(names)


class Kind(NamedTuple):
    """What stands in the first column: how it is named, written and asked for."""

    draw: Callable[[Random], str]
    header: str
    article: str = "the "
    person: bool = False


FIRST = sorted({*values.T.FIRST_NAMES, *words.T.NAMES})
_LANDMARKS = "Oak Lake River Garden Tower Sun Moon Rose Harbour Forest Mill Castle Bridge Star"
KINDS = {
    "person": Kind(lambda r: r.choice(FIRST), "name", "", person=True),
    "doctor": Kind(lambda r: f"Dr. {r.choice(values.T.SURNAMES)}", "doctor", "", person=True),
    "pet": Kind(_named("Rex Bella Luna Milo Coco Max Daisy Simba Nala Rocky Toby Molly Oscar Lucky "
                       "Pepper Ginger Felix Fluffy Bruno Misty Shadow Biscuit Tiger".split()),
                "pet", "", person=True),
    "bakery": Kind(_combined("apple cherry plum lemon poppy nut cheese rye spelt butter carrot "
                             "chocolate almond raisin honey walnut onion pumpkin cinnamon",
                             "pie tart cake bread roll bun muffin strudel loaf cookie pastry",
                             "baguette croissant pretzel brioche bagel doughnut cheesecake"),
                   "item"),
    "dish": Kind(_combined("tomato onion pumpkin lentil chicken fish mushroom potato beef bean rice "
                           "cheese spinach carrot vegetable noodle", "soup salad pie curry stew "
                           "burger pasta plate omelette gratin sandwich bowl risotto",
                           "lasagne goulash paella ravioli moussaka ramen schnitzel falafel"),
                 "dish"),
    "drink": Kind(_combined("apple orange cherry mint ginger lemon green black iced house white red "
                            "grape elderflower", "juice tea lemonade wine punch cider soda syrup",
                            "espresso cappuccino cocoa milk latte"), "drink"),
    "ticket": Kind(_combined("adult child family student senior group evening day week annual "
                             "morning school museum press", "ticket pass"), "ticket"),
    "show": Kind(lambda r: f"{r.choice(values.T.ADJECTIVES).capitalize()} "
                 f"{r.choice(values.T.RARE).capitalize()}", "title", ""),
    "book": Kind(lambda r: f"{r.choice(values.T.RARE).capitalize()} and "
                 f"{r.choice(values.T.RARE).capitalize()}" if r.random() < 0.4 else
                 f"The {r.choice(values.T.RARE).capitalize()}", "title", ""),
    "room": Kind(lambda r: f"{r.choice(_LANDMARKS.split())} {r.choice(['Room', 'Room', 'Suite'])}",
                 "room"),
    "hut": Kind(_combined("lake forest hill river family birch pine stone fishing",
                          "hut cabin lodge bungalow tent"), "hut"),
    "service": Kind(_combined("room airport breakfast laundry bike towel city boat parking massage",
                              "service rental package tour transfer voucher", "sauna minibar "
                              "babysitting"), "service"),
    "course": Kind(_combined("yoga spanish french dance guitar piano swimming cooking painting chess "
                             "drama pottery boxing writing", "class course group club workshop",
                             "pilates spinning zumba judo"), "course"),
    "part": Kind(_combined("front rear road city steel leather rubber child racing long",
                           "wheel tyre light brake saddle pedal helmet chain lock basket",
                           "bell pump derailleur mudguard handlebar"), "part"),
    "repair": Kind(_combined("brake gear chain wheel screen battery lamp motor light tyre full",
                             "repair check change service cleaning adjustment"), "service"),
    "spare": Kind(_combined("phone laptop radio camera tablet printer mixer clock",
                            "battery screen charger case cable lens motor button", "fuse solder"),
                  "part"),
    "machine": Kind(lambda r: r.choice(values.T.RARE) if r.random() < 0.7 else
                    f"{r.choice('web mail build test print file db gpu'.split())}-"
                    f"{r.randint(1, 20)}", "server", ""),
    "plan": Kind(_combined("basic family silver gold premium student travel monthly yearly weekend "
                           "home senior", "plan package membership cover"), "plan"),
    "branch": Kind(lambda r: f"{r.choice(words.T.CITIES)} office", "office"),
    "goods": Kind(lambda r: f"{r.choice(values.T.ADJECTIVES + words.T.COLOURS)} "
                  f"{r.choice(values.T.GOODS + words.T.THINGS)}" if r.random() < 0.7 else
                  r.choice(values.T.GOODS + words.T.THINGS), "product"),
    "shipping": Kind(_combined("standard express island night bulky abroad pickup green",
                               "shipping delivery parcel"), "service", ""),
    "flight": Kind(lambda r: f"flight {_code(r)}{r.choice(['', ' '])}{r.randint(10, 999)}",
                   "flight", ""),
    "lounge": Kind(_combined("blue gold silver family business sky garden crew quiet", "lounge"),
                   "lounge"),
    "office": Kind(_combined("tax passport youth housing parking building trade marriage garden "
                             "social voting", "office desk department"), "office"),
    "form": Kind(_combined("passport parking fishing marriage building birth dog resident moving",
                           "permit certificate form card licence copy"), "document"),
    "plant": Kind(_combined("white red dwarf garden wild yellow climbing japanese sweet blue",
                            "rose lily maple tulip fern cherry orchid daisy lavender poppy apple",
                            "basil thyme cactus hydrangea magnolia rosemary mint"), "plant"),
    "carrier": Kind(lambda r: f"{values.firm(r)}", "carrier", ""),
    "company": Kind(lambda r: f"{values.firm(r)}", "company", ""),
    "visit": Kind(_combined("dental eye cat dog rabbit travel senior puppy blood claw",
                            "check vaccine visit test treatment cut", "x-ray chip"), "treatment"),
    "account": Kind(_combined("basic student savings youth gold business family joint senior daily",
                              "account card deposit"), "account"),
    "trip": Kind(lambda r: f"{r.choice(['trip', 'trip', 'tour', 'cruise'])} to "
                 f"{r.choice(words.T.CITIES)}", "trip"),
    "year": Kind(lambda r: f"{r.randint(1850, 1999)}", "year", ""),
    "rental": Kind(_combined("small large double rowing family mountain camp gas fishing folding",
                             "canoe boat bike stove tent chair table grill rod", "kayak hammock"),
                   "item"),
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
    """A column: its values, other names under which it is asked for, and what it tells."""

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
    """The patterns of whole questions, greetings included."""
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
    """Rows of named things with one to three attributes, all of whose values differ."""

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
        """The name in a sentence."""
        return self.kind.article + name

    def answer(self, name: str, attribute: str) -> str:
        """The sentence that answers a question about one cell."""
        return f"The {attribute} of {self.shown(name)} is {self.rows[name][attribute]}."

    def question(self, name: str, attribute: str, rng: Random) -> str:
        """A question about one cell that stands for itself."""
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
        """A first name that the table does not hold."""
        held = {part for name in self.rows for part in name.split()}
        return rng.choice([name for name in FIRST if name not in held])

    def run(self, rng: Random) -> list[Pair]:
        """A question about a cell, sometimes followed by short ones that lean on it."""
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
        """Whether a text names something of the table."""
        low = text.lower()
        return any(re.search(rf"\b{re.escape(name.lower())}\b", low) for name in self.rows)

    def written(self, rng: Random) -> str:
        """The table in one of the usual layouts."""
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
                  f"## {attribute.capitalize()} by {header}", f"{attribute.upper()} LIST"]  # fmt: skip
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


def _filled(pattern: str, rng: Random, name: str) -> str:
    """A paragraph pattern as a sentence."""
    hour = rng.randint(7, 10)
    slots = {
        "name": name, "city": rng.choice(words.T.CITIES), "day": rng.choice(words.T.DAYS),
        "month": rng.choice(words.T.MONTHS), "k": str(rng.randint(2, 60)),
        "year": str(rng.randint(1820, 1999)), "year2": str(rng.randint(2019, 2031)),
        "h": f"{hour}:{rng.choice(['00', '30'])}", "h2": f"{rng.randint(16, 22)}:00",
        "street": f"{rng.choice(values.T.SURNAMES)} Street", "word": rng.choice(values.T.RARE),
        "company": rng.choice(words.T.COMPANIES),
    }  # fmt: skip
    text = expand(pattern, rng, slots)
    return text[:1].upper() + text[1:] + "."


class Setting(NamedTuple):
    """A place of work: the assistant's role, its tables (kind and columns), and paragraphs."""

    role: str
    tables: list[tuple[str, str]]
    paragraphs: list[str]


def _setting(role: str, tables: str, *paragraphs: str) -> Setting:
    pairs = [part.split(": ") for part in tables.split(" | ")]
    return Setting(role, [(kind, columns) for kind, columns in pairs], list(paragraphs))


_TEXTS = load("systems_everyday_texts")
SETTINGS = {key: _setting(*lines) for key, lines in _TEXTS.SETTINGS.items()}
_COMMON = _TEXTS.COMMON.split("\n")


def _notes(setting: str, number: int, names: Callable[[], str], rng: Random) -> list[str]:
    """Sentences of that setting and of any, about so many words in all."""
    own = rng.sample(SETTINGS[setting].paragraphs, len(SETTINGS[setting].paragraphs))
    common = rng.sample(_COMMON, len(_COMMON))
    found: list[str] = []
    total = 0
    while total < number and (own or common):
        pool = own if own and (not common or rng.random() < 0.6) else common
        found.append(_filled(pool.pop(), rng, names()))
        total += len(found[-1].split())
    return found


def _joined(head: str, notes: list[str], block: str, rng: Random) -> str:
    """Head, notes in paragraphs or bullets, and the block at the start, in the middle or last."""
    style = rng.randrange(4)
    if style == 0:
        parts = ["- " + note for note in notes]
        glue = "\n"
    elif style == 1:
        parts, glue = notes, "\n"
    else:
        parts, glue = [], "\n\n" if style == 2 else "\n"
        rest = list(notes)
        while rest:
            size = rng.randint(2, 5)
            parts.append(" ".join(rest[:size]))
            rest = rest[size:]
    at = rng.choice([0, len(parts), rng.randint(0, len(parts))])
    around = rng.choice(["\n\n", "\n"])
    before, after = glue.join(parts[:at]), glue.join(parts[at:])
    return around.join(part for part in (head, before, block, after) if part)


def prompt(rng: Random, number: int) -> tuple[str, Table]:
    """A system prompt of about that many words, and the table in it."""
    setting = rng.choice(sorted(SETTINGS))
    role, tables, _ = SETTINGS[setting]
    kind, columns = rng.choice(tables)
    attributes = columns.split()
    if len(attributes) > 1:
        rng.shuffle(attributes)
        attributes = attributes[: rng.randint(1, len(attributes))]
    rows = rng.randint(3, 6 if number < 60 else 15)
    table = Table(kind, attributes, rows, rng)
    head = _filled(role, rng, table.stranger(rng))
    if rng.random() < 0.1:
        head = rng.choice(["", "Notes for the desk.", "Handbook.", "What you need to know:"])
    block = table.written(rng)
    left = number - len(block.split()) - len(head.split())
    notes = _notes(setting, left, lambda: table.stranger(rng), rng)
    return _joined(head, notes, block, rng), table


def runs(table: Table, number: int, rng: Random) -> list[list[Pair]]:
    """Some runs of questions about the table; no question comes twice."""
    found: list[list[Pair]] = []
    seen: set[str] = set()
    for _ in range(number):
        run = table.run(rng)
        if run[0][1] not in seen:
            seen |= {answer for _, answer in run}
            found.append(run)
    return found


# Prompts that set one task for all messages.


def _text_with(
    kind: str, fields: list[str], rng: Random
) -> tuple[str, extraction_layouts.Record] | None:
    """A text of that kind that states the fields, and all that it states."""
    drawers, patterns = TEXTS[kind]
    drawn = {field: DRAW[drawer](rng) for field, drawer in drawers.items()}
    if "email" in drawn and "name" in drawn:
        drawn["email"] = values.email_of(str(drawn["name"]), rng)
    slots = {field: str(value) for field, value in drawn.items()}
    parts: list[str] = []
    stated: list[str] = []
    for pattern in rng.sample(patterns, min(len(patterns), 12)):
        chosen = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
        found = [f for f in dict.fromkeys(SLOT.findall(chosen)) if f not in stated]
        if not found or (fields and not set(found) & set(fields)):
            continue
        parts.append(extraction.filled_lines(chosen, rng, slots))
        stated += found
        if set(fields) <= set(stated):
            break
    if len(parts) > 3 or not set(fields) <= set(stated):
        return None
    if rng.random() < 0.25:
        parts.insert(
            rng.randint(0, len(parts)), extraction.filled_lines(extraction.aside(rng), rng, {})
        )
    text = rng.choice([". ", ". ", ".\n"]).join(parts) + rng.choice([".", ".", "", "!"])
    return text, {field: drawn[field] for field in stated}


def _asked_to_file(one: extraction_layouts.Record, rng: Random) -> str:
    """The instruction that asks for objects like this one."""
    slots = {
        "keys": extraction_layouts.listed_keys(one, rng),
        "schema": extraction_layouts.schema_text(one, rng),
    }
    frames = T.READS if rng.random() < 0.6 else extraction_frames.SYSTEM
    return extraction.framed(rng.choice(frames), rng, slots) + "."


def _filing_one_kind(rng: Random) -> tuple[str, list[Pair]]:
    """The same of texts that say the same of different things."""
    marked = rng.choice(extraction_marked.TEXTS)
    first = marked.stated(rng)[1]
    fields = rng.sample(list(first), min(len(first), rng.choice([1, 2, 2, 3, 3, 4])))
    names = [extraction.key_name(field, rng, first, marked.known) for field in fields]
    pairs: list[Pair] = []
    types: list[str] = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        text, stated = marked.stated(rng)
        one = {name: stated[field] for name, field in zip(names, fields, strict=True)}
        found = [extraction_layouts.json_type(value) for value in one.values()]
        if not pairs or found == types:  # else a schema of the one would not fit the other
            pairs.append((text, json.dumps(one, ensure_ascii=False)))
            asked, types = _asked_to_file(one, rng), found
    return asked, pairs


def _filing(rng: Random) -> tuple[str, list[Pair]]:
    """The instruction that asks for JSON, and texts with their objects."""
    if rng.random() < 0.6:
        return _filing_one_kind(rng)
    while True:
        kind = rng.choice(sorted(TEXTS))
        first = _text_with(kind, [], rng)
        if first is None:
            continue
        text, stated = first
        fields = rng.sample(list(stated), min(len(stated), rng.choice([1, 2, 2, 3, 3, 4])))
        named = [extraction.key_name(field, rng, stated, TEXT_TABLE.ALIASES) for field in fields]
        keys = extraction_layouts.styled_keys(named, rng)
        if len(set(keys)) == len(keys):
            break

    def record(found: extraction_layouts.Record) -> extraction_layouts.Record:
        return {key: found[field] for key, field in zip(keys, fields, strict=True)}

    one = record(stated)
    types = [extraction_layouts.json_type(value) for value in one.values()]
    pairs = [(text, json.dumps(one, ensure_ascii=False))]
    for _ in range(rng.randint(0, 6)):
        more = _text_with(kind, fields, rng)
        if more and [extraction_layouts.json_type(v) for v in record(more[1]).values()] == types:
            pairs.append((more[0], json.dumps(record(more[1]), ensure_ascii=False)))
    return _asked_to_file(one, rng), pairs


def _review(rng: Random, good: bool) -> str:
    pool = choices.T.GOOD if good else choices.T.BAD
    slots = {"word": rng.choice(pool), "word2": rng.choice(pool),
             "thing": rng.choice(words.T.THINGS + choices.T.SERVICES)}  # fmt: skip
    more = choices.T.PRAISE if good else choices.T.COMPLAINT
    text = expand(rng.choice(choices.T.REVIEW if rng.random() < 0.5 else more), rng, slots)
    for _ in range(rng.choice([0, 0, 1, 2])):
        extra = expand(rng.choice(more), rng, slots)
        if extra not in text:
            text += ". " + extra[:1].upper() + extra[1:]
    text = articles(text)
    return text[:1].upper() + text[1:] + rng.choice([".", "", "!"])


def _labels(rng: Random) -> tuple[str, list[Pair]]:
    """The instruction that asks for a label, and messages with their labels."""
    number = rng.randint(1, 6)
    pairs: list[Pair] = []
    roll = rng.random()
    if roll < 0.6:
        options = rng.choice([["positive", "negative"], ["positive", "negative"], ["good", "bad"]])
        what = rng.choice(["a review", "reviews", "comments of guests", "a customer's opinion"])
        for _ in range(number):
            good = rng.random() < 0.5
            pairs.append((_review(rng, good), options[0 if good else 1].capitalize()))
    elif roll < 0.7:
        options, what = ["odd", "even"], rng.choice(["a number", "numbers", "one number"])
        for value in rng.sample(range(100), number):
            pairs.append((str(value), "Odd" if value % 2 else "Even"))
    elif roll < 0.85:
        options, what = ["yes", "no"], rng.choice(["a question", "questions", "short questions"])
        for _ in range(number):
            fact, value = rng.choice(choices.T.YES_FACTS)
            text = expand(fact, rng)
            pairs.append((text[:1].upper() + text[1:] + "?", "Yes" if value else "No"))
    else:
        name, other, word = choices.two_kinds(rng)
        options, what = [name, other], rng.choice(["a word", "words", "one word"])
        pairs.append((word, name.capitalize()))
        for _ in range(number):
            more, unlike, word = choices.two_kinds(rng)
            if {more, unlike} == {name, other}:
                pairs.append((word, more.capitalize()))
    if rng.random() < 0.5:
        options = options[::-1]
    shown = rng.choice(["{} or {}", "{} or {}", "either {} or {}", '"{}" or "{}"']).format(*options)
    text = expand(rng.choice(T.LABELS), rng, {"o": shown, "what": what})
    return text[:1].upper() + text[1:] + ".", pairs


def task(rng: Random, number: int) -> tuple[str, list[Pair]]:
    """A system prompt that sets a task for all messages, and such messages with their answers."""
    told, pairs = _filing(rng) if rng.random() < 0.75 else _labels(rng)
    setting = rng.choice(sorted(SETTINGS))
    notes = _notes(setting, number - len(told.split()), lambda: rng.choice(FIRST), rng)
    head = _filled(SETTINGS[setting].role, rng, rng.choice(FIRST)) if rng.random() < 0.5 else ""
    if rng.random() < 0.5:
        return _joined(f"{head} {told}".strip(), notes, "", rng), pairs
    return _joined(head, notes, told, rng), pairs
