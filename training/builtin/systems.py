"""System prompts: rules with records to look up, or a place of work with its table.

`corpus` puts questions about the table between those of other kinds, or sends raw messages under a
prompt that sets one task for all of them (text to JSON, a label, yes or no).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from . import choices, extraction, extraction_marked
from . import extraction_layouts as layouts
from .extraction_texts import SLOT, TEXTS, drawn
from .extraction_texts import T as TEXT_TABLE
from .facts import FACTS
from .grammar import articles, expand, expand_lines
from .lookup_tables import FIRST, T, Table
from .recipes import Recipes
from .values import values, words

Pair = tuple[str, str]
_DRAW = Recipes("systems_everyday_texts", values)
_PLAIN = Recipes("systems", words)
SHORT = _PLAIN.T.SHORT


def rule(rng: Random) -> str:
    """Return a sentence of filler."""
    pattern = rng.choice(_PLAIN.T.RULES)
    text = expand(pattern, rng, _PLAIN.slots("rule_slots", rng))
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
        attribute = rng.choice(_PLAIN.T.ATTRIBUTES)
        value = str(_PLAIN[attribute](rng))
        slots = {"a": attribute, "n": name, "v": value}
        line = expand(_PLAIN.T.RECORD, rng, slots)
        lines.append(line[:1].upper() + line[1:] + ".")
        question = expand(rng.choice(_PLAIN.T.LOOKUP), rng, slots)
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
    head = rng.choice([*_PLAIN.T.SHORT, "Notes:", "Handbook of the team.", "Rules and records:"])
    return head + ("\n" if glue != " " else " ") + glue.join(lines).lstrip(), pairs


def _filled(pattern: str, rng: Random, name: str) -> str:
    text = expand(pattern, rng, _DRAW.slots("slots", rng, name=name))
    return text[:1].upper() + text[1:] + "."


class Setting(NamedTuple):
    """A place of work: the assistant's role, its tables (kind and columns), and paragraphs."""

    role: str
    tables: list[tuple[str, str]]
    paragraphs: list[str]


def _setting(role: str, tables: str, *paragraphs: str) -> Setting:
    pairs = [part.split(": ") for part in tables.split(" | ")]
    return Setting(role, [(kind, columns) for kind, columns in pairs], list(paragraphs))


SETTINGS = {key: _setting(*lines) for key, lines in _DRAW.T.SETTINGS.items()}
_COMMON = _DRAW.T.COMMON.split("\n")


def _notes(setting: str, number: int, names: Callable[[], str], rng: Random) -> list[str]:
    """Return sentences of the setting and general ones, about `number` words in all."""
    own = rng.sample(SETTINGS[setting].paragraphs, len(SETTINGS[setting].paragraphs))
    common = rng.sample(_COMMON, len(_COMMON))
    found: list[str] = []
    total = 0
    while total < number and (own or common):
        pool = own if own and (not common or rng.random() < 0.6) else common
        found.append(_filled(pool.pop(), rng, names()))
        total += len(found[-1].split())
    return found


def _joined(head: str, notes: list[str], block: str, rng: Random) -> str:
    """Join head, notes (paragraphs or bullets) and block, in a random order."""
    style = rng.randrange(4)
    if style == 0:
        parts = ["- " + note for note in notes]
        glue = "\n"
    elif style == 1:
        parts, glue = notes, "\n"
    else:
        parts, glue = [], "\n\n" if style == 2 else "\n"
        rest = list(notes)
        while rest:
            size = rng.randint(2, 5)
            parts.append(" ".join(rest[:size]))
            rest = rest[size:]
    at = rng.choice([0, len(parts), rng.randint(0, len(parts))])
    around = rng.choice(["\n\n", "\n"])
    before, after = glue.join(parts[:at]), glue.join(parts[at:])
    return around.join(part for part in (head, before, block, after) if part)


def prompt(rng: Random, number: int) -> tuple[str, Table]:
    """Return a system prompt of about `number` words, and its table."""
    setting = rng.choice(sorted(SETTINGS))
    role, tables, _ = SETTINGS[setting]
    kind, columns = rng.choice(tables)
    attributes = columns.split()
    if len(attributes) > 1:
        rng.shuffle(attributes)
        attributes = attributes[: rng.randint(1, len(attributes))]
    rows = rng.randint(3, 6 if number < 60 else 15)
    table = Table(kind, attributes, rows, rng)
    head = _filled(role, rng, table.stranger(rng))
    if rng.random() < 0.1:
        head = rng.choice(["", "Notes for the desk.", "Handbook.", "What you need to know:"])
    block = table.written(rng)
    left = number - len(block.split()) - len(head.split())
    notes = _notes(setting, left, lambda: table.stranger(rng), rng)
    return _joined(head, notes, block, rng), table


def runs(table: Table, number: int, rng: Random) -> list[list[Pair]]:
    """Return runs of distinct questions about the table."""
    found: list[list[Pair]] = []
    seen: set[str] = set()
    for _ in range(number):
        run = table.run(rng)
        if run[0][1] not in seen:
            seen |= {answer for _, answer in run}
            found.append(run)
    return found


# Prompts that set one task for all messages.


def _text_with(kind: str, fields: list[str], rng: Random) -> tuple[str, layouts.Record] | None:
    """Return a text of that kind with the given fields, and all of its fields."""
    patterns = TEXTS[kind][1]
    record = drawn(kind, rng)
    slots = {field: str(value) for field, value in record.items()}
    parts: list[str] = []
    stated: list[str] = []
    for pattern in rng.sample(patterns, min(len(patterns), 12)):
        chosen = expand_lines(pattern, rng)
        found = [f for f in dict.fromkeys(SLOT.findall(chosen)) if f not in stated]
        if not found or (fields and not set(found) & set(fields)):
            continue
        parts.append(extraction.filled_lines(chosen, rng, slots))
        stated += found
        if set(fields) <= set(stated):
            break
    if len(parts) > 3 or not set(fields) <= set(stated):
        return None
    extraction.add_aside(parts, 0.25, rng)
    text = rng.choice([". ", ". ", ".\n"]).join(parts) + rng.choice([".", ".", "", "!"])
    return text, {field: record[field] for field in stated}


def _asked_to_file(one: layouts.Record, rng: Random) -> str:
    """Return an instruction that asks for objects like this one."""
    slots = {"keys": layouts.listed_keys(one, rng), "schema": layouts.schema_text(one, rng)}
    frames = T.READS if rng.random() < 0.6 else layouts.PLAIN.system
    return extraction.framed(rng.choice(frames), rng, slots) + "."


def _types(one: layouts.Record) -> list[str]:
    return [layouts.json_type(value) for value in one.values()]


def _filing_one_kind(rng: Random) -> tuple[str, list[Pair]]:
    """Return an instruction and texts of one kind with their objects."""
    marked = rng.choice(extraction_marked.TEXTS)
    first = marked.stated(rng)[1]
    fields = rng.sample(list(first), min(len(first), rng.choice([1, 2, 2, 3, 3, 4])))
    names = [extraction.key_name(field, rng, first, marked.known) for field in fields]
    pairs: list[Pair] = []
    types: list[str] = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        text, stated = marked.stated(rng)
        one = {name: stated[field] for name, field in zip(names, fields, strict=True)}
        if not pairs or _types(one) == types:  # else a schema of the one would not fit the other
            pairs.append((text, json.dumps(one, ensure_ascii=False)))
            asked, types = _asked_to_file(one, rng), _types(one)
    return asked, pairs


def _filing(rng: Random) -> tuple[str, list[Pair]]:
    """Return an instruction to extract JSON, and texts with their objects."""
    if rng.random() < 0.6:
        return _filing_one_kind(rng)
    while True:
        kind = rng.choice(sorted(TEXTS))
        first = _text_with(kind, [], rng)
        if first is None:
            continue
        text, stated = first
        fields = rng.sample(list(stated), min(len(stated), rng.choice([1, 2, 2, 3, 3, 4])))
        named = [extraction.key_name(field, rng, stated, TEXT_TABLE.ALIASES) for field in fields]
        keys = layouts.styled_keys(named, rng)
        if len(set(keys)) == len(keys):
            break

    def record(found: layouts.Record) -> layouts.Record:
        return {key: found[field] for key, field in zip(keys, fields, strict=True)}

    one = record(stated)
    pairs = [(text, json.dumps(one, ensure_ascii=False))]
    for _ in range(rng.randint(0, 6)):
        more = _text_with(kind, fields, rng)
        if more and _types(record(more[1])) == _types(one):
            pairs.append((more[0], json.dumps(record(more[1]), ensure_ascii=False)))
    return _asked_to_file(one, rng), pairs


def _review(rng: Random, good: bool) -> str:
    text, slots, more = choices.reviewed(good, rng, 0.5)
    for _ in range(rng.choice([0, 0, 1, 2])):
        extra = expand(rng.choice(more), rng, slots)
        if extra not in text:
            text += ". " + extra[:1].upper() + extra[1:]
    text = articles(text)
    return text[:1].upper() + text[1:] + rng.choice([".", "", "!"])


def _labels(rng: Random) -> tuple[str, list[Pair]]:
    """Return an instruction to label messages, and messages with labels."""
    number = rng.randint(1, 6)
    pairs: list[Pair] = []
    roll = rng.random()
    if roll < 0.6:
        options = rng.choice([["positive", "negative"], ["positive", "negative"], ["good", "bad"]])
        what = rng.choice(["a review", "reviews", "comments of guests", "a customer's opinion"])
        for _ in range(number):
            good = rng.random() < 0.5
            pairs.append((_review(rng, good), options[0 if good else 1].capitalize()))
    elif roll < 0.7:
        options, what = ["odd", "even"], rng.choice(["a number", "numbers", "one number"])
        for value in rng.sample(range(100), number):
            pairs.append((str(value), "Odd" if value % 2 else "Even"))
    elif roll < 0.85:
        options, what = ["yes", "no"], rng.choice(["a question", "questions", "short questions"])
        for _ in range(number):
            fact, value = rng.choice(choices.T.YES_FACTS)
            text = expand(fact, rng)
            pairs.append((text[:1].upper() + text[1:] + "?", "Yes" if value else "No"))
    else:
        name, other, word = choices.two_kinds(rng)
        options, what = [name, other], rng.choice(["a word", "words", "one word"])
        pairs.append((word, name.capitalize()))
        for _ in range(number):
            more, unlike, word = choices.two_kinds(rng)
            if {more, unlike} == {name, other}:
                pairs.append((word, more.capitalize()))
    if rng.random() < 0.5:
        options = options[::-1]
    shown = rng.choice(["{} or {}", "{} or {}", "either {} or {}", '"{}" or "{}"']).format(*options)
    text = expand(rng.choice(T.LABELS), rng, {"o": shown, "what": what})
    return text[:1].upper() + text[1:] + ".", pairs


def task(rng: Random, number: int) -> tuple[str, list[Pair]]:
    """Return a system prompt with a task for all messages, and messages with answers."""
    told, pairs = _filing(rng) if rng.random() < 0.75 else _labels(rng)
    setting = rng.choice(sorted(SETTINGS))
    notes = _notes(setting, number - len(told.split()), lambda: rng.choice(FIRST), rng)
    head = _filled(SETTINGS[setting].role, rng, rng.choice(FIRST)) if rng.random() < 0.5 else ""
    if rng.random() < 0.5:
        return _joined(f"{head} {told}".strip(), notes, "", rng), pairs
    return _joined(head, notes, told, rng), pairs
