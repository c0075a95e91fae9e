"""Talk around the tasks: who are you, greetings, thanks, memory of a name, follow-up questions."""

from __future__ import annotations

import json
from random import Random

from . import told_things, values, words
from .grammar import expand
from .tables import load

T = load("conversations")


def _follow(line: str) -> tuple[str, str, list[str]]:
    keys, wording = line.split(" = ", 1)
    first, second = keys.split()
    return first, second, [wording]


SMALL_TALK = [(getattr(T, name), asks) for name, asks in T.SMALL_TALK.items()]
FOLLOW = T.FOLLOW + [_follow(line) for line in T.FOLLOW_ONE]
TOLD_START, ASK_START, NOTED = (json.loads(T.START[key]) for key in ("told", "asked", "noted"))


def small_talk(rng: Random) -> tuple[str, str]:
    """A remark and the reply."""
    answer, asks = rng.choices(SMALL_TALK, [8, 3, 3, 1, 3])[0]
    return expand(rng.choice(asks), rng), answer


def name_pair(rng: Random) -> tuple[str, str, str, str]:
    """Telling a name, the reply, asking for it, the reply."""
    name = words.person(rng)
    return (
        expand(rng.choice(T.NAME_TELL), rng, {"n": name}),
        f"Hello, {name}!",
        expand(rng.choice(T.NAME_ASK), rng),
        f"Your name is {name}.",
    )


def told_pair(rng: Random) -> tuple[str, str, str, str]:
    """Telling something about oneself, the reply, asking for it, the reply."""
    if rng.random() < 0.7:
        told, asked, known = told_things.told_thing(rng)
        return told, NOTED, asked, known
    drawn = {
        "colour": rng.choice(words.T.COLOURS),
        "city": values.place(rng),
        "animal": rng.choice([w for w in words.T.ANIMALS if w[0] not in "aeiou"]),
        "job": rng.choice([w for w in words.T.JOBS if w[0] not in "aeiou"]),
        "number": str(values.number(rng, 3)),
        "fruit": rng.choice(words.T.FRUITS),
        "code": values.word(rng),
    }
    kind = rng.choice(sorted(drawn))
    value = drawn[kind]
    tell, ask, answer = T.TOLD[kind]
    before = TOLD_START if rng.random() < 0.3 else ""
    again = ASK_START if rng.random() < 0.3 else ""
    return (
        expand(before + tell, rng, {"v": value}),
        NOTED,
        expand(again + ask, rng),
        answer.replace("{v}", value),
    )
