"""Requests for fields as JSON: layouts of the keys, and frames around a text.

Slots of frames: `{text}`; the keys as `{keys}` (any style), `{plain}` "a, b", `{prose}` "a and b",
`{the}` "the a and the b", `{quoted}` in quotes, `{typed}` with types in parentheses; `{schema}` a
schema or template. `system` frames are system prompts; the user then sends the text only.
"""

from __future__ import annotations

import json
from random import Random
from typing import NamedTuple

from .tables import load

T = load("extraction_frames")
Record = dict[str, str | int | float | bool]


def json_type(value: str | int | float | bool) -> str:
    """Return the JSON schema name of a value's type."""
    if isinstance(value, float):
        return "number"
    return "integer" if isinstance(value, int) else "string"


def _schema_of(record: Record, *, required: bool) -> dict[str, object]:
    properties = {key: {"type": json_type(value)} for key, value in record.items()}
    schema: dict[str, object] = {"type": "object", "properties": properties}
    return {**schema, "required": list(record)} if required else schema


def describe_fields(record: Record, rng: Random) -> str:
    """Return the fields in one of the usual layouts, behind some words."""
    style = rng.choice(["schema", "schema", "keys", "types", "blank", "prose"])
    if style == "schema":
        text = json.dumps(_schema_of(record, required=rng.random() >= 0.4))
    elif style == "keys":
        text = ", ".join(record)
    elif style == "types":
        text = ", ".join(f"{key} ({json_type(value)})" for key, value in record.items())
    elif style == "blank":
        text = json.dumps({k: ("" if isinstance(v, str) else 0) for k, v in record.items()})
    else:
        text = joined_with_and(list(record))
    return str(rng.choice(T.HEADS[style])) + text


def styled_keys(keys: list[str], rng: Random) -> list[str]:
    """Return keys as they are, or now and then capitalised or in camel case."""
    roll = rng.random()
    if roll < 0.05:
        return [key.capitalize() for key in keys]
    if roll < 0.1:
        parts = [key.split("_") for key in keys]
        return [head + "".join(p.capitalize() for p in rest) for head, *rest in parts]
    return keys


def joined_with_and(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else parts[0]


def _typed(record: Record, rng: Random) -> str:
    """Return the keys in a sentence with types in parentheses, for all or the numbers only."""
    number = rng.choice(T.WHOLE_NUMBER)
    if any(isinstance(value, float) for value in record.values()):
        number = rng.choice(T.ANY_NUMBER)
    string = rng.choice(["text", "a string", "string", "as text", "", "", ""])
    kinds = [string if isinstance(value, str) else number for value in record.values()]
    named = [f"{key} ({kind})" if kind else key for key, kind in zip(record, kinds, strict=True)]
    return rng.choice([joined_with_and(named), ", ".join(named)])


def _laid_out(record: Record, item: str, glue: str, before: str, after: str) -> str:
    types = {key: json_type(value) for key, value in record.items()}
    items = [
        item.replace("{key}", key).replace("{type}", kind).replace("{short}", T.SHORT_TYPES[kind])
        for key, kind in types.items()
    ]
    return before + glue.join(items) + after


def listed_keys(record: Record, rng: Random) -> str:
    """Return the keys as a list in one of the usual layouts."""
    keys = list(record)
    plain, last = ", ".join(keys), joined_with_and(keys)
    styles = [
        *(_laid_out(record, *layout) for layout in T.LAYOUTS),
        rng.choice(["; ", "/", " | ", ",", " "]).join(keys),
        "the " + " and the ".join(keys),
        joined_with_and([f'"{key}"' for key in keys]),
        _typed(record, rng),
        _typed(record, rng),
    ]
    return rng.choice([*styles, plain, plain, plain, last, last])


def schema_text(record: Record, rng: Random) -> str:
    """Return a schema or a template in one of the usual layouts."""
    style = rng.randrange(8)
    types = {key: json_type(value) for key, value in record.items()}
    if style <= 2:
        schema = _schema_of(record, required=rng.random() >= 0.5)
        more = {"additionalProperties": False} if rng.random() < 0.2 else {}
        return json.dumps({**schema, **more})
    if style == 3:
        return json.dumps({key: {"type": kind} for key, kind in types.items()})
    if style == 4:
        return json.dumps(types)
    if style == 5:
        return "{" + ", ".join(f'"{key}": {kind}' for key, kind in types.items()) + "}"
    if style == 6:
        return json.dumps({key: "..." if kind == "string" else 0 for key, kind in types.items()})
    return "{" + ", ".join(f'"{key}": ...' for key in record) + "}"


def slots_of(record: Record, text: str, rng: Random) -> dict[str, str]:
    """Return the values of a frame's slots: the text, and its keys in many layouts."""
    keys = list(record)
    return {
        "keys": listed_keys(record, rng),
        "schema": schema_text(record, rng),
        "text": text,
        "plain": ", ".join(keys),
        "prose": joined_with_and(keys),
        "the": joined_with_and([f"the {key}" for key in keys]),
        "quoted": joined_with_and([f'"{key}"' for key in keys]),
        "typed": _typed(record, rng),
    }


class Frames(NamedTuple):
    """Frames around keys, around a schema, and in the system prompt."""

    keys: list[str]
    schemas: list[str]
    system: list[str]


def _frames(name: str) -> Frames:
    table = load(name)
    return Frames(_written(table.KEYS), _written(table.SCHEMAS), _written(table.SYSTEM))


def _written(lines: list[str]) -> list[str]:
    text = "\0".join(lines)
    for mark, words in T.MARKS.items():
        text = text.replace(mark, words)
    return text.replace("\\n", "\n").split("\0")


PLAIN = _frames("extraction_frames")
ALL = (_frames("extraction_asks"), _frames("extraction_asks_more"), PLAIN)
