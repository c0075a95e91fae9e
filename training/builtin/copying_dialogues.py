"""Facts told once, and several questions about them: look-ups, places in a list, keys and values.

Each question is one more lesson on the same text, so a token here teaches more than in a drill.
"""

from __future__ import annotations

import json
from random import Random

from . import copying
from .copying import item
from .extraction import aside, filled_lines
from .grammar import expand_lines
from .tables import load
from .values import values

T = load("copying_dialogues")

Pair = tuple[str, str]

HEADS = ["", "", "", "[notes|list|records|know|given|read|here is the list|what we know][: |:\n]"]
PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}


def _distinct(rng: Random, number: int, draw: str = "item") -> list[str]:
    """Return words without a common start or end, so that a question means one of them."""
    found: list[str] = []
    while len(found) < number:
        new = item(rng) if draw == "item" else values.first_name(rng)
        if not any(new.lower() in old.lower() or old.lower() in new.lower() for old in found):
            found.append(new)
    return found


def _asked(patterns: list[str], rng: Random, **slots: str) -> str:
    """Return a question with a usual ending, or none."""
    text = filled_lines(rng.choice(patterns), rng, slots)
    return text + rng.choice(["", "?", "?", "?"])


def _records(rng: Random) -> tuple[str, list[Pair]]:
    """Return people with one to three things each, and questions in both directions."""
    people = _distinct(rng, rng.randint(2, 6), "name")
    attributes = rng.sample(copying.T.ATTRIBUTES, rng.choice([1, 1, 2, 3]))
    held: dict[tuple[str, str], str] = {}
    for attribute in attributes:
        for name, value in zip(people, _distinct(rng, len(people)), strict=True):
            held[name, attribute] = value
    pattern = rng.choice(copying.LINE)
    lines = [
        filled_lines(
            pattern if rng.random() < 0.7 else rng.choice(copying.LINE),
            rng,
            {"a": a, "n": n, "v": v},
        )
        for (n, a), v in held.items()
    ]
    if rng.random() < 0.5:
        rng.shuffle(lines)
    if rng.random() < 0.3:
        lines.insert(rng.randint(0, len(lines)), filled_lines(aside(rng), rng, {}))
    text = expand_lines(rng.choice(HEADS), rng)
    text += rng.choice([". ", ". ", "\n", "; ", ", "]).join(lines)
    pairs: list[Pair] = []
    last = ""
    for (n, a), v in rng.sample(sorted(held.items()), min(len(held), rng.randint(2, 7))):
        if rng.random() < 0.25:
            pairs.append((_asked(T.OWNER, rng, a=a, n=n, v=v), n))
            last = ""
        else:
            short = last == a and rng.random() < 0.6
            pairs.append((_asked(T.AGAIN if short else T.ASKED, rng, a=a, n=n, v=v), v))
            last = a
    return text, pairs


def _places(rng: Random) -> tuple[str, list[Pair]]:
    """Return a list of words, and questions for the first, last, next and previous one."""
    row = _distinct(rng, rng.randint(3, 9))
    text = rng.choice(["", "", "words: ", "list: ", "my list: "])
    text += rng.choice([" ", ", ", ", ", "\n"]).join(row)
    pairs: list[Pair] = []
    for _ in range(rng.randint(2, 6)):
        roll, at = rng.random(), rng.randrange(len(row) - 1)
        if roll < 0.45:
            pairs.append((_asked(T.AFTER, rng, x=row[at]), row[at + 1]))
        elif roll < 0.7:
            pairs.append((_asked(T.BEFORE, rng, x=row[at + 1]), row[at]))
        else:
            place = rng.choice(list(PLACES))
            pairs.append((_asked(T.PLACE, rng, w=place), row[PLACES[place]]))
    return text, pairs


def _keys(rng: Random) -> tuple[str, list[Pair]]:
    """Return meaningless keys and values, and requests for parts of them as JSON."""
    keys = _distinct(rng, rng.randint(2, 6))
    held: dict[str, str | int] = {
        key.lower().replace(" ", "_"): values.number(rng, 5) if rng.random() < 0.3 else value
        for key, value in zip(keys, _distinct(rng, len(keys)), strict=True)
    }
    style = rng.choice(["{k} is {v}", "{k}: {v}", "{k} = {v}", "the {k} is {v}", "{k} {v}"])
    text = rng.choice([", ", ". ", "\n", "; "]).join(
        style.replace("{k}", k).replace("{v}", str(v)) for k, v in held.items()
    )
    pairs: list[Pair] = []
    for _ in range(rng.randint(2, 4)):
        asked = rng.sample(list(held), rng.randint(1, min(3, len(held))))
        question = filled_lines(rng.choice(T.KEYED), rng, {"k": ", ".join(asked)})
        pairs.append((question, json.dumps({k: held[k] for k in asked}, ensure_ascii=False)))
    return text, pairs


def sample(rng: Random) -> tuple[str | None, list[Pair]]:
    """Return a system prompt (or None), and questions with answers; the first may hold the text."""
    make = rng.choices([_records, _places, _keys], [6, 2, 2])[0]
    text, pairs = make(rng)
    roll = rng.random()
    if roll < 0.4:
        return text + rng.choice(["", "."]), pairs
    (first, answer), *rest = pairs
    mark = rng.choice([". ", "\n", "\n"])
    told = f"{text}{mark}{first}" if roll < 0.85 else f"{first}\n{text}"
    return None, [(told, answer), *rest]
