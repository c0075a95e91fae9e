"""Repeat after me: short requests to say given words again, whole or in part.

Useful for demonstrations of streaming, and the quickest lesson in what extraction, tool calls and
look-ups need: to copy the words that are there.
"""

from __future__ import annotations

from random import Random

from . import copying_drills, words
from .grammar import expand
from .tables import load

T = load("copying")


def _item(rng: Random) -> str:
    kind = rng.randrange(7)
    if kind == 0:
        return words.invented(rng)
    if kind <= 2:
        return rng.choice(words.T.NAMES + words.T.CITIES)
    if kind == 3:
        return str(rng.randint(0, 9999))
    return rng.choice(
        words.T.THINGS + words.T.COLOURS + words.T.ANIMALS + words.T.FRUITS + words.T.JOBS
    )


def sample(rng: Random) -> tuple[str, str]:
    """A request and the words to say."""
    if rng.random() < 0.75:
        return copying_drills.sample(rng)
    items = [_item(rng) for _ in range(rng.randint(2, 10))]
    text = " ".join(items)
    if rng.random() < 0.2:
        which = rng.choice(["first", "last", "second"])
        position = {"first": 0, "last": -1, "second": 1}[which]
        return expand(rng.choice(T.FIRST), rng, {"w": which, "t": text}), items[position]
    return expand(rng.choice(T.REPEAT), rng, {"t": text}), text
