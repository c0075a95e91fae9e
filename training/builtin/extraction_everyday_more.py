"""More everyday texts with values to extract: rows of tables, forms, logs, notices, chats.

`extraction_everyday.py` merges drawers, lists, names and texts of this module into its own. Several
texts carry distractors: other numbers and names next to the requested ones.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import extraction_texts, values, words
from .extraction_texts import ranges
from .tables import load

T = load("extraction_everyday_more")

Value = str | int | float

LISTS = {
    name: [value.strip() for value in row.split(",")]
    for name, row in (line.split(": ", 1) for line in T._LISTS.strip().splitlines())
}

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
    **{name: (lambda r, found=found: r.choice(found)) for name, found in LISTS.items()},
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

# The drawers whose values are whole numbers, and what the values of the others look like.
_MONTH = "(?:" + "|".join([*words.T.MONTHS, *_SHORT_MONTHS]).lower() + ")"
SHAPES = {
    "dayof": rf"(?:\d+ \d+ \d+|\d+(?:st|nd|rd|th)?(?: of)? {_MONTH}(?: \d+)?"
             rf"|{_MONTH} \d+(?:st|nd|rd|th)?(?: \d+)?)",
    "clock": r"(?:\d+(?: \d+)?(?: ?[ap]m| o clock)?|noon|midnight|half past six|quarter to nine)",
    "phone2": r"\d+(?: \d+){1,3}",
    **dict.fromkeys("halves kilo metres cheap fuelprice tracklength".split(), r"\d+(?: \d+)?"),
    **dict.fromkeys(["laptime", "versionno"], r"\d+ \d+ \d+"),
    "ip": r"\d+ \d+ \d+ \d+",
    "path": r"(?:api|admin|shop|v1|users) \w+",
    "sku": r"[a-z]{2} \d+ [a-z]",
    "username": r"\w+",
    "website": r"www \w+ example",
}  # fmt: skip

ALIASES = dict(line.split(": ", 1) for line in T._ALIASES.strip().splitlines())

TEXTS = extraction_texts.blocks(T._TEXTS.replace("\\t", "\t"))
