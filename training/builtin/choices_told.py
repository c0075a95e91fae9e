"""Choices over facts that the question itself states: ages, amounts, times."""

from __future__ import annotations

from random import Random

from . import values, words
from .grammar import articles, expand, written
from .tables import load

more_asked = load("choices_more")
wide = load("choices_wide")

T = load("choices_told")


def who(rng: Random) -> tuple[str, str]:
    """Ask for the older, taller or richer of two people."""
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
    """Ask for the larger of two lengths, weights or prices."""
    word = rng.choice(list(more_asked.UNITS))
    wanted, units = more_asked.UNITS[word]
    a, b = rng.sample(range(1, 100), 2)
    unit = rng.choice(units.split())
    best = max(a, b) if wanted == "more" else min(a, b)
    slots = {"a": str(a), "b": str(b), "c": word, "u": unit}
    return expand(rng.choice(more_asked.UNIT_ASKS), rng, slots), f"{best} {unit}"


def when(rng: Random) -> tuple[str, str]:
    """Ask for the earlier of two times, years or months."""
    kind = rng.randrange(4)
    if kind == 0:
        a, b = rng.sample(range(24), 2)
        texts = [f"{hour:02d}:{rng.randrange(60):02d}" for hour in sorted((a, b))]
    elif kind == 1:
        texts = [str(year) for year in sorted(rng.sample(range(1800, 2040), 2))]
    elif kind == 2:
        texts = [words.T.MONTHS[at] for at in sorted(rng.sample(range(12), 2))]
    else:
        texts = [words.T.DAYS[at] for at in sorted(rng.sample(range(7), 2))]
    early = rng.random() < 0.5
    x, y = rng.sample(texts, 2)
    order = rng.choice(["first", "before"] if early else ["last", "later", "after"])
    slots = {"a": x, "b": y, "c": "earlier" if early else "later", "d": order}
    return expand(rng.choice(more_asked.WHEN), rng, slots), texts[0 if early else 1]


# What is told of a thing, the unit, and the words for more and for less of it.


def which_thing(rng: Random) -> tuple[str, str]:
    """Ask for the larger or smaller of two things."""
    verb, unit, more, less = rng.choice(T.MEASURES)
    same = rng.random() < 0.3  # the red pen, the blue pen
    if same:
        noun = rng.choice(values.T.GOODS)
        x, y = (f"{colour} {noun}" for colour in rng.sample(words.T.COLOURS, 2))
    else:
        x, y = rng.sample([word for word in values.T.GOODS if word[0] not in "aeiou"], 2)
    a, b = rng.sample(range(2, 100), 2)
    wants_more = rng.random() < 0.5
    word = rng.choice((more if wants_more else less).split(", "))
    verb, unit = expand(verb, rng), expand(unit, rng)
    slots = {"x": x, "y": y, "a": str(a), "b": str(b), "u": unit, "v": verb, "c": word}
    told = expand(rng.choice(T.MEASURED), rng, slots)
    text = expand(rng.choice(T.MEASURED_ASKS), rng, {**slots, "s": told})
    return articles(text), x if (a > b) == wants_more else y


_GIVEN_VALUES = {
    "city": words.T.CITIES, "job": words.T.JOBS, "day": words.T.DAYS, "colour": words.T.COLOURS,
    "animal": [w for w in words.T.ANIMALS if w[0] not in "aeiou"],
    "number": [str(age) for age in range(2, 99)],
}  # fmt: skip


def given(rng: Random) -> tuple[str, str]:
    """Ask yes or no about a statement in the question."""
    kind = rng.choice(sorted(wide.GIVEN))
    stated, asked = rng.sample(_GIVEN_VALUES[kind], 2)
    value = rng.random() < 0.5
    slots = {
        "n": values.first_name(rng),
        "t": rng.choice(words.T.THINGS),
        "v": stated,
        "u": stated if value else asked,
    }
    statement, question = wide.GIVEN[kind]
    parts = {
        "s": articles(expand(statement, rng, slots)),
        "q": articles(expand(question, rng, slots)),
    }
    return written(rng.choice(wide.GIVEN_FRAMES), rng, parts), "Yes" if value else "No"
