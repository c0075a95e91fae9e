"""Repeat after me: short requests to say given words again, whole or in part.

Useful for demonstrations of streaming, and the quickest lesson in what extraction, tool calls and
look-ups need: to copy the words that are there.
"""

from __future__ import annotations

from random import Random

from . import copying_drills, words
from .grammar import expand

REPEAT = [
    "[repeat|say|echo|write|print|type|output|copy|return|answer with|reply with]"
    "[ after me| this| exactly| exactly this| the words| the following| the text| only|]: {t}",
    "[please |can you |could you |now |][repeat|say|write|echo][ this| the words|]: {t}"
    "[ again| please|]",
    '[repeat|say|echo|write|print|type][:|] "{t}"',
    "{t}\n[repeat|copy|echo|say] [that|it|this|the line above|the text]",
    "[repeat|echo] what i [say|write|type]: {t}",
    "after me: {t}",
    "echo {t}",
]
FIRST = [
    "[what is|give me|say|write|tell me|return] the {w} word [of|in][ this|][:|] {t}",
    "the {w} word of {t}", "[only |just |]the {w} word: {t}", "{t}: what is the {w} word",
]  # fmt: skip


def _item(rng: Random) -> str:
    kind = rng.randrange(7)
    if kind == 0:
        return words.invented(rng)
    if kind <= 2:
        return rng.choice(words.NAMES + words.CITIES)
    if kind == 3:
        return str(rng.randint(0, 9999))
    return rng.choice(words.THINGS + words.COLOURS + words.ANIMALS + words.FRUITS + words.JOBS)


def sample(rng: Random) -> tuple[str, str]:
    """A request and the words to say."""
    if rng.random() < 0.75:
        return copying_drills.sample(rng)
    items = [_item(rng) for _ in range(rng.randint(2, 10))]
    text = " ".join(items)
    if rng.random() < 0.2:
        which = rng.choice(["first", "last", "second"])
        position = {"first": 0, "last": -1, "second": 1}[which]
        return expand(rng.choice(FIRST), rng, {"w": which, "t": text}), items[position]
    return expand(rng.choice(REPEAT), rng, {"t": text}), text
