"""Short drills that can only be solved by copying from the prompt, one kind after the other.

Each drill returns a request and its answer. `copying.py` draws from them. The words are made up or
rare (`values.py`), so nothing can be recalled: what is practised is to find a place and copy it.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

import json
from random import Random

from . import values, words
from .grammar import expand

SAY = [
    "[repeat|say|echo|write|print|type|output|copy|return|quote|recite|read out|give back]"
    "[ exactly| this| the words| these words| the string| word for word| literally|][: | ]{t}",
    '[repeat|say|echo|write|print|quote|copy|output] "{t}"[ exactly| again| please| once more|]',
    "{t}[. |\n| - ][repeat|say|copy|echo|write] [that|it|this][ exactly| back| again| please|]",
    "[your answer|the answer|your reply|the output] [must be|should be|is]: {t}",
    "[answer|reply|respond] [with|only|just][: | with: ]{t}",
    "[say|write|print] [nothing but|only|just|exactly] {t}",
    "[i say|listen|attention|dictation|write down|note down|note][: ]{t}",
    "[copy|reproduce|give me] the [text|line|string|word|words] [after the colon|here][: ]{t}",
]
BRACKETS = {
    "[put|set|write] {t} in[to|] [round |]brackets": "({t})",
    "[put|set|write|wrap] {t} in [double |]quotes": '"{t}"',
    "[put|set|write|wrap] {t} in square brackets": "[{t}]",
    "[put|set|write|wrap] {t} in curly braces": "{{{t}}}",
    "[put|set|write] {t} between [stars|asterisks]": "*{t}*",
    "[put|write] {t} twice": "{t} {t}",
    "[put|write|add] a [full stop|period] after {t}": "{t}.",
    "[put|write|add] an exclamation mark after {t}": "{t}!",
    "[put|write|add] hello before {t}": "hello {t}",
    "[say|write] hello to {t}": "Hello, {t}!",
    "[write|give me|make|print] {t} as [a json string|json]": '"{t}"',
}
PLACES = {
    "first": 0, "last": -1, "second": 1, "third": 2, "second to last": -2,
}  # fmt: skip
PICK = [
    "[what is|give me|say|write|tell me|return|which is|name|print] the {w} "
    "[word|item|entry|element|one] [of|in|from][ this|][: | ]{t}",
    "the {w} [word|item|one] [of|in][: | ]{t}",
    "{t}[. |\n| - ][what is|say|give me|which is|name] the {w} [word|item|one]",
    "[only|just] the {w} [word|item|one|entry][: ]{t}",
    "[list|words|items|entries][: ]{t}[. |\n]the {w} [one|word]",
    "{w} [word|item] of[: | ]{t}",
]
RECORDS = [
    "{lines}[. |\n][what is|what's|give me|tell me|say|and] [the |]{a} of {n}",
    "{lines}[. |\n]{n}'s {a}",
    "{lines}[. |\n][what|which] {a} [has|does] {n}[ have|]",
    "[read|given|know|remember|note|facts][: ]{lines}[. |\n][what is|tell me] the {a} of {n}",
    "[what is|tell me] the {a} of {n}[? |: |\n]{lines}",
]
LINE = ["the {a} of {n} is {v}", "{n}'s {a} is {v}", "{n}: {a} {v}", "{n} has the {a} {v}"]
OWNERS = [
    "{lines}[. |\n][who|which person] has the {a} {v}",
    "{lines}[. |\n][whose {a} is|who is with {a}|find the person with the {a}] {v}",
    "[who has the {a} {v}|whose {a} is {v}][? |: |\n]{lines}",
]
ATTRIBUTES = (
    "code key badge password colour room desk nickname number city pet label tag pin seat file "
    "shelf locker token id team flower stone ship road password street drink"
).split()


def item(rng: Random) -> str:
    """A word or a figure."""
    roll = rng.random()
    if roll < 0.45:
        return values.word(rng)
    if roll < 0.6:
        return values.first_name(rng)
    if roll < 0.7:
        return str(values.number(rng, 5))
    if roll < 0.78:
        return values.code(rng)
    return rng.choice(words.THINGS + values.GOODS + values.RARE + words.WORLD)


def _row(rng: Random, low: int, high: int) -> list[str]:
    row: list[str] = []
    for _ in range(rng.randint(low, high)):
        new = item(rng)
        if new not in row:
            row.append(new)
    return row if len(row) >= low else _row(rng, low, high)


def _fill(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    text = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
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
    return _fill(rng.choice(SAY), rng, {"t": text}), text


def _bracket(rng: Random) -> tuple[str, str]:
    text = " ".join(_row(rng, 1, 2))
    ask, answer = rng.choice(list(BRACKETS.items()))
    return _fill(ask, rng, {"t": text}), answer.replace("{{", "{").replace("}}", "}").replace(
        "{t}", text
    )


def _pick(rng: Random) -> tuple[str, str]:
    row = _row(rng, 3, 7)
    place = rng.choice(list(PLACES))
    glue = rng.choice([" ", ", ", ", "])
    return _fill(rng.choice(PICK), rng, {"w": place, "t": glue.join(row)}), row[PLACES[place]]


def _records(rng: Random) -> tuple[str, str]:
    names = list({values.first_name(rng) for _ in range(rng.randint(1, 4))})
    attribute, line = rng.choice(ATTRIBUTES), rng.choice(LINE)
    held: dict[str, str] = {}
    for name in names:
        held[name] = item(rng)
    chosen = rng.choice(names)
    lines = rng.choice([". ", ", ", "\n", "; "]).join(
        _fill(line, rng, {"a": attribute, "n": n, "v": v}) for n, v in held.items()
    )
    slots = {"lines": lines, "a": attribute, "n": chosen, "v": held[chosen]}
    if rng.random() < 0.35 and len(set(held.values())) == len(held):
        return _fill(rng.choice(OWNERS), rng, slots), chosen
    return _fill(rng.choice(RECORDS), rng, slots), held[chosen]


def _array(rng: Random) -> tuple[str, str]:
    row = _row(rng, 1, 5)
    listed = rng.choice([", ".join(row), " ".join(row), " and ".join(row)])
    ask = expand(
        "[write|give me|put|return|turn|make] {t} [as|into] a json [array|list][ of strings|]", rng
    )
    return ask.replace("{t}", listed), json.dumps(row, ensure_ascii=False)


def _json(rng: Random) -> tuple[str, str]:
    """Keys and values that mean nothing: what is called what is all in the prompt."""
    keys = list({values.word(rng) for _ in range(rng.randint(1, 5))})
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


def sample(rng: Random) -> tuple[str, str]:
    """A request and the words to say."""
    return rng.choice(MAKERS)(rng)
