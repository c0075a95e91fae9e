"""Things that people tell of themselves, or that are planned, and ask for later on.

Ninety things with their values, in frames that fit all of a kind. Called by `conversations.py` and,
for the honesty test, by `wordings.py`.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import extraction_everyday, values, words
from .grammar import expand

_OWN = {
    "first": "dog's name, cat's name, sister's name, brother's name, boss's name, "
    "neighbour's name, son's name, daughter's name, best friend's name, horse's name",
    "number": "locker number, room number, seat number, ticket number, order number, house number, "
    "table number, lucky number, customer number, player number, queue number",
    "code": "door code, booking code, wifi password, gate code, badge code, flight number, "
    "membership code, voucher code",
    "day": "day off, favourite day, training day, market day",
    "colour": "favourite colour, bike colour, car colour, team colour, hair colour",
    "town": "home town, favourite city, birthplace, next destination, holiday destination",
    "country": "home country, favourite country",
    "fruit": "favourite fruit, favourite snack",
    "job": "dream job, new job",
    "rare": "password, safe word, nickname, team name, code word, username",
    "surname": "surname, last name, teacher, doctor, landlord, maiden name",
    "street": "street, address, meeting point",
    "language": "mother tongue, second language, favourite subject",
    "month": "birth month, favourite month",
}
_PLANNED = (
    "party, meeting, concert, exam, dentist appointment, picnic, wedding, interview, match, class, "
    "rehearsal, flight, dinner, delivery, workshop, garage sale, film, lecture, race, inspection, "
    "haircut, birthday, parents' evening, book club"
).split(", ")
_DRAW: dict[str, Callable[[Random], object]] = {
    **{name: extraction_everyday.DRAW[name] for name in ("first", "town", "country", "street")},
    "number": lambda r: values.number(r, 4),
    "code": values.code,
    "day": lambda r: r.choice(words.DAYS),
    "colour": lambda r: r.choice(words.COLOURS),
    "fruit": lambda r: r.choice(words.FRUITS),
    "job": lambda r: r.choice(words.JOBS),
    "rare": values.word,
    "surname": lambda r: r.choice(extraction_everyday.LAST),
    "language": lambda r: r.choice(words.LANGUAGES),
    "month": lambda r: r.choice(words.MONTHS),
    "time": values.time,
}
OWN_TOLD = [
    "my {t} is {v}", "{v} is my {t}", "the {t} i have is {v}",
    "[by the way|fyi|note], my {t} is {v}",
    "[remember|please remember|note|keep in mind] that my {t} is {v}", "my {t}: {v}",
    "[ok|so|hello|hi], my {t} is {v}", "[just so you know|in case you need it], {v} is my {t}",
]  # fmt: skip
OWN_ASKED = [
    "what is my {t}", "what's my {t}", "[do you remember|do you know|remember|tell me|remind me of|"
    "say] my {t}", "which {t} did i [tell you|name|give you|mention]", "what was my {t}[ again|]",
    "[i forgot|i've forgotten|i forgot it already. what is] my {t}", "my {t}[, please|]",
    "[can|could] you [tell me|repeat|recall] my {t}", "what did i say my {t} [is|was]",
]  # fmt: skip
DAY_TOLD = [
    "the {t} is on {v}", "{v} is the day of the {t}", "[we have|there is] a {t} on {v}",
    "my {t} is on {v}", "the {t} was moved to {v}", "[remember|note|please note]: {t} on {v}",
]  # fmt: skip
DAY_ASKED = [
    "[when|on which day|what day|which day] is the {t}", "which day did i say the {t} is",
    "[tell me|remind me] when the {t} is", "when was the {t} again", "the {t} is when",
]  # fmt: skip
TIME_TOLD = [
    "the {t} starts at {v}", "the {t} is at {v}", "[we have|i have] a {t} at {v}", "{t} at {v}",
    "[please note|note|remember]: the {t} begins at {v}",
]  # fmt: skip
TIME_ASKED = [
    "[when|at what time] does the {t} [start|begin]", "when does the {t} start",
    "[tell me|remind me] [at what time|when] the {t} starts", "what time is the {t}",
]  # fmt: skip
PATTERNS = OWN_TOLD + OWN_ASKED + DAY_TOLD + DAY_ASKED + TIME_TOLD + TIME_ASKED
THINGS = [thing for listed in _OWN.values() for thing in listed.split(", ")] + _PLANNED


def told_thing(rng: Random) -> tuple[str, str, str]:
    """What is told, the question for it, the answer."""
    roll = rng.random()
    if roll < 0.7:
        kind = rng.choice(sorted(_OWN))
        thing = rng.choice(_OWN[kind].split(", "))
        told, asked, answer = OWN_TOLD, OWN_ASKED, "Your {t} is {v}."
    elif roll < 0.85:
        kind, thing = "day", rng.choice(_PLANNED)
        told, asked, answer = DAY_TOLD, DAY_ASKED, "The {t} is on {v}."
    else:
        kind, thing = "time", rng.choice(_PLANNED)
        told, asked, answer = TIME_TOLD, TIME_ASKED, "The {t} is at {v}."
    slots = {"t": thing, "v": str(_DRAW[kind](rng))}
    one, two = rng.choice(told), rng.choice(asked)
    return expand(one, rng, slots), expand(two, rng, slots), answer.format(**slots)
