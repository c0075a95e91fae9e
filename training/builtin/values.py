"""Random values for texts to be copied: names, codes, dates, amounts.

`words` holds plain ones. Nearly every value of `values` is new to the model, so that it learns to
copy letter by letter.
"""

from __future__ import annotations

import re
from functools import partial
from random import Random

from .recipes import Recipes

words = Recipes("words")
values = Recipes("values", words)

_OBSCENE = re.compile(
    "fuck|fuk|shit|cock|cunt|nigg|dick|porn|puss|whor|rape|slut|nazi|^(?:cum|nig|tit|ass|fag|fu[kx])s?$"
)


def _decent(recipes: Recipes, rng: Random) -> str:
    while _OBSCENE.search(word := recipes.untried(rng)):
        pass
    return str(word)


@words.add
def invented(rng: Random) -> str:
    """Return a made-up word: the model must copy it."""
    return _decent(words, rng)


@values.add
def made_up(rng: Random) -> str:
    """Return a word of two to four pieces that exists nowhere."""
    return _decent(values, rng)


@values.add
def number(rng: Random, digits: int = 6) -> int:
    """Return a number of one to `digits` figures; all lengths are equally likely."""
    length = rng.randint(1, digits)
    return rng.randint(10 ** (length - 1), 10**length - 1)


for _digits in (3, 4, 5):
    values.add(partial(number, digits=_digits), f"number{_digits}")


@values.add
def email_of(name: str, rng: Random) -> str:
    """Return an address made from a name, or from an unrelated word."""
    parts = name.lower().replace(".", "").split()
    roll = rng.random()
    if roll < 0.25:
        user = values.word(rng)
    elif roll < 0.5 or len(parts) == 1:
        user = parts[0] + (str(rng.randint(1, 99)) if rng.random() < 0.2 else "")
    elif roll < 0.8:
        user = rng.choice([".", "_", ""]).join(parts[:2])
    else:
        user = parts[0][0] + parts[1]
    return f"{user}@{values.host(rng)}"


@values.add
def email(rng: Random) -> str:
    """Return an address made from some name."""
    return email_of(values.person(rng), rng)
