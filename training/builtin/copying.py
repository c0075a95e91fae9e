"""Requests to repeat given words, whole or in part.

They demonstrate streaming, and teach the skill behind extraction, tool calls and look-ups: copying.
"""

from __future__ import annotations

import json
from random import Random

from .extraction import add_aside, filled_lines
from .grammar import expand, expand_lines
from .recipes import Recipes
from .values import values

_DRAW = Recipes("copying", values)
T = _DRAW.T


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
    attribute, line = rng.choice(T.ATTRIBUTES), rng.choice(T.LINE)
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
    return expand(T.ARRAY, rng).replace("{t}", listed), json.dumps(row, ensure_ascii=False)


def _keyed(held: dict[str, str | int], rng: Random) -> str:
    """Return keys with their values in one of the usual layouts."""
    style = rng.choice(T.KEY_STYLES)
    return rng.choice([", ", ". ", "\n", "; "]).join(
        style.replace("{k}", key).replace("{v}", str(value)) for key, value in held.items()
    )


def _part(held: dict[str, str | int], keys: list[str]) -> str:
    return json.dumps({key: held[key] for key in keys}, ensure_ascii=False)


def _json(rng: Random) -> tuple[str, str]:
    keys = list(dict.fromkeys(values.word(rng) for _ in range(rng.randint(1, 5))))
    held: dict[str, str | int] = {
        k: values.number(rng, 5) if rng.random() < 0.35 else values.word(rng) for k in keys
    }
    text = _keyed(held, rng)
    asked = rng.sample(keys, rng.randint(1, len(keys)))
    before, behind = T.JSON
    ask = expand_lines(before, rng)
    if rng.random() < 0.3:
        ask = expand_lines(behind, rng)
    return ask.replace("{l}", ", ".join(asked)).replace("{t}", text), _part(held, asked)


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


# Facts told once, and several questions about them: each is one more lesson on the same text.

Pair = tuple[str, str]
_PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}


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


def _told_records(rng: Random) -> tuple[str, list[Pair]]:
    """Return people with one to three things each, and questions in both directions."""
    people = _distinct(rng, rng.randint(2, 6), "name")
    attributes = rng.sample(T.ATTRIBUTES, rng.choice([1, 1, 2, 3]))
    held: dict[tuple[str, str], str] = {}
    for attribute in attributes:
        for name, value in zip(people, _distinct(rng, len(people)), strict=True):
            held[name, attribute] = value
    pattern = rng.choice(T.LINE)
    lines = [
        filled_lines(
            pattern if rng.random() < 0.7 else rng.choice(T.LINE),
            rng,
            {"a": a, "n": n, "v": v},
        )
        for (n, a), v in held.items()
    ]
    if rng.random() < 0.5:
        rng.shuffle(lines)
    add_aside(lines, 0.3, rng)
    text = expand_lines(rng.choice(T.HEADS), rng)
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
            place = rng.choice(list(_PLACES))
            pairs.append((_asked(T.PLACE, rng, w=place), row[_PLACES[place]]))
    return text, pairs


def _keys(rng: Random) -> tuple[str, list[Pair]]:
    """Return meaningless keys and values, and requests for parts of them as JSON."""
    keys = _distinct(rng, rng.randint(2, 6))
    held: dict[str, str | int] = {
        key.lower().replace(" ", "_"): values.number(rng, 5) if rng.random() < 0.3 else value
        for key, value in zip(keys, _distinct(rng, len(keys)), strict=True)
    }
    text = _keyed(held, rng)
    pairs: list[Pair] = []
    for _ in range(rng.randint(2, 4)):
        asked = rng.sample(list(held), rng.randint(1, min(3, len(held))))
        question = filled_lines(rng.choice(T.KEYED), rng, {"k": ", ".join(asked)})
        pairs.append((question, _part(held, asked)))
    return text, pairs


def dialogue(rng: Random) -> tuple[str | None, list[Pair]]:
    """Return a system prompt (or None), and questions with answers; the first may hold the text."""
    make = rng.choices([_told_records, _places, _keys], [6, 2, 2])[0]
    text, pairs = make(rng)
    roll = rng.random()
    if roll < 0.4:
        return text + rng.choice(["", "."]), pairs
    (first, answer), *rest = pairs
    mark = rng.choice([". ", "\n", "\n"])
    told = f"{text}{mark}{first}" if roll < 0.85 else f"{first}\n{text}"
    return None, [(told, answer), *rest]
