"""Talk around the tasks: greetings, identity, thanks, names, things told and asked for later."""

from __future__ import annotations

import json
import re
from random import Random

from . import extraction_everyday
from .grammar import expand
from .recipes import Recipes
from .values import words

_DRAW = Recipes("conversations", extraction_everyday.DRAW)
T = _DRAW.T


def _follow(line: str) -> tuple[str, str, list[str]]:
    keys, wording = line.split(" = ", 1)
    first, second = keys.split()
    return first, second, [wording]


SMALL_TALK = [(getattr(T, name), asks) for name, asks in T.SMALL_TALK.items()]
FOLLOW = T.FOLLOW + [_follow(line) for line in T.FOLLOW_ONE]
TOLD_START, ASK_START, NOTED = (json.loads(T.START[key]) for key in ("told", "asked", "noted"))


def small_talk(rng: Random) -> tuple[str, str]:
    """Return a remark and the reply."""
    answer, asks = rng.choices(SMALL_TALK, [8, 3, 3, 1, 3])[0]
    return expand(rng.choice(asks), rng), answer


def name_pair(rng: Random) -> tuple[str, str, str, str]:
    """Return a name being told, the reply, the question for it, the reply."""
    name = words.person(rng)
    return (
        expand(rng.choice(T.NAME_TELL), rng, {"n": name}),
        f"Hello, {name}!",
        expand(rng.choice(T.NAME_ASK), rng),
        f"Your name is {name}.",
    )


def told_pair(rng: Random) -> tuple[str, str, str, str]:
    """Return a fact about the user being told, the reply, the question for it, the reply."""
    if rng.random() < 0.7:
        told, asked, known = told_thing(rng)
        return told, NOTED, asked, known
    drawn = _DRAW.slots("told", rng)
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


THINGS = [thing for listed in T._OWN.values() for thing in listed.split(", ")] + T._PLANNED


def told_thing(rng: Random) -> tuple[str, str, str]:
    """Return a statement, the question for it, and the answer."""
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


LEAD_INS = [
    T._REACTION + "[.|!|,|...]",
    T._REACTION + "[.|!|,|.|.] " + T._ONWARD + "[,|:||]",
    T._ONWARD + "[,|:||]",
]


_LOWERED = re.compile(
    r"(?:What|Which|How|Where|Who|When|Why|Is|Are|Was|Can|Could|Would|Should|Will|Do|Does|Did|Tell|"
    r"Give|Show|Say|Explain|Describe|Name|Add|Please|Any|In|On|For|My|The|If|Of|By|With)\b"
)


def led_in(text: str, rng: Random) -> str:
    """Return the text behind a lead-in, in lower case if the lead-in is no full sentence."""
    lead = expand(rng.choices(LEAD_INS, [3, 5, 2])[0], rng)
    stops = lead[-1] in ".!"
    if rng.random() < 0.75:
        lead = lead[:1].upper() + lead[1:]
        lead = re.sub(r"([.!] )([a-z])", lambda m: m[1] + m[2].upper(), lead)
    if not stops and _LOWERED.match(text) and rng.random() < 0.8:
        text = text[:1].lower() + text[1:]
    return f"{lead} {text}"
