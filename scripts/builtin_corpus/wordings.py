"""Says whether the generator's patterns can write a given sentence.

The tests use it to prove that no frozen question is a wording that the model was trained on.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random

from . import (
    choices,
    conversations,
    extraction,
    fact_questions,
    noise,
    refusals,
    sums,
    systems,
    tools,
    words,
)
from .facts import FACTS
from .grammar import normalise, to_regex

NUMBERS = {"a": r"\d+", "b": r"\d+", "k": r"\d+"}
_NAME = r"\w+(?: \w+)?"
OFF_TOPIC = {
    "topic": "(?:" + refusals.TOPICS + ")",
    **dict.fromkeys(["name", "city", "city2", "company", "thing", "day"], _NAME),
    **dict.fromkeys(["w", "w2"], "(?:" + "|".join(words.WORLD) + ")"),
}
LOOKUPS = {"a": "(?:" + "|".join(systems.ATTRIBUTES) + ")", "n": _NAME, "v": _NAME}
TOOLS = {
    **dict.fromkeys(["a", "b", "amount", "minutes", "people"], r"\d+"),
    **dict.fromkeys(["city", "name", "song", "text", "source", "target", "product", "room"], _NAME),
}
KINDS = {"w": r"\w+", "f": r"an? \w+", "s": r"an? \w+"}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(to_regex(pattern))


@cache
def _framed() -> list[tuple[str, list[str]]]:
    """Each frame with the phrases that may stand in it."""
    out: list[tuple[str, list[str]]] = []
    for kind, frames, ending in fact_questions.FRAMES:
        found = [p for fact in FACTS for p in fact_questions.phrases(fact, kind, ending)]
        out += [(frame, found) for frame in frames]
    return out


@cache
def _whole() -> list[re.Pattern[str]]:
    """Patterns of whole sentences, for every ability but extraction."""
    found = [to_regex(fact_questions.with_macros(p)) for fact in FACTS for p in fact.q]
    found += [
        to_regex(p, NUMBERS) for p in sums.ADD + sums.SUB + sums.MUL + sums.GAINS + sums.LOSSES
    ]
    found += [to_regex(p, TOOLS) for tool in tools.TOOLS for p in tool.asks]
    found += [to_regex(p, OFF_TOPIC) for p in refusals.OFF_TOPIC]
    found += [to_regex(p) for _, asks in conversations.SMALL_TALK for p in asks]
    found += [to_regex(p) for _, _, asks in conversations.FOLLOW for p in asks]
    found += [to_regex(p) for p in conversations.NAME_TELL + conversations.NAME_ASK]
    found += [to_regex(p) for p in conversations.REPEAT + conversations.SURE]
    found += [to_regex(p, NUMBERS) for p in conversations.MORE + conversations.LESS]
    found += [to_regex(p, LOOKUPS) for p in systems.LOOKUP]
    found += [to_regex(choices.COMPARE, NUMBERS), to_regex(choices.PARITY, NUMBERS)]
    found += [to_regex(choices.KIND, KINDS)]
    found += [
        to_regex(frame.replace("{q}", fact))
        for frame in choices.YES_NO
        for fact, _ in choices.YES_FACTS
    ]
    found += [
        to_regex(ask.replace("{text}", review))
        for ask in choices.SENTIMENT
        for review in choices.REVIEW
    ]
    return [re.compile(p) for p in found]


@cache
def _extraction() -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """Patterns of the tasks, and of the sentences from which values are taken."""
    fields = {key: r"\w+(?: \w+){0,2}" for make, _ in extraction.KINDS for key in make(Random(0))}
    tasks = [re.compile(r"\b" + to_regex(task) + r"\b") for task in extraction.TASKS]
    sentences = [
        re.compile(r"\b" + to_regex(p, fields) + r"\b")
        for _, texts in extraction.KINDS
        for p, _ in texts
    ]
    return tasks, sentences


def _extracts(text: str) -> bool:
    """A task of ours together with a sentence of ours, whatever else is around them."""
    tasks, sentences = _extraction()
    return any(p.search(text) for p in tasks) and any(p.search(text) for p in sentences)


def _contains(text: str) -> bool:
    if any(p.fullmatch(text) for p in _whole()) or _extracts(text):
        return True
    for frame, phrases in _framed():
        if _compiled(frame).fullmatch(text):
            for phrase in phrases:
                if _compiled(phrase).search(text) and _compiled(
                    frame.replace("{x}", phrase)
                ).fullmatch(text):
                    return True
    return False


def contains(text: str) -> bool:
    """Whether the generator can write this sentence, with or without its greetings and endings."""
    text = normalise(text)
    variants = {text}
    for pattern in noise.PREFIXES:
        found = re.match(to_regex(pattern), text)
        if found and found.end() < len(text):
            variants.add(text[found.end() :].strip())
    for pattern in noise.SUFFIXES:
        for variant in list(variants):
            found = re.fullmatch("(.+?)" + to_regex(pattern), variant)
            if found:
                variants.add(found.group(1).strip())
    return any(_contains(variant) for variant in variants)
