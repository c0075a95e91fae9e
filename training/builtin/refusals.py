"""Requests beyond a tiny model, and the polite sentence with which it declines.

Half of them are put together: a phrase (something to do, to know about, a question, a trouble) and
a shape of request that fits every phrase of its grammatical form.
"""

from __future__ import annotations

from random import Random

from .grammar import expand, inflect
from .tables import load
from .values import words

T = load("refusals")

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


def _topic(rng: Random) -> str:
    roll = rng.random()
    if roll < 0.45:
        return rng.choice(T.TOPICS.split("|"))
    if roll < 0.9:
        return rng.choice(["", "", "the ", "my ", "our "]) + rng.choice(words.T.WORLD)
    return words.invented(rng)


def _slots(rng: Random) -> dict[str, str]:
    return {
        "topic": _topic(rng),
        "w": rng.choice(words.T.WORLD),
        "w2": rng.choice(words.T.WORLD),
        "name": words.person(rng),
        "city": words.city(rng),
        "city2": words.city(rng),
        "company": words.company(rng),
        "thing": words.thing(rng),
        "day": rng.choice(words.T.DAYS),
        "month": rng.choice(words.T.MONTHS),
        "fruit": rng.choice(words.T.FRUITS),
        "animal": rng.choice(words.T.ANIMALS),
        "k": str(rng.randint(2, 999)),
    }


def _fill(text: str, rng: Random) -> str:
    for name, value in _slots(rng).items():
        text = text.replace("{" + name + "}", value)
    return text


def ask(rng: Random) -> str:
    """Return an off-topic request."""
    if rng.random() < 0.5:
        return _fill(_wide(rng), rng)
    return expand(rng.choice(T.OFF_TOPIC), rng, _slots(rng))


def ask_again(rng: Random) -> str:
    """Return another request after a refusal."""
    return _fill(_wide_again(rng), rng)
