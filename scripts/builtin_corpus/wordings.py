"""Says whether the generator's patterns can write a given sentence.

The tests use it to prove that no frozen question is a wording that the model was trained on.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random

from . import (
    asked,
    asked_choices,
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

_NAME = r"\w+(?: \w+)?"
NUMBERS = {**dict.fromkeys("abck", r"\b\d+\b"), "w": r"\w+", "s": r"\w+"}
_FIGURE = r"(?:\d+|" + "|".join(sums.SPELLED) + ")"
SUMS = {**dict.fromkeys(["a", "b"], _FIGURE), **dict.fromkeys(["p", "n", "n2", "r"], _NAME),
        **dict.fromkeys(["t", "d", "d2"], r"\w+")}  # fmt: skip
OFF_TOPIC = {
    "topic": "(?:" + refusals.TOPICS + ")",
    **dict.fromkeys(["name", "city", "city2", "company", "thing"], _NAME),
    **dict.fromkeys(["day", "month", "fruit", "animal", "k"], r"\w+"),
    **dict.fromkeys(["w", "w2"], "(?:" + "|".join(words.WORLD) + ")"),
}
LOOKUPS = {"a": "(?:" + "|".join(systems.ATTRIBUTES) + ")", "n": _NAME, "v": _NAME}
_DRAWN = {
    **dict.fromkeys(["n", "c", "c2", "i", "i2"], _NAME),
    **dict.fromkeys(["a", "t", "f", "j", "k", "l"], r"\w+"),
    **dict.fromkeys(["w", "w2"], "(?:" + "|".join(words.WORLD) + ")"),
    "t": "(?:" + "|".join(words.THINGS) + ")",
}
TOOLS = {
    **dict.fromkeys(["a", "b", "amount", "minutes", "people"], r"\d+"),
    **dict.fromkeys(["city", "name", "song", "text", "product", "room"], _NAME),
    "source": "(?:euros|dollars|pounds|yen|francs)",
    "target": "(?:rupees|kronor|pesos|lira|zloty)",
    **dict.fromkeys(["text", "task"], "(?:" + to_regex(tools.TEXT, _DRAWN) + r"|\w+)"),
    "query": to_regex(tools.QUERY, _DRAWN),
    "time": r"\d+ \d+",
    "path": r"\w+ (?:txt|md|csv|log)",
    "day": "(?:" + "|".join(words.DAYS).lower() + ")",
    "language": "(?:" + "|".join(words.LANGUAGES).lower() + ")",
}
REVIEW = dict.fromkeys(["thing", "word", "word2"], r"\w+")
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
    found += [to_regex(p) for patterns in asked.WORDINGS.values() for p in patterns]
    found += [to_regex(p, SUMS) for p in sums.ADD + sums.SUB + sums.MUL + sums.GAINS + sums.LOSSES]
    found += [to_regex(p, TOOLS) for tool in tools.TOOLS for p in tool.asks]
    found += [to_regex(p, OFF_TOPIC) for p in refusals.OFF_TOPIC]
    found += [to_regex(p) for _, asks in conversations.SMALL_TALK for p in asks]
    found += [to_regex(p) for _, _, asks in conversations.FOLLOW for p in asks]
    found += [to_regex(p, {"n": _NAME}) for p in conversations.NAME_TELL + conversations.NAME_ASK]
    found += [to_regex(p) for p in conversations.REPEAT + conversations.SURE]
    found += [to_regex(p, NUMBERS) for p in conversations.MORE + conversations.LESS]
    found += [to_regex(p, LOOKUPS) for p in systems.LOOKUP]
    found += [
        to_regex(p, NUMBERS) for p in choices.COMPARES + choices.PARITIES + asked_choices.EXTREME
    ]
    found += [to_regex(choices.KIND, KINDS)]
    found += [
        to_regex(frame.replace("{q}", fact))
        for frame in choices.YES_NO
        for fact, _ in choices.YES_FACTS
    ]
    found += [
        to_regex(frame.replace("{q}", fact), KINDS if "{f}" in fact else NUMBERS)
        for frame in choices.YES_NO
        for fact in [*choices.IS_PARITY, choices.IS_LARGER, choices.IS_KIND]
    ]
    reviews = asked_choices.PRAISE + asked_choices.COMPLAINT
    one = "(?:" + "|".join(to_regex(p, REVIEW) for p in choices.REVIEW + reviews) + ")"
    two = "(?:" + "|".join(to_regex(p, REVIEW) for p in reviews) + ")"
    found += [to_regex(ask, {"text": f"{one}(?: ?{two})?"}) for ask in choices.SENTIMENT]
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
    """A task of ours and a sentence of ours that make up nearly all of the text together."""
    covered = 0
    for patterns in _extraction():
        spans = [found.end() - found.start() for p in patterns if (found := p.search(text))]
        covered += max(spans, default=-len(text))
    return covered >= 0.8 * len(text)


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
