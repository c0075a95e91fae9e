"""Choices over what the question itself tells: ages, amounts, times, a statement.

Called by `choices.py`.
"""

from __future__ import annotations

from random import Random

from . import asked_choices_more as more_asked
from . import asked_choices_wide as wide
from . import values, words
from .grammar import articles, expand, written


def who(rng: Random) -> tuple[str, str]:
    """Who of two is older, taller, richer."""
    word = rng.choice(list(more_asked.WHO))
    wanted, statement = more_asked.WHO[word]
    a, b = rng.sample(range(2, 100), 2)
    x, y = values.first_name(rng), values.first_name(rng)
    while x == y:
        y = values.first_name(rng)
    slots = {"x": x, "y": y, "a": str(a), "b": str(b), "c": word}
    text = expand(rng.choice(more_asked.WHO_ASKS), rng, {"q": expand(statement, rng)})
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text, x if (a > b) == (wanted == "more") else y


def unit(rng: Random) -> tuple[str, str]:
    """Which of two lengths, weights or prices is more."""
    word = rng.choice(list(more_asked.UNITS))
    wanted, units = more_asked.UNITS[word]
    a, b = rng.sample(range(1, 100), 2)
    unit = rng.choice(units.split())
    best = max(a, b) if wanted == "more" else min(a, b)
    slots = {"a": str(a), "b": str(b), "c": word, "u": unit}
    return expand(rng.choice(more_asked.UNIT_ASKS), rng, slots), f"{best} {unit}"


def when(rng: Random) -> tuple[str, str]:
    """Which of two times, years or months is earlier."""
    kind = rng.randrange(4)
    if kind == 0:
        a, b = rng.sample(range(24), 2)
        texts = [f"{hour:02d}:{rng.randrange(60):02d}" for hour in sorted((a, b))]
    elif kind == 1:
        texts = [str(year) for year in sorted(rng.sample(range(1800, 2040), 2))]
    elif kind == 2:
        texts = [words.MONTHS[at] for at in sorted(rng.sample(range(12), 2))]
    else:
        texts = [words.DAYS[at] for at in sorted(rng.sample(range(7), 2))]
    early = rng.random() < 0.5
    x, y = rng.sample(texts, 2)
    order = rng.choice(["first", "before"] if early else ["last", "later", "after"])
    slots = {"a": x, "b": y, "c": "earlier" if early else "later", "d": order}
    return expand(rng.choice(more_asked.WHEN), rng, slots), texts[0 if early else 1]


_GIVEN_VALUES = {
    "city": words.CITIES, "job": words.JOBS, "day": words.DAYS, "colour": words.COLOURS,
    "animal": [w for w in words.ANIMALS if w[0] not in "aeiou"],
    "number": [str(age) for age in range(2, 99)],
}  # fmt: skip


def given(rng: Random) -> tuple[str, str]:
    """Yes or no about a statement that comes with the question."""
    kind = rng.choice(sorted(wide.GIVEN))
    stated, asked = rng.sample(_GIVEN_VALUES[kind], 2)
    value = rng.random() < 0.5
    slots = {
        "n": values.first_name(rng),
        "t": rng.choice(words.THINGS),
        "v": stated,
        "u": stated if value else asked,
    }
    statement, question = wide.GIVEN[kind]
    parts = {
        "s": articles(expand(statement, rng, slots)),
        "q": articles(expand(question, rng, slots)),
    }
    return written(rng.choice(wide.GIVEN_FRAMES), rng, parts), "Yes" if value else "No"
