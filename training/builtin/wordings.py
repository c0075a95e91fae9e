"""A check of honesty: can the generator's patterns write a given sentence?

The tests use it to prove that the model was trained on no wording of a frozen question.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from random import Random

from . import (
    choices,
    conversations,
    extraction,
    extraction_everyday,
    extraction_layouts,
    extraction_marked,
    extraction_texts,
    facts,
    lookup_tables,
    noise,
    refusals,
    tools,
    tools_everyday,
    tools_more,
)
from .facts import FACTS
from .grammar import normalise, to_regex
from .tables import load
from .values import values, words

choices_everyday, choices_more, choices_wide = choices.everyday, choices.more_asked, choices.wide
T = load("honesty")
_NAME = T.MACROS["NAME"]


def _one_of(found: Iterable[str]) -> str:
    return "(?:" + "|".join(found) + ")"


def _macros() -> dict[str, str]:
    """Return regular expressions of words that come from several tables."""
    aliases = [*extraction_texts.T.ALIASES.values(), *extraction_everyday.ALIASES.values()]
    listed = [*choices.KINDS.values(), choices_everyday.THINGS]
    kinds = {name for k in choices.KINDS for name in [k, *choices_more.SAME.get(k, [])]}
    drawn = slots_of("drawn", T.MACROS)
    return {
        **T.MACROS,
        "KEY": _one_of(sorted({key for names in aliases for key in names.split()})),
        "WORD": _one_of(word for found in listed for word in found).lower(),
        "KIND": "(?:an? )?" + _one_of(sorted(kinds)),
        "ATTRIBUTE": _one_of(k.names for k in lookup_tables.ATTRIBUTES.values()),
        "TEXT": "(?:" + to_regex(tools.T.TEXT, drawn) + r"|\w+)",
        "QUERY": to_regex(tools.T.QUERY, drawn),
        "UNIT": _one_of(choices_more.UNITS),
        "RANK": _one_of(w for m in choices.T.MEASURES for w in ", ".join(m[2:]).split(", ")),
        "PLANNED": _one_of(map(normalise, conversations.THINGS)),
    }


def slots_of(name: str, macros: Mapping[str, str]) -> dict[str, str]:
    """Return the regular expressions of a group of slots; `{table.LIST}` is one of a list."""
    slots: dict[str, str] = {}
    for line in T.SLOTS[name]:
        if line.startswith("& "):
            slots |= slots_of(line[2:], macros)
            continue
        keys, regex = line.split(": ", 1)
        for macro in 2 * list(macros):  # a macro may hold another one
            regex = regex.replace("{" + macro + "}", macros[macro])
        regex = re.sub(
            r"\{(\w+)\.([A-Z_]+)\}", lambda m: _one_of(_listed(m[1], m[2])).lower(), regex
        )
        slots |= dict.fromkeys(keys.split(), regex)
    return slots


def _listed(table: str, sections: str) -> list[str]:
    return [entry for section in sections.split("+") for entry in getattr(load(table), section)]


SLOTS = {name: slots_of(name, _macros()) for name in T.SLOTS}
NUMBERS, KINDS, REVIEW, OFF_TOPIC = (SLOTS[key] for key in "numbers kinds review off_topic".split())


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(to_regex(pattern))


@cache
def _framed() -> list[tuple[str, list[str]]]:
    out: list[tuple[str, list[str]]] = []
    for kind, frames, ending in facts.FRAMES:
        found = [p for fact in FACTS for p in facts.phrases(fact, kind, ending)]
        out += [(frame, found) for frame in frames]
    return out


@cache
def _declined() -> list[tuple[re.Pattern[str], list[re.Pattern[str]]]]:
    return [
        (
            re.compile(to_regex(shape, OFF_TOPIC)),
            [re.compile(to_regex(shape.replace("{x}", wanted), OFF_TOPIC)) for wanted in phrases],
        )
        for shape, phrases in refusals.framed()
    ]


def _slots_of(tool: tools.Tool) -> dict[str, str]:
    kinds = {"integer": r"\d+", "string": r"\w+(?: \w+){0,2}"}
    return {key: kinds[param.type] for key, param in tool.params.items()}


@cache
def _whole() -> list[re.Pattern[str]]:
    """Return patterns of whole sentences, which need no text, table or phrase beside them."""
    found = [to_regex(facts.with_macros(p)) for fact in FACTS for p in fact.q]
    found += [to_regex(p) for patterns in facts.WORDINGS.values() for p in patterns]
    for row in T.WHOLE:
        sections, _, slots = row.partition(" ")
        found += [to_regex(p, SLOTS.get(slots)) for p in _listed(*sections.split("."))]
    found += [to_regex(p, SLOTS["tools"]) for tool in tools.TOOLS for p in tool.asks]
    found += [to_regex(p, _slots_of(tool)) for tool in tools_more.TOOLS for p in tool.asks]
    found += tools_everyday.patterns()
    found += [to_regex(p) for _, asks in conversations.SMALL_TALK for p in asks]
    found += [to_regex(p) for _, _, asks in conversations.FOLLOW for p in asks]
    start, again = conversations.TOLD_START, conversations.ASK_START
    for tell, ask, _ in conversations.T.TOLD.values():
        found += [to_regex(p, {"v": _NAME}) for p in (tell, start + tell, ask, again + ask)]
    daily = choices_everyday
    statements = [to_regex(fact) for fact, _ in choices.T.YES_FACTS]
    statements += [to_regex(fact, NUMBERS) for fact in [*choices.T.IS_PARITY, choices.T.IS_LARGER]]
    statements += [to_regex(fact, KINDS) for fact in choices.T.IS_KIND]
    found += [
        to_regex(frame, {"q": "(?:" + "|".join(statements) + ")"})
        for frame in [*choices.T.YES_NO, *daily.YES_NO, choices.BARE]
    ]
    found += [to_regex(choices.T.KIND, SLOTS["articles"])]
    for stated, asks in choices_wide.GIVEN.values():
        slots = {"s": to_regex(stated, SLOTS["given"]), "q": to_regex(asks, SLOTS["given"])}
        found += [to_regex(frame, slots) for frame in choices_wide.GIVEN_FRAMES]
    for word, (_, statement) in choices_more.WHO.items():
        who = {**SLOTS["people"], "c": word}
        for ask in choices_more.WHO_ASKS:
            found += [to_regex(ask.replace("{q}", statement), who)]
    for ask in choices.T.MEASURED_ASKS:
        found += [
            to_regex(ask.replace("{s}", told), SLOTS["things"]) for told in choices.T.MEASURED
        ]
    return [re.compile(p) for p in found]


@cache
def _reviewed() -> list[tuple[re.Pattern[str], str]]:
    """Return each shape of a question about a review, around any text and around our reviews."""
    daily = choices_everyday
    reviews = choices.T.PRAISE + choices.T.COMPLAINT
    one = "(?:" + "|".join(to_regex(p, REVIEW) for p in choices.T.REVIEW + reviews) + ")"
    two = "(?:" + "|".join(to_regex(p, REVIEW) for p in reviews) + ")"
    said = "(?:" + "|".join(to_regex(p, REVIEW) for p in daily.PRAISE + daily.COMPLAINT) + ")"
    text = f"(?:{one}(?: ?{two})?|{said}(?: ?{said})?)"
    shapes: list[tuple[str, dict[str, str]]] = [(ask, {}) for ask in choices.T.SENTIMENT]
    for group, asks in daily.SENTIMENT.items():
        label = "(?:" + "|".join(word for pair in daily.PAIRS[group] for word in pair) + ")"
        shapes += [(ask, {"a": label, "b": label}) for ask in asks]
    return [
        (re.compile(to_regex(ask, slots)), to_regex(ask, {**slots, "text": text}))
        for ask, slots in shapes
    ]


@cache
def _table_asks() -> list[re.Pattern[str]]:
    return [re.compile(to_regex(p, SLOTS["everyday"])) for p in lookup_tables.shapes()]


@cache
def _table_words() -> set[str]:
    rng = Random(0)
    found = {*lookup_tables.FIRST, *values.T.RARE, *values.T.GOODS, *values.T.ADJECTIVES, "the"}
    found |= {*values.T.SURNAMES, *words.T.CITIES, *words.T.THINGS, *words.T.COLOURS}
    for kind in lookup_tables.KINDS:
        found |= {word for _ in range(400) for word in str(lookup_tables.NAMES[kind](rng)).split()}
    return set(normalise(" ".join(found)).split())


@cache
def _open_names() -> re.Pattern[str]:
    def one(parts: list[str]) -> str:
        return "(?:" + "|".join(parts) + ")"

    made = f"{one(values.T.FRONTS)}{{1,3}}{one(values.T.BACKS)}"
    invented = f"(?:{one(words.T.STARTS)}{one(words.T.VOWELS)}){{1,3}}{one(words.T.ENDS)}"
    firm = f"(?:{made}|{invented}){one([f' {kind}'.lower() for kind in values.T.FIRM_KINDS])}?"
    return re.compile(rf"(?:the )?flight [a-z]{{1,2}} ?\d+|\d{{4}}|{firm}")


def _asks_a_table(text: str) -> bool:
    found = [match.groups() for p in _table_asks() if (match := p.fullmatch(text))]
    return any(all(map(_names_a_row, filter(None, groups))) for groups in found)


def _names_a_row(text: str) -> bool:
    return set(text.split()) <= _table_words() or bool(_open_names().fullmatch(text))


@cache
def _extraction() -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    keys = [key for kind, _ in extraction.KINDS for key in extraction.fields(kind)]
    fields = dict.fromkeys(keys, r"\w+(?: \w+){0,2}")
    tasks = [re.compile(r"\b" + to_regex(task) + r"\b") for task in extraction.T.TASKS]
    sentences = [
        re.compile(r"\b" + to_regex(p, fields) + r"\b")
        for _, texts in extraction.KINDS
        for p, _ in texts
    ]
    return tasks, sentences


_TEXT_MARK = "qqtextqq"


@cache
def _wide_extraction() -> tuple[list[tuple[re.Pattern[str], str]], list[re.Pattern[str]]]:
    """Return frames around a marked sentence, and the sentences."""
    aliases = [*extraction_texts.T.ALIASES.values(), *extraction_everyday.ALIASES.values()]
    known = {*extraction_everyday.ALIASES, *" ".join(aliases).split()}
    marked = [field for text in extraction_marked.TEXTS for field in text.fields]
    known |= {name for field in marked for name in field.names}
    known |= {a.replace("_", "") for a in known}
    known |= set("the and type object properties required string integer number".split())
    known |= {"str", "int", "float", "a", "text", "numeric", "0", "false", "additionalproperties"}
    keys = r"(?:(?:" + "|".join(sorted(known)) + r")\b ?)+"
    text = rf"(?:\w+ ){{0,2}}{_TEXT_MARK}(?: \w+){{0,2}}"
    named = "schema keys plain prose the quoted typed".split()
    around = {"text": text, **dict.fromkeys(named, r"[\w ]+")}
    whole = {"text": text, **dict.fromkeys(named, keys)}
    asks = [frames.keys + frames.schemas for frames in extraction_layouts.ALL]
    frames = [
        (re.compile(to_regex(p, around)), to_regex(p, whole)) for found in asks for p in found
    ]
    frames.append((re.compile(text), text))
    sentences = []
    for module in (extraction_texts, extraction_everyday):
        for fields, patterns in module.TEXTS.values():
            for p in patterns:
                slots = {field: module.regex_of(drawer, p) for field, drawer in fields.items()}
                sentences.append(rf"\b{to_regex(p, slots)}\b")
    sentences += [text.regex() for text in extraction_marked.TEXTS]
    return frames, [re.compile(p) for p in sentences]


def _extracts_widely(text: str) -> bool:
    """Return True for a sentence of ours, give or take two words, in a frame of ours."""
    frames, sentences = _wide_extraction()
    for sentence in sentences:
        for found in sentence.finditer(text):
            if found.group(0).count(" ") < 2:
                continue
            marked = f"{text[: found.start()]} {_TEXT_MARK} {text[found.end() :]}"
            marked = " ".join(marked.split())
            for around, whole in frames:
                if around.fullmatch(marked) and re.compile(whole).fullmatch(marked):
                    return True
    return False


def _extracts(text: str) -> bool:
    if _extracts_widely(text):
        return True
    covered = 0
    for patterns in _extraction():
        spans = [found.end() - found.start() for p in patterns if (found := p.search(text))]
        covered += max(spans, default=-len(text))
    return covered >= 0.8 * len(text)


def _contains(text: str) -> bool:
    if any(p.fullmatch(text) for p in _whole()) or _asks_a_table(text) or _extracts(text):
        return True
    for around, whole in _reviewed():
        if around.fullmatch(text) and re.compile(whole).fullmatch(text):
            return True
    for shape, filled in _declined():
        if shape.fullmatch(text) and any(p.fullmatch(text) for p in filled):
            return True
    for frame, phrases in _framed():
        if _compiled(frame).fullmatch(text):
            for phrase in phrases:
                if _compiled(phrase).search(text) and _compiled(
                    frame.replace("{x}", phrase)
                ).fullmatch(text):
                    return True
    return False


def behind(patterns: list[str], text: str) -> set[str]:
    """Return the rests of a text behind each of its starts that a pattern writes."""
    words_found = text.split()
    found = [_compiled(pattern) for pattern in patterns]
    return {
        " ".join(words_found[at:])
        for at in range(1, min(len(words_found), 12))
        if any(p.fullmatch(" ".join(words_found[:at])) for p in found)
    }


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection, which would take four times as long as compiling the patterns."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def contains(text: str) -> bool:
    """Return True if the generator can write this sentence, greetings and endings aside."""
    text = normalise(text)
    variants = {text}
    for patterns in (conversations.LEAD_INS, noise.T.PREFIXES):
        variants |= {rest for variant in variants for rest in behind(patterns, variant)}
    for pattern in noise.T.SUFFIXES:
        for variant in list(variants):
            found = re.fullmatch("(.+?)" + to_regex(pattern), variant)
            if found:
                variants.add(found.group(1).strip())
    with _no_collection():
        return any(_contains(variant) for variant in variants)
