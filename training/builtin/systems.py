"""System prompts: none, short, and long ones built of project text, with records to look up.

Long ones keep the model accurate in shared-prefix demonstrations, behind a thousand tokens of
rules.
"""

from __future__ import annotations

from random import Random

from .facts import FACTS
from .grammar import expand
from .recipes import Recipes
from .values import words

_DRAW = Recipes("systems", words)
T = _DRAW.T


def rule(rng: Random) -> str:
    """Return a sentence of filler."""
    pattern = rng.choice(T.RULES)
    text = expand(pattern, rng, _DRAW.slots("rule_slots", rng))
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
        attribute = rng.choice(T.ATTRIBUTES)
        value = str(_DRAW[attribute](rng))
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
