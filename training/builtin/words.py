"""Word lists for the task modules: names, places, things, invented words."""

from __future__ import annotations

import re
from random import Random

from .tables import load

T = load("words")

# Words that say nothing about which project fact is meant: strewn into questions as noise.
# Things of the wide world that the model knows nothing of: for requests to decline.


_OBSCENE = re.compile(
    "fuck|fuk|shit|cock|cunt|nigg|dick|porn|puss|whor|rape|slut|nazi|^(?:cum|nig|tit|ass|fag|fu[kx])s?$"
)


def obscene(word: str) -> bool:
    """Return True if a made-up word is or holds an obscene one."""
    return bool(_OBSCENE.search(word))


def invented(rng: Random) -> str:
    """Return a made-up word: the model must copy it."""
    while True:
        word = "".join(
            rng.choice(T.STARTS) + rng.choice(T.VOWELS) for _ in range(rng.randint(1, 3))
        ) + rng.choice(T.ENDS)
        if not obscene(word):
            return word


def person(rng: Random) -> str:
    """Return a first name, sometimes with a surname, sometimes invented."""
    first = rng.choice(T.NAMES) if rng.random() < 0.85 else invented(rng).capitalize()
    return first if rng.random() < 0.7 else f"{first} {invented(rng).capitalize()}"


def city(rng: Random) -> str:
    return rng.choice(T.CITIES) if rng.random() < 0.85 else invented(rng).capitalize()


def company(rng: Random) -> str:
    return rng.choice(T.COMPANIES) if rng.random() < 0.85 else invented(rng).capitalize()


def thing(rng: Random) -> str:
    """Return something to buy: a thing, a coloured thing or an invented word."""
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(T.THINGS)
    if roll < 0.92:
        return f"{rng.choice(T.COLOURS)} {rng.choice(T.THINGS)}"
    return invented(rng)


def email(rng: Random) -> str:
    user = rng.choice(T.NAMES).lower() if rng.random() < 0.6 else invented(rng)
    return f"{user}@{rng.choice(['example.com', 'example.org', 'mail.example', 'test.example'])}"
