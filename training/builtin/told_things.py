"""Things that people tell of themselves, or that are planned, and ask for later on.

Ninety things with their values, in frames that fit all of a kind. Called by `conversations.py` and,
for the honesty test, by `wordings.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import extraction_everyday, values, words
from .grammar import expand
from .tables import load

T = load("told_things")

_DRAW: dict[str, Callable[[Random], object]] = {
    **{name: extraction_everyday.DRAW[name] for name in ("first", "town", "country", "street")},
    "number": lambda r: values.number(r, 4),
    "code": values.code,
    "day": lambda r: r.choice(words.T.DAYS),
    "colour": lambda r: r.choice(words.T.COLOURS),
    "fruit": lambda r: r.choice(words.T.FRUITS),
    "job": lambda r: r.choice(words.T.JOBS),
    "rare": values.word,
    "surname": lambda r: r.choice(extraction_everyday.LAST),
    "language": lambda r: r.choice(words.T.LANGUAGES),
    "month": lambda r: r.choice(words.T.MONTHS),
    "time": values.time,
}
PATTERNS = T.OWN_TOLD + T.OWN_ASKED + T.DAY_TOLD + T.DAY_ASKED + T.TIME_TOLD + T.TIME_ASKED
THINGS = [thing for listed in T._OWN.values() for thing in listed.split(", ")] + T._PLANNED


def told_thing(rng: Random) -> tuple[str, str, str]:
    """What is told, the question for it, the answer."""
    roll = rng.random()
    if roll < 0.7:
        kind = rng.choice(sorted(T._OWN))
        thing = rng.choice(T._OWN[kind].split(", "))
        told, asked, answer = T.OWN_TOLD, T.OWN_ASKED, "Your {t} is {v}."
    elif roll < 0.85:
        kind, thing = "day", rng.choice(T._PLANNED)
        told, asked, answer = T.DAY_TOLD, T.DAY_ASKED, "The {t} is on {v}."
    else:
        kind, thing = "time", rng.choice(T._PLANNED)
        told, asked, answer = T.TIME_TOLD, T.TIME_ASKED, "The {t} is at {v}."
    slots = {"t": thing, "v": str(_DRAW[kind](rng))}
    one, two = rng.choice(told), rng.choice(asked)
    return expand(one, rng, slots), expand(two, rng, slots), answer.format(**slots)
