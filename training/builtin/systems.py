"""System prompts: none, short, and long ones built of project text, with records to look up.

Long ones keep the model accurate in shared-prefix demonstrations, behind a thousand tokens of
rules.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import words
from .facts import FACTS
from .grammar import expand
from .tables import load

T = load("systems")

ATTRIBUTES: dict[str, Callable[[Random], str]] = {
    "room": lambda r: str(r.randint(1, 499)), "desk": lambda r: str(r.randint(1, 99)),
    "code": lambda r: str(r.randint(1000, 9999)), "colour": lambda r: r.choice(words.T.COLOURS),
    "city": words.city, "pet": lambda r: r.choice(words.T.ANIMALS),
    "fruit": lambda r: r.choice(words.T.FRUITS), "job": lambda r: r.choice(words.T.JOBS),
    "badge": words.invented, "day": lambda r: r.choice(words.T.DAYS),
    "password": words.invented, "phone": lambda r: str(r.randint(100, 999)),
}  # fmt: skip


def rule(rng: Random) -> str:
    """Return a sentence of filler."""
    text = expand(rng.choice(T.RULES), rng, {
        "k": str(rng.randint(2, 60)), "city": words.city(rng), "company": words.company(rng),
        "day": rng.choice(words.T.DAYS), "month": rng.choice(words.T.MONTHS),
        "thing": words.thing(rng),
        "colour": rng.choice(words.T.COLOURS), "name": words.person(rng),
        "job": rng.choice(words.T.JOBS),
        "animal": rng.choice(words.T.ANIMALS),
    })  # fmt: skip
    return text[:1].upper() + text[1:] + "."


def records(rng: Random, n: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return sentences about attributes of people, and questions with answers."""
    lines, pairs = [], []
    people: set[str] = set()
    for _ in range(n):
        name = words.person(rng)
        if name.split()[0] in people:
            continue
        people.add(name.split()[0])
        attribute = rng.choice(sorted(ATTRIBUTES))
        value = ATTRIBUTES[attribute](rng)
        slots = {"a": attribute, "n": name, "v": value}
        line = expand(T.RECORD, rng, slots)
        lines.append(line[:1].upper() + line[1:] + ".")
        question = expand(rng.choice(T.LOOKUP), rng, slots)
        pairs.append((question, f"The {attribute} of {name} is {value}."))
    return lines, pairs


def long_prompt(rng: Random, words_wanted: int) -> tuple[str, list[tuple[str, str]]]:
    """Return a system prompt of about that many words, and look-ups that it answers."""
    lines, pairs = records(rng, rng.randint(2, 8))
    total = sum(len(line.split()) for line in lines)
    facts_share = rng.choice([0.0, 0.2, 0.5])
    while total < words_wanted:
        line = rng.choice(FACTS).answer if rng.random() < facts_share else rule(rng)
        lines.append(line)
        total += len(line.split())
    rng.shuffle(lines)
    glue = rng.choice([" ", "\n", "\n- "])
    head = rng.choice([*T.SHORT, "Notes:", "Handbook of the team.", "Rules and records:"])
    return head + ("\n" if glue != " " else " ") + glue.join(lines).lstrip(), pairs
