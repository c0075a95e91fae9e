"""Everyday texts with values to extract: messages, tickets, receipts, reviews, notices.

The format is that of `extraction_texts.py`, with values of everyday life: common names and towns,
known books and films, prices with cents. Greetings, sign-offs and irrelevant sentences surround the
facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

from . import extraction_texts, values, words
from .extraction_texts import ranges
from .grammar import articles, expand, normalise
from .tables import load

T = load("extraction_everyday")

Value = str | int | float
SLOT = extraction_texts.SLOT

FIRST = values.T.FIRST_NAMES + words.T.NAMES + T.FIRST
LAST = values.T.SURNAMES + T.LAST
TOWNS = words.T.CITIES + T.TOWNS


def _rows(text: str) -> list[tuple[str, ...]]:
    return [tuple(row.split("/")) for row in text.strip().replace("\n", ";").split(";")]


# Drawers of which several columns belong together: `book.0` is the title, `book.1` its author.
TOGETHER = {"book": _rows(T._BOOKS), "film": _rows(T._FILMS), "song": _rows(T._SONGS),
            "art": _rows(T._ART)}  # fmt: skip

_LISTS = {
    "country": T.COUNTRIES,
    **T.LISTS,
    "adjcolour": words.T.COLOURS,
    "day": words.T.DAYS,
    "month": words.T.MONTHS,
    "language": words.T.LANGUAGES,
}


def _full(rng: Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def _who(rng: Random) -> str:
    roll = rng.random()
    if roll < 0.6:
        return _full(rng)
    return rng.choice(FIRST) if roll < 0.85 else values.person(rng)


def _letters(rng: Random, count: int) -> str:
    return "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))


def _money(rng: Random) -> int | float:
    roll = rng.random()
    if roll < 0.3:
        return rng.choice([rng.randint(1, 99), rng.randint(1, 40) * 10, rng.randint(100, 2500)])
    cents = rng.choice([99, 95, 49, 90, 50, 25, 75, 80, 20, rng.randint(1, 99)])
    return round(rng.choice([rng.randint(0, 19), rng.randint(2, 499)]) + cents / 100, 2)


def _address(rng: Random) -> str:
    road = rng.choice(T.ROADS)
    return f"{rng.randint(1, 199)} {road}"


def _title(rng: Random) -> str:
    kind = rng.choice("Mr Ms Mrs Mr Ms Dr Professor".split())
    return f"{kind} {rng.choice(LAST)}"


_SHORT_MONTHS = [month[:3] for month in words.T.MONTHS]


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number in (11, 12, 13) else ending}"


def _day_of_year(rng: Random) -> str:
    """Return a date in a usual notation: "3 May", "May 3rd", "03.05.2026"."""
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(2019, 2031)
    name, short = words.T.MONTHS[month - 1], _SHORT_MONTHS[month - 1]
    return rng.choice([
        f"{day} {name}", f"{day} {name}", f"{name} {day}", f"{day} {name} {year}",
        f"{_ordinal(day)} {name}", f"{_ordinal(day)} of {name}", f"{name} {_ordinal(day)}",
        f"{day} {short}", f"{short} {day}", f"{day} {short} {year}", f"{name} {day}, {year}",
        f"{day:02d}.{month:02d}.{year}", f"{day}.{month}.{year}", f"{day:02d}/{month:02d}/{year}",
        f"{year}-{month:02d}-{day:02d}", f"{year}/{month:02d}/{day:02d}",
    ])  # fmt: skip


def _clock(rng: Random) -> str:
    hour, minute = rng.randint(1, 12), rng.choice([0, 5, 10, 15, 20, 30, 40, 45, 50])
    late = rng.randint(6, 23)
    return rng.choice([
        f"{hour} am", f"{hour} pm", f"{hour}pm", f"{hour}.{minute:02d} pm", f"{hour}:{minute:02d} \
am",
        f"{late:02d}:{minute:02d}", f"{late}:{minute:02d}", f"{late}.{minute:02d}",
        f"{hour} o'clock", rng.choice(["noon", "midnight", "half past six", "quarter to nine"]),
    ])  # fmt: skip


def _phone(rng: Random) -> str:
    area, one, two = rng.randint(10, 999), rng.randint(100, 999), rng.randint(1000, 9999)
    return rng.choice([
        f"0{area} {one}{two}", f"0{area}-{one}{two}", f"(0{area}) {one} {two}",
        f"+{rng.randint(1, 99)} {area} {one} {two}", f"0{area}/{two}{one}", f"555 {two}",
    ])  # fmt: skip


def _username(rng: Random) -> str:
    stem = rng.choice([values.word, lambda r: r.choice(values.T.FIRST_NAMES).lower()])(rng)
    return rng.choice([stem, f"{stem}{rng.randint(1, 99)}", f"{stem}_{rng.randint(1, 99)}"])


def _halves(rng: Random) -> int | float:
    return rng.choice([rng.randint(1, 12), rng.randint(1, 12), rng.randint(1, 9) + 0.5])


DRAW: dict[str, Callable[[Random], Value]] = {
    **ranges(T.RANGES),
    **extraction_texts.DRAW,
    **{name: (lambda r, found=found: r.choice(found)) for name, found in _LISTS.items()},
    "who": _who,
    "full": _full,
    "first": lambda r: r.choice(FIRST),
    "doctor2": lambda r: f"{r.choice(['Dr.', 'Dr', 'Doctor'])} {r.choice(LAST)}",
    "titledteacher": _title,
    "town": lambda r: r.choice(TOWNS) if r.random() < 0.9 else values.place(r),
    "money": _money,
    "address": _address,
    "thousands": lambda r: r.choice([r.randint(4, 99) * 100, r.randint(400, 99999)]),
    "mins": lambda r: r.choice([10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, r.randint(5, 99)]),
    "degrees": lambda r: r.choice([r.randint(2, 38), r.randint(2, 38), r.randint(10, 390) / 10]),
    "policyno": lambda r: f"{_letters(r, r.choice([1, 2, 3]))}-{r.randint(100, 999999)}",
    "invoiceno": lambda r: r.choice(
        [f"INV-{r.randint(10, 9999)}", f"{r.randint(2019, 2027)}-{r.randint(1, 999):03d}",
         f"{_letters(r, 1)}{r.randint(1000, 99999)}"]),
    "parcelno": lambda r: f"{_letters(r, 2)}{r.randint(10000, 9999999)}",
    "ref": lambda r: f"{_letters(r, r.choice([2, 3]))}{r.choice(['-', ''])}{r.randint(10, 9999)}",
    "trainno": lambda r: f"{r.choice('IC RE ICE TGV EC R RB'.split())} "
                         f"{r.randint(1, 999)}",
    "flightno": lambda r: f"{_letters(r, 2)}{r.choice(['', ' '])}{r.randint(10, 9999)}",
    "gatecode": lambda r: f"{r.choice('ABCDEFG')}{r.randint(1, 60)}",
    "plateno": lambda r: f"{_letters(r, 2)}{r.choice(['-', ' '])}{r.randint(10, 999)}"
                         f"{r.choice(['-', ' '])}{_letters(r, 2)}",
    "seatcode": lambda r: f"{r.randint(1, 40)}{r.choice('ABCDEF')}",
    "stamp": lambda r: f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d} "
                       f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}",
    "dayof": _day_of_year,
    "clock": _clock,
    "phone2": _phone,
    "username": _username,
    "halves": _halves,
    "kilo": lambda r: r.choice([r.randint(1, 90), round(r.uniform(0.3, 60), 1)]),
    "metres": lambda r: round(r.uniform(1.2, 89), r.choice([1, 2])),
    "laptime": lambda r: f"{r.randint(1, 59)}:{r.randint(0, 59):02d}.{r.randint(0, 9)}",
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)),
    "path": lambda r: f"/{r.choice(['api', 'admin', 'shop', 'v1', 'users'])}/{values.word(r)}",
    "sku": lambda r: f"{r.choice('ABCDEFGHKLM')}{r.choice('RSTUVX')}-{r.randint(100, 9999)}"
                     f"-{r.choice('ABCDEF')}",
    "versionno": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 30)}",
    "website": lambda r: f"www.{values.word(r)}.example",
    "httpcode": lambda r: r.choice([200, 201, 204, 301, 302, 400, 401, 403, 404, 409, 429, 500,
                                    502, 503]),
    "limit": lambda r: r.choice([30, 50, 60, 70, 80, 90, 100, 110]),
    "oven": lambda r: r.choice([120, 150, 160, 170, 180, 190, 200, 210, 220, 240]),
    "cheap": lambda r: r.randint(0, 29) + r.choice([0.99, 0.95, 0.49, 0.25, 0.75, 0.79, 0.19]),
    "fuelprice": lambda r: round(r.uniform(1.1, 2.4), 3),
    "taxrate": lambda r: r.choice([5, 7, 8, 10, 16, 19, 20, 21, 22, 25]),
    "tracklength": lambda r: f"{r.randint(1, 9)}:{r.randint(0, 59):02d}",
}  # fmt: skip

PEOPLE = set("who full first person doctor2 titledteacher".split())

ALIASES = dict(line.split(": ", 1) for line in T._ALIASES.strip().splitlines())


_HELLO_NAMED = ["[hi|hello|dear|hey|good morning] {n}", "[hey|hi] {n}, [how are you?|quick one]"]

_GREETED = re.compile(r"(?i)(hi|hello|hey|dear|good|welcome|greetings|attention)\b")
_THANKED = re.compile(r"(?i)thank|cheers|best|regards|yours|see you|love,|sorry")


TEXTS = extraction_texts.blocks(T._TEXTS.replace("\\t", "\t"))


def _record(drawers: dict[str, str], rng: Random) -> dict[str, Value]:
    """Return a value for every field; columns of a list (`book.0`, `book.1`) share a row."""
    rows: dict[str, tuple[str, ...]] = {}
    out: dict[str, Value] = {}
    for field, drawer in drawers.items():
        group, _, column = drawer.partition(".")
        if column:
            row = rows.setdefault(group, rng.choice(TOGETHER[group]))
            out[field] = int(row[2]) if column == "2" else row[int(column)]
        else:
            value = DRAW[drawer](rng)
            while value in out.values() and drawer not in ("score", "stars", "few"):
                value = DRAW[drawer](rng)
            out[field] = value
    return out


def shown(value: Value, drawer: str, rng: Random) -> str:
    """Return a value as the text shows it: money mostly with two decimals."""
    if drawer == "money" and isinstance(value, float):
        return f"{value:.2f}" if rng.random() < 0.9 else str(value)
    return str(value)


def without_article(value: Value) -> Value:
    """Return a listed value without its article ("The" of titles stays)."""
    return re.sub(r"^(?:an?|the) ", "", value) if isinstance(value, str) else value


def _sentence(text: str, rng: Random) -> str:
    out = expand(text, rng, {"n": rng.choice(FIRST)})
    return out[:1].upper() + out[1:] if rng.random() < 0.9 else out


def _joined(parts: list[str], rng: Random) -> str:
    """Join sentences; each gets a full stop unless it ends with a mark."""
    out = ""
    for part in parts:
        if out:
            lines = "\n" in out + part
            out += "\n" if lines else rng.choice([" ", " ", " ", "\n"])
        ended = part.endswith((".", "!", "?", ",")) or "\n" in part
        out += part if ended else part + rng.choice("........!")
    return out


def stated(rng: Random) -> tuple[str, dict[str, Value]]:
    """Return a text, and its fields with their values."""
    drawers, patterns = TEXTS[rng.choice(list(TEXTS))]
    record = _record(drawers, rng)
    slots = {field: shown(record[field], drawers[field], rng) for field in record}
    parts: list[str] = []
    found: list[str] = []
    for pattern in rng.sample(patterns, rng.choices([1, 2], [9, 1])[0]):
        chosen = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
        new = [field for field in SLOT.findall(chosen) if field not in found]
        if parts and not new:
            continue
        first = chosen[:1] not in ("{", '"') and rng.random() < 0.9
        text = chosen[:1].upper() + chosen[1:] if first else chosen
        said = SLOT.sub(lambda match: slots[match.group(1)], text)
        parts.append(articles(said))
        found += new
    form = "\n" in parts[0]
    while rng.random() < 0.22:
        parts.insert(rng.randint(0, len(parts)), _sentence(rng.choice(T._ASIDE), rng))
    greeted = _GREETED.match(parts[0])
    if rng.random() < 0.22 and not greeted:
        nobody = not any(drawers[field] in PEOPLE for field in found)
        hello = rng.choice(_HELLO_NAMED if nobody and rng.random() < 0.5 else T._HELLO)
        parts.insert(0, _sentence(hello, rng) + rng.choice([",", ",", "!"]))
    if rng.random() < 0.22 and not _THANKED.search(parts[-1]):
        parts.append(_sentence(rng.choice(T._BYE), rng))
    text = _joined(parts, rng)
    if text.endswith(".") and (form or rng.random() < 0.25):
        text = text[:-1]
    return text, {field: without_article(record[field]) for field in found}


def _one_of(found: list[str]) -> str:
    return "(?:" + "|".join(sorted({normalise(value) for value in found})) + ")"


@cache
def _values_of(drawer: str) -> str:
    group, _, column = drawer.partition(".")
    if column:
        return _one_of([row[int(column)] for row in TOGETHER[group]])
    if drawer in PEOPLE:
        return r"(?:dr |doctor |mr |mrs |ms |professor )?" + _one_of(FIRST + LAST) + r"(?: \w+)?"
    return _one_of(TOWNS if drawer == "town" else _LISTS[drawer])


def regex_of(drawer: str, pattern: str) -> str:
    """Return a regular expression for a drawer's values in normalised text.

    If the pattern has hardly a word of its own, only listed values match: otherwise any three words
    would be a song and its singer.
    """
    if drawer in T.SHAPES or drawer.endswith(".2"):
        return T.SHAPES.get(drawer, r"\d+")
    if "." in drawer or drawer in _LISTS or drawer in PEOPLE or drawer == "town":
        needed = SLOT.sub(" ", re.sub(r"\[[^\]]*\|\]", " ", pattern))
        loose = r"\w+(?: \w+)?" if drawer in PEOPLE or drawer == "town" else r"\w+(?: \w+){0,5}"
        return _values_of(drawer) if len(normalise(needed).split()) < 2 else loose
    return extraction_texts.regex_of(drawer)
