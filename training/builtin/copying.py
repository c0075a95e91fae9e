"""Requests to repeat given words, whole or in part.

They demonstrate streaming, and teach the skill behind extraction, tool calls and look-ups: copying.
"""

from __future__ import annotations

import json
from random import Random

from .grammar import expand, expand_lines
from .recipes import Recipes
from .values import values

_DRAW = Recipes("copying", values)
T = _DRAW.T

LINE = ["the {a} of {n} is {v}", "{n}'s {a} is {v}", "{n}: {a} {v}", "{n} has the {a} {v}"]


def item(rng: Random) -> str:
    """Return a word or a figure."""
    return str(_DRAW.item(rng))


def _row(rng: Random, low: int, high: int) -> list[str]:
    row: list[str] = []
    for _ in range(rng.randint(low, high)):
        new = item(rng)
        if new not in row:
            row.append(new)
    return row if len(row) >= low else _row(rng, low, high)


def _fill(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    text = expand_lines(pattern, rng)
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text


def _say(rng: Random) -> tuple[str, str]:
    roll = rng.random()
    if roll < 0.15:
        text = values.email_of(values.person(rng), rng)
    elif roll < 0.3:
        text = f"{values.person(rng)}, {values.number(rng, 4)}"
    else:
        text = " ".join(_row(rng, 1, 6))
    return _fill(rng.choice(T.SAY), rng, {"t": text}), text


def _bracket(rng: Random) -> tuple[str, str]:
    text = " ".join(_row(rng, 1, 2))
    ask, answer = rng.choice(list(T.BRACKETS.items()))
    return _fill(ask, rng, {"t": text}), answer.replace("{{", "{").replace("}}", "}").replace(
        "{t}", text
    )


def _pick(rng: Random) -> tuple[str, str]:
    row = _row(rng, 3, 7)
    place = rng.choice(list(T.PLACES))
    glue = rng.choice([" ", ", ", ", "])
    return _fill(rng.choice(T.PICK), rng, {"w": place, "t": glue.join(row)}), row[T.PLACES[place]]


def _records(rng: Random) -> tuple[str, str]:
    names = list(dict.fromkeys(values.first_name(rng) for _ in range(rng.randint(1, 4))))
    attribute, line = rng.choice(T.ATTRIBUTES), rng.choice(LINE)
    held: dict[str, str] = {}
    for name in names:
        held[name] = item(rng)
    chosen = rng.choice(names)
    lines = rng.choice([". ", ", ", "\n", "; "]).join(
        _fill(line, rng, {"a": attribute, "n": n, "v": v}) for n, v in held.items()
    )
    slots = {"lines": lines, "a": attribute, "n": chosen, "v": held[chosen]}
    if rng.random() < 0.35 and len(set(held.values())) == len(held):
        return _fill(rng.choice(T.OWNERS), rng, slots), chosen
    return _fill(rng.choice(T.RECORDS), rng, slots), held[chosen]


def _array(rng: Random) -> tuple[str, str]:
    row = _row(rng, 1, 5)
    listed = rng.choice([", ".join(row), " ".join(row), " and ".join(row)])
    ask = expand(
        "[write|give me|put|return|turn|make] {t} [as|into] a json [array|list][ of strings|]", rng
    )
    return ask.replace("{t}", listed), json.dumps(row, ensure_ascii=False)


def _json(rng: Random) -> tuple[str, str]:
    keys = list(dict.fromkeys(values.word(rng) for _ in range(rng.randint(1, 5))))
    held: dict[str, str | int] = {
        k: values.number(rng, 5) if rng.random() < 0.35 else values.word(rng) for k in keys
    }
    style = rng.choice(["{k} is {v}", "{k}: {v}", "{k} = {v}", "the {k} is {v}", "{k} {v}"])
    text = rng.choice([", ", ". ", "\n", "; "]).join(
        style.replace("{k}", k).replace("{v}", str(v)) for k, v in held.items()
    )
    asked = rng.sample(keys, rng.randint(1, len(keys)))
    listed = ", ".join(asked)
    ask = expand(
        "[json with|extract|keys|fields|get as json|json only, keys|return json, keys][: | ]{l}\x00"
        "[Text: |]{t}",
        rng,
    )
    if rng.random() < 0.3:
        ask = expand("{t}\x00[json with|keys|fields|extract][: | ]{l}", rng)
    ask = ask.replace("\x00", "\n").replace("{l}", listed).replace("{t}", text)
    return ask, json.dumps({k: held[k] for k in asked}, ensure_ascii=False)


MAKERS = [_say] * 6 + [_bracket] * 3 + [_records] * 8 + [_array] * 2 + [_json] * 4 + [_pick]


def drill(rng: Random) -> tuple[str, str]:
    """Return a request and the words to say."""
    return rng.choice(MAKERS)(rng)


def sample(rng: Random) -> tuple[str, str]:
    """Return a request and the words to say."""
    if rng.random() < 0.75:
        return drill(rng)
    items = [str(_DRAW.plain_item(rng)) for _ in range(rng.randint(2, 10))]
    text = " ".join(items)
    if rng.random() < 0.2:
        which = rng.choice(["first", "last", "second"])
        position = {"first": 0, "last": -1, "second": 1}[which]
        return expand(rng.choice(T.FIRST), rng, {"w": which, "t": text}), items[position]
    return expand(rng.choice(T.REPEAT), rng, {"t": text}), text
