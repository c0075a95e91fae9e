"""Requests beyond a tiny model, and the polite sentence with which it declines.

Half of them are put together: a phrase (something to do, to know about, a question, a trouble) and
a shape of request that fits every phrase of its grammatical form.
"""

from __future__ import annotations

from random import Random

from .grammar import expand, inflect
from .recipes import Recipes
from .values import words

_DRAW = Recipes("refusals", words)
T = _DRAW.T

SHAPES: list[tuple[list[str], list[str]]] = [
    (T.DO_SHAPES, T.DO), (T.HOW_SHAPES, T.HOW_TO), (T.ABOUT_SHAPES, T.ABOUT),
    (T.CLAUSE_SHAPES, T.CLAUSE), (T.DIRECT_SHAPES, T.DIRECT), (T.TROUBLE_SHAPES, T.TROUBLE),
]  # fmt: skip
WEIGHTS = [5, 4, 4, 3, 4, 3]
# What people say when they were refused and try again. The answer stays the same.
_NAMES = {"{np}": T.ABOUT, "{do}": T.DO, "{doing}": T.DO, "{clause}": T.CLAUSE, "{q}": T.DIRECT,
          "{trouble}": T.TROUBLE}  # fmt: skip


def phrase(slot: str, wanted: str) -> str:
    """Return a phrase in the form of a shape's slot."""
    return inflect(wanted, "ing") if slot == "{doing}" else wanted


def slot_of(shape: str) -> str:
    return next(slot for slot in _NAMES if slot in shape)


def framed() -> list[tuple[str, list[str]]]:
    """Return every shape with `{x}` as its slot, and the phrases that fit it."""
    pairs = [(shape, wanted) for shapes, wanted in SHAPES for shape in shapes]
    pairs += [(shape, _NAMES[slot_of(shape)]) for shape in T.AGAIN]
    found = []
    for shape, wanted in pairs:
        slot = slot_of(shape)
        found.append((shape.replace(slot, "{x}"), [phrase(slot, w) for w in wanted]))
    return found


def _wide(rng: Random) -> str:
    """Return a shape filled with a phrase; slots such as `{city}` stay open."""
    shapes, wanted = rng.choices(SHAPES, WEIGHTS)[0]
    return _filled(rng.choice(shapes), wanted, rng)


def _wide_again(rng: Random) -> str:
    shape = rng.choice(T.AGAIN)
    return _filled(shape, _NAMES[slot_of(shape)], rng)


def _filled(shape: str, wanted: list[str], rng: Random) -> str:
    slot = slot_of(shape)
    return expand(shape.replace(slot, phrase(slot, rng.choice(wanted))), rng)


def _fill(text: str, rng: Random) -> str:
    for name, value in _DRAW.slots("slots", rng).items():
        text = text.replace("{" + name + "}", value)
    return text


def ask(rng: Random) -> str:
    """Return an off-topic request."""
    if rng.random() < 0.5:
        return _fill(_wide(rng), rng)
    return expand(rng.choice(T.OFF_TOPIC), rng, _DRAW.slots("slots", rng))


def ask_again(rng: Random) -> str:
    """Return another request after a refusal."""
    return _fill(_wide_again(rng), rng)
