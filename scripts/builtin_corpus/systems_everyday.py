"""Realistic system prompts: a place of work with its rules, and a table that users ask about.

Called by `conversation` and `long_conversation` of the package, which put questions about the table
between those of other kinds, or send raw messages under a prompt that sets one task for all of
them (text to JSON, a label, yes or no). `wordings.py` reads the shapes of the questions.
"""

# ruff: noqa: SIM905, E501  (a split sentence is easier to read and edit than a list of quoted words)
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
from .extraction_texts import ALIASES, DRAW, SLOT, TEXTS
from .grammar import articles, expand
from .systems_everyday_texts import COMMON, SETTINGS

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


FIRST = sorted({*values.FIRST_NAMES, *words.NAMES})
_LANDMARKS = "Oak Lake River Garden Tower Sun Moon Rose Harbour Forest Mill Castle Bridge Star"
KINDS = {
    "person": Kind(lambda r: r.choice(FIRST), "name", "", person=True),
    "doctor": Kind(lambda r: f"Dr. {r.choice(values.SURNAMES)}", "doctor", "", person=True),
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
    "show": Kind(lambda r: f"{r.choice(values.ADJECTIVES).capitalize()} "
                 f"{r.choice(values.RARE).capitalize()}", "title", ""),
    "book": Kind(lambda r: f"{r.choice(values.RARE).capitalize()} and "
                 f"{r.choice(values.RARE).capitalize()}" if r.random() < 0.4 else
                 f"The {r.choice(values.RARE).capitalize()}", "title", ""),
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
    "machine": Kind(lambda r: r.choice(values.RARE) if r.random() < 0.7 else
                    f"{r.choice('web mail build test print file db gpu'.split())}-"
                    f"{r.randint(1, 20)}", "server", ""),
    "plan": Kind(_combined("basic family silver gold premium student travel monthly yearly weekend "
                           "home senior", "plan package membership cover"), "plan"),
    "branch": Kind(lambda r: f"{r.choice(words.CITIES)} office", "office"),
    "goods": Kind(lambda r: f"{r.choice(values.ADJECTIVES + words.COLOURS)} "
                  f"{r.choice(values.GOODS + words.THINGS)}" if r.random() < 0.7 else
                  r.choice(values.GOODS + words.THINGS), "product"),
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
                 f"{r.choice(words.CITIES)}", "trip"),
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
    return f"{rng.randint(6, 22):02d}:{rng.choice(['00', '15', '30', '45', '05', '20', '50'])}"


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
    "day": Attribute(_named(words.DAYS), "day", "when"),
    "month": Attribute(_named(words.MONTHS), "month", "when"),
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
    "owner": Attribute(lambda r: f"{r.choice(FIRST)} {r.choice(values.SURNAMES)}", "owner"),
    "author": Attribute(lambda r: f"{r.choice(FIRST)} {r.choice(values.SURNAMES)}", "author"),
    "guide": Attribute(_named(FIRST), "guide"),
    "duration": Attribute(_whole(1, 40), "duration|number of days"),
    "pitch": Attribute(_room, "pitch|pitch number", "where"),
    "ticket": Attribute(_whole(100, 9999), "ticket|ticket number"),
    "page": Attribute(_whole(1, 400), "page|page number"),
    "studio": Attribute(_room, "studio", "where"),
}  # fmt: skip

# {n}: the name with its article, {k}: without, {a}: what is asked.
ASK = [
    "[what is|what's|tell me|give me|i need|please look up|which is|do you know|can you tell me|"
    "may i have|i would like to know|could you give me|please tell me] the {a} of {n}",
    "what {a} does {n} have", "which {a} does {n} have", "[which|what] is the {a} of {n}",
    "[which|what] {a} is listed for {n}", "[what|which] {a} stands next to {n}",
    "the {a} of {n}[, please|]", "{a} of {n}", "{k}, {a}",  "{k}: which {a}",
    "what is the {a} for {n}", "what does the list say about {n}, which {a}",
    "i forgot the {a} of {n}", "[look|check] in your list[:|,] what is the {a} of {n}",
    "what is written as the {a} of {n}", "[find|look up|check] the {a} of {n}[ for me|]",
    "for {n}, what is the {a}", "i am asking about {n}. what is the {a}",
    "it is about {n}. which {a} is it", "[a colleague|somebody|a visitor] asks for the {a} of {n}",
    "could you [check|look up] the {a} of {n}", "i only need the {a} of {n}",
    "my question is about {n}: what is the {a}", "remind me of the {a} of {n}",
    "{n}. {a}",
]  # fmt: skip
ASK_PERSON = [
    "[what is|what's|tell me|which is] {n}'s {a}", "{n}'s {a}[, please|]",
    "i have an appointment with {n}. [what|which] is their {a}",
    "i am [meeting|visiting|here to see] {n}[ today| at noon| later|]. [what|which] is [their|the] "
    "{a}", "[i need|i want|i have] to [speak|talk] to {n}. [what|which] {a} do they have",
    "{n} [left me a message|called me|asked me to come]. what is their {a}",
    "do you know {n}? i need [their|the] {a}", "[a letter|a parcel|a guest] for {n}: which {a}",
    "i am looking for {n}. what {a} is it", "my [sister|friend|brother] knows {n}. what is {n}'s {a}",
]  # fmt: skip
ASK_THING = [
    "i am interested in {n}. what is the {a}", "[i saw|i read about|i heard of] {n}. what is its {a}",
    "a customer asks about {n}. which {a} is it", "[i would like|i want|i'd like] {n}. what is the "
    "{a}", "we talked about {n}. what was the {a} again", "and what is the {a} of {n}",
    "{n}: what is the {a}, please",
]  # fmt: skip
TELLS = {
    "where person": [
        "where do i find {n}", "where [is|sits|can i find] {n}", "i want to visit {n}, where do i "
        "go", "where do i have to go to see {n}", "i have an appointment with {n}. where [is that|"
        "do i go|should i go]", "how do i get to {n}", "i am looking for {n}, where [are they|"
        "do i go]", "i [have|need] to see {n}, where do i go", "{n} is expecting me, where [do i "
        "go|is that]", "where does {n} [sit|work]", "i [bring|have] a parcel for {n}, where do i "
        "take it", "which way to {n}",
    ],
    "where thing": [
        "where is {n}", "where do i find {n}", "where can i find {n}", "where do [you|we] keep {n}",
        "i am looking for {n}", "i can't find {n}, where is it", "where should i look for {n}",
        "someone wants {n}, where is it", "where do i go for {n}", "{n}, where is that",
    ],
    "call person": [
        "how do i reach {n}", "how can i [call|reach|phone] {n}", "i want to call {n}",
        "what do i dial for {n}", "i need to [phone|call|ring] {n}, what do i dial",
        "which number do i call to reach {n}", "can you connect me with {n}? what do i dial",
    ],
    "call thing": [
        "how do i reach {n}", "how can i call {n}", "what do i dial for {n}",
        "which number do i call to reach {n}",
    ],
    "cost thing": [
        "how much is {n}", "how much does {n} cost", "what does {n} cost", "what do i pay for {n}",
        "how much for {n}", "how much would {n} be", "how expensive is {n}",
        "i would like {n}. how much is [it|that]", "i'll take {n}. what do i owe you",
        "how much money do i need for {n}", "how much do you [charge|ask|want] for {n}",
        "if i [take|buy|choose] {n}, what do i pay", "what is {n} at the moment, how much",
        "my [daughter|son|wife|friend] wants {n}, how much is it", "one {k}, how much is that",
    ],
    "when thing": ["when is {n}", "[do you know|can you tell me] when {n} is",
                   "i am coming for {n}, when is it", "i don't want to miss {n}. when is it"],
    "when person": ["when is {n} here", "when can i see {n}", "when does {n} come"],
    "many stock": ["how many are left of {n}", "how many of {n} do we have", "is {n} in stock, how "
                   "many", "how many pieces of {n} are there", "how much stock is there of {n}"],
    "many capacity": ["how many people fit into {n}", "how many people can use {n}", "for how many "
                      "people is {n}", "how big is {n}, how many people"],
}  # fmt: skip
AGAIN = ["and {n}", "and for {n}", "what about {n}", "and of {n}", "how about {n}", "and what about "
         "{n}", "and for {n}, please", "then {n}", "ok, and {n}", "thanks, and {n}", "the same for "
         "{n}", "{n} too, please", "and that of {n}"]  # fmt: skip
OTHER = ["and the {a}", "what about the {a}", "and the {a}, please",
         "which {a}", "i also need the {a}", "and what is the {a}"]  # fmt: skip
STARTS = [
    "[hi|hello|hey|good morning|good afternoon|good evening|good day|excuse me|sorry|please|hi there|"
    "hello there][,|!|.|] ",
    "[hello|hi|good morning|good afternoon|good evening], [my name is {p}|this is {p}|i am {p}|{p} "
    "here|i am new here|quick question|i hope you can help me|i have a question|one question|i am "
    "in a hurry]. ",
    "[i am new here|i have a question|quick question|one question|i am on the phone with a customer|"
    "i am at the entrance|it is my first visit|i just arrived|i am in a hurry|a small thing|my boss "
    "asks|thanks for your help|i lost my notes|i need this for a form]. ",
]  # fmt: skip
ENDS = ["[, please|, thanks|, thank you]", " [today|now|again|exactly|please]"]


def shapes() -> list[str]:
    """The patterns of whole questions, greetings included."""
    start = "[" + "|".join([*STARTS, ""]) + "]"
    end = "[" + "|".join([*ENDS, ""]) + "]"
    asks = [*ASK, *ASK_PERSON, *ASK_THING, *(ask for group in TELLS.values() for ask in group)]
    return [*(start + ask + end for ask in asks), *AGAIN, *OTHER]


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
                return f"{rng.choice(FIRST)} {rng.choice(values.SURNAMES)}"
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
        asks = ASK + (ASK_PERSON if person else ASK_THING) * 2
        told = ATTRIBUTES[attribute].tells
        telling = [a for a in self.attributes if ATTRIBUTES[a].tells == told]
        if told and telling == [attribute] and rng.random() < 0.5:
            key = attribute if told == "many" else "person" if person else "thing"
            asks = TELLS.get(f"{told} {key}", asks)
        else:
            asks = ASK[:5] if rng.random() < 0.3 else asks
        pattern = rng.choice(asks)
        if rng.random() < 0.3:
            pattern = rng.choice(STARTS) + pattern
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
                text = expand(rng.choice(OTHER), rng, {"a": attribute})
            else:
                name = rng.choice([n for n in self.rows if n != name])
                text = expand(rng.choice(AGAIN), rng, {"n": self.shown(name)})
            pairs.append((text, self.answer(name, attribute)))
        return pairs

    def mentioned(self, text: str) -> bool:
        """Whether a text names something of the table."""
        low = text.lower()
        return any(re.search(rf"\b{re.escape(name.lower())}\b", low) for name in self.rows)

    def written(self, rng: Random) -> str:
        """The table in one of the usual layouts."""
        return self._one(rng) if len(self.attributes) == 1 else self._many(rng)

    def _one(self, rng: Random) -> str:  # noqa: PLR0911
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
        "name": name, "city": rng.choice(words.CITIES), "day": rng.choice(words.DAYS),
        "month": rng.choice(words.MONTHS), "k": str(rng.randint(2, 60)),
        "year": str(rng.randint(1820, 1999)), "year2": str(rng.randint(2019, 2031)),
        "h": f"{hour}:{rng.choice(['00', '30'])}", "h2": f"{rng.randint(16, 22)}:00",
        "street": f"{rng.choice(values.SURNAMES)} Street", "word": rng.choice(values.RARE),
        "company": rng.choice(words.COMPANIES),
    }  # fmt: skip
    text = expand(pattern, rng, slots)
    return text[:1].upper() + text[1:] + "."


def _lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


_COMMON = _lines(COMMON)
_PARAGRAPHS = {key: _lines(text) for key, (_, _, text) in SETTINGS.items()}


def _notes(setting: str, number: int, names: Callable[[], str], rng: Random) -> list[str]:
    """Sentences of that setting and of any, about so many words in all."""
    own = rng.sample(_PARAGRAPHS[setting], len(_PARAGRAPHS[setting]))
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

READS = [
    "[you read|you receive|you process|you get] [customer messages|messages|short notes|mails|"
    "reports|texts]. for each one [return|write|give|send back] [a|one] json object with {keys}",
    "your [job|task]: [turn|convert] every message into json with [the keys|keys|the fields|] {keys}",
    "[the user|each user|a program] sends [a text|messages|one message at a time]. [answer|reply] "
    "with json only, [keys|fields|with the keys] {keys}",
    "from every message [extract|take|pull|read] {keys} and [reply|answer] with [json|a json object]",
    "every message is a [report|note|text|mail]. [return|answer with|output] json: {keys}",
    "whatever the user sends, [answer|reply] with a json object that holds {keys}",
    "[all|the] messages here are texts to be filed. [write|return] {keys} of each as json",
    "each answer is [one|a single] json object that [fits|follows] this schema: {schema}",
    "read the message and fill this schema: {schema}",
    "your [answer|reply] is always [a|one] json object with {keys}, [whatever|no matter what] "
    "[people|customers|they] write",
    "[when|whenever|each time] [a message|a note|something] comes in, [file it as|turn it into|"
    "record it as] json with {keys}. [never|do not] write [anything else|more than that]",
    "[our|the] system can only [read|store] json: [give|it needs|answer with] {keys} and nothing "
    "[else|more]",
    "[please|] [reduce|boil down] [each|every] [message|mail|note] to {keys}, [as|in] json",
    "output format: json with {keys}",
    "answer format [for all messages|, always|]: {schema}",
    "fields of the answer: {keys} (json)",
    "[take|note] {keys} from what [people|callers|members|guests] [write|tell you] and [answer|"
    "reply] in json, [without|with no] [comment|further words|greeting]",
    "[do not|never] [chat|talk back]. [the only|your only] [output|answer] is json: {keys}",
    "[reply|respond|answer] to [each|every] message with exactly one json object. its keys: {keys}",
    "[we|you] keep a [list|log|register] with the columns {keys}. [write|return] one json object "
    "for [each|every] message",
    "[fill in|complete] this for every message: {schema}",
]  # fmt: skip
LABELS = [
    "answer with one word, {o}", "the user sends {what}. answer {o}", "for [each|every] message, "
    "which is {what}, [say|answer|reply] {o}", "[label|classify] every message as {o}. [one word "
    "only|no other words|just the word]", "your [job|task] is to [sort|label|judge] {what}: {o}",
    "you [get|read|receive] {what} and [answer|reply] with one word: {o}", "reply with {o} and "
    "nothing else. the messages are {what}", "[all|the] messages are {what}. say only {o}",
]  # fmt: skip


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
    frames = READS if rng.random() < 0.6 else extraction_frames.SYSTEM
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
        named = [extraction.key_name(field, rng, stated, ALIASES) for field in fields]
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
    pool = choices.GOOD if good else choices.BAD
    slots = {"word": rng.choice(pool), "word2": rng.choice(pool),
             "thing": rng.choice(words.THINGS + choices.SERVICES)}  # fmt: skip
    more = choices.PRAISE if good else choices.COMPLAINT
    text = expand(rng.choice(choices.REVIEW if rng.random() < 0.5 else more), rng, slots)
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
            fact, value = rng.choice(choices.YES_FACTS)
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
    text = expand(rng.choice(LABELS), rng, {"o": shown, "what": what})
    return text[:1].upper() + text[1:] + ".", pairs


def task(rng: Random, number: int) -> tuple[str, list[Pair]]:
    """A system prompt that sets a task for all messages, and such messages with their answers."""
    told, pairs = _filing(rng) if rng.random() < 0.75 else _labels(rng)
    setting = rng.choice(sorted(SETTINGS))
    notes = _notes(setting, number - len(told.split()), lambda: rng.choice(FIRST), rng)
    head = _filled(SETTINGS[setting][0], rng, rng.choice(FIRST)) if rng.random() < 0.5 else ""
    if rng.random() < 0.5:
        return _joined(f"{head} {told}".strip(), notes, "", rng), pairs
    return _joined(head, notes, told, rng), pairs
