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

from . import extraction_texts
from .grammar import articles, expand, expand_lines, normalise
from .recipes import Recipes
from .values import words

DRAW = Recipes("extraction_everyday", extraction_texts.DRAW)
T = DRAW.T

Value = str | int | float
SLOT = extraction_texts.SLOT

FIRST = DRAW.entries("FIRST_NAMES+NAMES+FIRST")
LAST = DRAW.entries("SURNAMES+LAST")
TOWNS = DRAW.entries("CITIES+TOWNS")


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


def _listed(found: list[str]) -> Callable[[Random], str]:
    return lambda rng: rng.choice(found)


for _name, _found in T.LISTS.items():
    DRAW.add(_listed(_found), _name)


@DRAW.add
def metres(rng: Random) -> float:
    """Return a length with one or two decimals."""
    return round(rng.uniform(1.2, 89), rng.choice([1, 2]))


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
        chosen = expand_lines(pattern, rng)
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
