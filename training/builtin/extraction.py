"""Text to JSON: the prompt names the fields (as a schema, a list or an example), the answer copies.

Many values are invented words, so that the model learns to copy instead of recall.
"""

from __future__ import annotations

import json
from random import Random

from . import extraction_everyday, extraction_marked
from . import extraction_layouts as layouts
from .extraction_texts import DRAW, SLOT, TEXTS, drawn
from .extraction_texts import T as TEXT_TABLE
from .grammar import articles, expand, expand_lines
from .recipes import Recipes
from .values import values

_DRAW = Recipes("extraction", values)
T = _DRAW.T

Names = dict[str, str]


# For each kind of record: sentences, each with the fields that it states. Two make a text.
KINDS = [("person", T.PERSON), ("order", T.ORDER), ("event", T.EVENT)]


def fields(kind: str) -> list[str]:
    """Return the fields of a kind of record."""
    return list(_DRAW.record(kind, Random(0)))


def key_name(field: str, rng: Random, stated: dict[str, str | int | float], known: Names) -> str:
    """Return a name of a field that fits no other field of the text."""
    taken = {a for f in stated if f != field for a in [f, *known[f].split()]}
    options = [a for a in known[field].split() if a not in taken] or [field]
    return options[0] if rng.random() < 0.4 else rng.choice(options)


def named(
    fields: list[str], rng: Random, stated: dict[str, str | int | float], known: Names
) -> list[str]:
    """Return different names of fields."""
    keys = [key_name(field, rng, stated, known) for field in fields]
    return keys if len(set(keys)) == len(keys) else named(fields, rng, stated, known)


def filled_lines(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    """Expand a pattern; keep its line breaks and the case of values at the start."""
    text = expand_lines(pattern, rng)
    if not text.startswith(("{", '"')) and rng.random() < 0.85:
        text = text[:1].upper() + text[1:]
    return articles(SLOT.sub(lambda found: slots[found.group(1)], text))


def add_aside(parts: list[str], share: float, rng: Random) -> None:
    """Insert an irrelevant sentence into a share of texts."""
    if rng.random() < share:
        at, slots = rng.randint(0, len(parts)), _DRAW.slots("aside", rng)
        aside = articles(expand(rng.choice(layouts.T.ASIDE), rng, slots))
        parts.insert(at, filled_lines(aside, rng, {}))


def _foreign(stated: list[str], rng: Random) -> str:
    """Return a sentence of another kind of record, without a field that the keys could mean."""
    taken = {alias for field in stated for alias in TEXT_TABLE.ALIASES[field].split()}
    while True:
        drawers, patterns = TEXTS[rng.choice(list(TEXTS))]
        pattern = rng.choice(patterns)
        fields = dict.fromkeys(SLOT.findall(pattern))
        if not taken & {alias for field in fields for alias in TEXT_TABLE.ALIASES[field].split()}:
            return filled_lines(pattern, rng, {f: str(DRAW[drawers[f]](rng)) for f in fields})


def _stated(rng: Random) -> tuple[str, dict[str, str | int | float]]:
    """Return a text of one to three sentences, and its fields with their values."""
    kind = rng.choice(list(TEXTS))
    patterns = TEXTS[kind][1]
    record = drawn(kind, rng)
    slots = {field: str(value) for field, value in record.items()}
    count = rng.choices([1, 2, 3], [6, 4, 1])[0]
    parts: list[str] = []
    stated: list[str] = []
    for pattern in rng.sample(patterns, count):
        chosen = expand_lines(pattern, rng)
        found = [f for f in SLOT.findall(chosen) if f not in stated]
        if not parts or found:
            parts.append(filled_lines(chosen, rng, slots))
            stated += found
    add_aside(parts, 0.3, rng)
    if rng.random() < 0.15:
        other = _foreign(stated, rng)
        parts.insert(rng.randint(0, len(parts)), other)
    text = rng.choice([". ", ". ", ". ", ".\n"]).join(parts) + rng.choice([".", ".", "", "!"])
    return text, {field: record[field] for field in stated}


def framed(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    """Fill a frame's slots; line breaks in frame and values stay."""
    text = expand_lines(pattern, rng)
    if rng.random() < 0.75 and not text.startswith("{"):
        text = text[:1].upper() + text[1:]
    return SLOT.sub(lambda found: slots[found.group(1)], text)


def _any_text(rng: Random) -> tuple[str, dict[str, str | int | float], Names]:
    """Return a text, its fields with values, and the names of each field."""
    roll = rng.random()
    if roll < 0.45:
        marked = rng.choice(extraction_marked.TEXTS)
        return *marked.stated(rng), marked.known
    if roll < 0.8:
        return *extraction_everyday.stated(rng), extraction_everyday.ALIASES
    return *_stated(rng), TEXT_TABLE.ALIASES


def wide_sample(rng: Random) -> tuple[str | None, str, str]:
    """Return system text (or None), user text and answer: the requested keys in their order."""
    text, stated, known = _any_text(rng)
    fields = list(stated)
    if rng.random() < 0.55:
        rng.shuffle(fields)
    if rng.random() < 0.6:
        fields = fields[: rng.choice([1, 1, 2, 2, 2, 3, 3, 4])]
    fields = fields[:5]
    keys = layouts.styled_keys([key_name(field, rng, stated, known) for field in fields], rng)
    if len(set(keys)) < len(keys):
        keys = named(fields, rng, stated, known)
    if rng.random() < 0.06:  # unknown names that still tell the meaning
        keys = [f"{values.word(rng)}_{key}" for key in keys]
    record: layouts.Record = {key: stated[field] for key, field in zip(keys, fields, strict=True)}
    compact = rng.random() < 0.08
    answer = json.dumps(record, ensure_ascii=False, separators=(",", ":") if compact else None)
    note = rng.choice([" (compact JSON)", "\nCompact JSON.", "\nNo spaces in the JSON."])
    slots = layouts.slots_of(record, text, rng)
    source = rng.choices(layouts.ALL, [4, 3, 3])[0]
    if rng.random() < 0.2:
        system = framed(rng.choice(source.system), rng, slots)
        return system + (note if compact else ""), text, answer
    frames = source.keys if rng.random() < 0.72 else source.schemas
    user = framed(rng.choice(frames), rng, slots)
    return None, user + (note if compact else ""), answer


def in_turns(rng: Random) -> list[tuple[str, str]]:
    """Return several requests for fields of one text, with answers.

    Each asks for other fields than the one before, so the model must read the text again.
    """
    stated: dict[str, str | int | float] = {}
    while len(stated) < 2:
        text, stated, known = _any_text(rng)
    pairs: list[tuple[str, str]] = []
    before: list[str] = []
    for turn in range(rng.randint(2, 5)):
        fields = before
        while fields == before:
            fields = rng.sample(list(stated), min(len(stated), rng.choice([1, 1, 1, 2, 2, 3])))
        before = fields
        keys = named(fields, rng, stated, known)
        record = {key: stated[field] for key, field in zip(keys, fields, strict=True)}
        if turn == 0:
            source = rng.choices(layouts.ALL, [4, 3, 3])[0]
            user = framed(rng.choice(source.keys), rng, layouts.slots_of(record, text, rng))
        else:
            pattern = rng.choice(T.AGAIN)
            slots = {"k": rng.choice([", ".join(keys), layouts.joined_with_and(keys)])}
            user = framed(pattern, rng, slots)
        pairs.append((user, json.dumps(record, ensure_ascii=False)))
    return pairs


def sample(rng: Random) -> tuple[str | None, str, str]:
    """Return system text (or None), user text, answer."""
    if rng.random() < 0.8:
        return wide_sample(rng)
    kind, texts = rng.choice(KINDS)
    record_values = _DRAW.record(kind, rng)
    sentence, stated = rng.choice(texts)
    slots = {k: str(v) for k, v in record_values.items()}
    parts = [filled_lines(sentence, rng, slots)]
    if rng.random() < 0.3:
        other, more = rng.choice(texts)
        if not set(more) <= set(stated):
            parts.append(filled_lines(other, rng, slots))
            stated = stated + [k for k in more if k not in stated]
    if rng.random() < 0.25:
        parts.insert(rng.randrange(len(parts) + 1), rng.choice(T.FILLERS).rstrip("."))
    text = ". ".join(parts) + rng.choice([".", ".", ".", "", "!"])
    keys = list(stated)
    if rng.random() < 0.5:
        rng.shuffle(keys)
    keys = keys[: rng.randint(1, len(keys))] if rng.random() < 0.4 else keys
    record: layouts.Record = {key: record_values[key] for key in keys}
    compact = rng.random() < 0.15
    answer = json.dumps(record, ensure_ascii=False, separators=(",", ":") if compact else None)
    fields = layouts.describe_fields(record, rng)
    task = expand(rng.choice(T.TASKS), rng)
    task = (task[:1].upper() + task[1:]) if rng.random() < 0.8 else task
    if compact:
        task += rng.choice([" as compact JSON", " (compact JSON)", ", no spaces in the JSON"])
    quoted = rng.choice(["{}", "{}", '"{}"', "Text: {}", "text: {}", 'Text: "{}"']).format(text)
    mark = rng.choice([". ", ": ", ".\n", "\n"])
    if rng.random() < 0.35:
        system = f"{task}{mark}{fields}"
        return system, quoted, answer
    if rng.random() < 0.6:
        return None, f"{task}{mark}{fields}\n{quoted}", answer
    return None, f"{quoted}\n{task}{mark}{fields}", answer
