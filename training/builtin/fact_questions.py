"""Puts the wordings of `facts.py` into question frames: thousands of sentences for each fact."""

from __future__ import annotations

from random import Random

from .facts import FACTS, Fact
from .facts import T as FACTS_TABLE
from .grammar import expand, inflect
from .tables import load

T = load("fact_questions")


def with_macros(pattern: str) -> str:
    """The pattern with its `@NAME` shorthands written out."""
    for name in sorted(FACTS_TABLE.MACROS, key=len, reverse=True):
        pattern = pattern.replace(name, FACTS_TABLE.MACROS[name])
    return pattern


def _frames(frames: list[str]) -> list[str]:
    return [frame.replace("@ABOUT", T.ABOUT) for frame in frames]


FRAMES = [
    ("np", _frames(T.NP_FRAMES), ""),
    ("vp", _frames(T.VP_FRAMES), ""),
    ("vp", _frames(T.ING_FRAMES), "ing"),
    ("vp", _frames(T.S_FRAMES), "s"),
    ("name", _frames(T.NAME_FRAMES), ""),
]
"""Kind of phrase, frames for it, and the ending that its verb takes in these frames."""


def phrases(fact: Fact, kind: str, ending: str) -> list[str]:
    """The fact's phrases of a kind, as they stand in a frame."""
    found = [with_macros(p) for p in getattr(fact, kind)]
    return [inflect(p, ending) for p in found] if ending else found


def ask(fact: Fact, rng: Random) -> str:
    """One random wording of the question that the fact answers."""
    options = [
        (2.0 if kind == "np" else 1.2, kind, frames, ending) for kind, frames, ending in FRAMES
    ]
    options = [option for option in options if getattr(fact, option[1])]
    weights = [option[0] for option in options]
    if fact.q and rng.random() < 3.0 / (3.0 + sum(weights)):
        return expand(with_macros(rng.choice(fact.q)), rng)
    _, kind, frames, ending = rng.choices(options, weights)[0]
    phrase = rng.choice(phrases(fact, kind, ending))
    return expand(rng.choice(frames).replace("{x}", phrase), rng)


def by_key(key: str) -> Fact:
    """The fact with that key."""
    return next(fact for fact in FACTS if fact.key == key)
