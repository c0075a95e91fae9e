"""Tools as developers define them for real applications, and requests as strangers write them.

The tools are in `data/tools_everyday_home.txt` and `data/tools_everyday_work.txt`; values such as
paths, addresses, phrases and dates as people write them are in `data/tools_everyday.txt`.
"""

from __future__ import annotations

import json
import re
from functools import partial
from random import Random
from typing import Any

from .grammar import expand, filled, to_regex
from .recipes import Recipes, Value
from .tables import load
from .tools import Message, Tool, about, call_message, definition, parse
from .values import values

DRAW = Recipes("tools_everyday", values)
T = DRAW.T
_WRITTEN = {
    **{name: getattr(T, section) for name, section in T.WRITTEN.items()},
    "book": f"[{'|'.join(T._BOOKS)}]",
    "folder": f"[{'|'.join(T._FOLDERS)}]",
}
_LISTED = {name: DRAW.entries(sections) for name, sections in T.LISTED.items()}


def _write(pattern: str, rng: Random) -> str:
    return expand(pattern, rng, DRAW.slots("written", rng))


def _choose(entries: list[str], rng: Random) -> str:
    return rng.choice(entries)


for _name in T.WRITTEN:
    DRAW.add(partial(_write, _WRITTEN[_name]), _name)
for _name in T.LISTED.keys() - {"currency"}:
    DRAW.add(partial(_choose, _LISTED[_name]), _name)


@DRAW.add
def book(rng: Random) -> str:
    """Return a book's title."""
    return _write(rng.choice(T._BOOKS), rng)


@DRAW.add
def owned_email(rng: Random) -> str:
    """Return an address made from a name."""
    return str(values.email_of(DRAW.full(rng), rng))


@DRAW.add
def folder(rng: Random) -> str:
    """Return a folder's path."""
    slots = DRAW.slots("folder_slots", rng)
    return expand(rng.choice(T._FOLDERS), rng, slots)


@DRAW.add
def date(rng: Random) -> str:
    """Return a date as people write it in a request."""
    day, month = rng.randint(1, 28), rng.choice(DRAW.entries("MONTHS"))
    days = DRAW.entries("DAYS")
    iso = f"{rng.randint(2024, 2028)}-{rng.randint(1, 12):02d}-{day:02d}"
    late = f"the {day}th of {month}" if day in range(24, 28) else "tomorrow"
    return rng.choice([iso, iso, f"{month} {day}", f"{day} {month}", rng.choice(days),
                       rng.choice(days), "tomorrow", "next " + rng.choice(days), late])  # fmt: skip


_INTEGERS = "id few minutes percent degrees pixels amount number".split()
TYPES = {**dict.fromkeys(_INTEGERS, "integer"), "price": "number", "rate": "number"}
QUOTED = {"phrase", "note", "say", "subject", "song", "book", "trouble", "sql", "query", "event",
          "word"}  # fmt: skip


def regex_of(drawer: str) -> str:
    """Return a regular expression for a drawer's values in normalised text."""
    if drawer in _WRITTEN:
        slots = {**dict.fromkeys("nwayAS", r"\w+"), "S2": r"\w+", "k": r"\d+",
                 "c": r"\w+(?: \w+){0,2}"}  # fmt: skip
        return to_regex(_WRITTEN[drawer], slots)
    if drawer in _LISTED:
        return "(?:" + "|".join(to_regex(one) for one in _LISTED[drawer]) + ")"
    return T._SHAPES.get(drawer, r"\d+(?: \d+)?")


# What may stand before an imperative (">"), before a thing that is wanted ("+"), and at the end.
_WISH = "[||I need |I want |I'd like |we need |give me |get me |can I have |could I get |show me ]"
_TAILS = [" please", ", please", ", thanks", " for me", " if you can"]
_TAIL = "[|please|thanks|for me|if you can]"
_FRONT = "[|hi|hello|hey|ok|excuse me|hi there|good day|quick]"
_FRONTS = {">": T._ORDER, "+": _WISH}
_LINES = [line for name in ("home", "work") for line in load(f"tools_everyday_{name}").TOOLS]
TOOLS = parse(_LINES, DRAW, TYPES, _FRONTS)
_AREAS: dict[str, list[Tool]] = {}
for _tool in TOOLS:
    _AREAS.setdefault(_tool.area, []).append(_tool)


def _styles(name: str) -> list[str]:
    first, *rest = name.split("_")
    return [name, first + "".join(w.capitalize() for w in rest), name.replace("_", "-")]


NAMES = {style for tool in TOOLS for name in tool.names for style in _styles(name)}


def _define(tool: Tool, rng: Random, style: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a tool's definition under random names, and the name of each parameter."""
    chosen: dict[str, str] = {}
    properties: dict[str, Any] = {}
    row = rng.choice([0, 0, 1, 2, 3])  # "from" goes with "to", "origin" with "destination".
    for key, param in tool.params.items():
        options = [n for n in param.names if n not in properties] or [key]
        name = param.names[row % len(param.names)]
        if name not in options or rng.random() < 0.1:
            name = rng.choice(options)
        if style == 1:
            name = _styles(name)[1]
        chosen[key] = name
        properties[name] = {"type": param.type}
        if param.choices and rng.random() < 0.8:
            properties[name]["enum"] = param.choices
        elif rng.random() < 0.3:
            words = key.replace("_", " ")
            title = words.capitalize()
            described = [f"The {words}", f"{title} to use", title, words]
            properties[name]["description"] = rng.choice(described)
    needed = [name for key, name in chosen.items() if not tool.params[key].optional]
    if rng.random() < 0.2:
        name, kind = rng.choice(T._EXTRA).split(":")
        if name not in properties:
            properties[name] = {"type": kind}
    required = needed if needed and rng.random() < 0.8 else None
    names = tool.names
    name = _styles(names[0] if rng.random() < 0.4 else rng.choice(names))[style]
    return definition(name, about(tool, rng, 0.9), properties, required), chosen


def listed(rng: Random, number: int) -> list[tuple[Tool, dict[str, Any], dict[str, str]]]:
    """Return several tools, often of one area, with their definitions."""
    pool = _AREAS[rng.choice(TOOLS).area] if rng.random() < 0.6 else TOOLS
    style = rng.choices([0, 1, 2], [8, 2, 1])[0]
    out = []
    taken: set[str] = set()
    for tool in rng.sample(pool, min(number, len(pool))):
        definition, chosen = _define(tool, rng, style)
        if definition["function"]["name"] not in taken:
            taken.add(definition["function"]["name"])
            out.append((tool, definition, chosen))
    return out


# What a sentence begins with that ends in a question mark.
_QUESTION = re.compile(
    r"(what|how|where|when|who|which|why|is|are|do|does|did|can|could|would|will|has|have|any|"
    r"may|should|am)\b",
    re.IGNORECASE,
)


def _said(tool: Tool, rng: Random, drawn: dict[str, Value]) -> tuple[str, list[str]]:
    """Return a request, and its parameters."""
    pattern = rng.choice(tool.asks)
    text = expand(pattern, rng)
    given = re.findall(r"\{(\w+)\}", text)
    asks = _QUESTION.match(re.split(r"[.?!] ", text)[-1])
    if pattern.startswith(T._ORDER) and rng.random() < 0.15:
        text += rng.choice(_TAILS)
    if not re.search(r"[.?!]$", text):
        text += rng.choice(["?", "?", "?", ""] if asks else ["", "", ".", ".", "!"])
    front = ""
    if rng.random() < 0.12:
        front = rng.choice(T._FRONTS)
    elif rng.random() < 0.15:
        front = expand("[" + tool.contexts + "]", rng) + " "
    roll = rng.random()
    if roll < 0.1:
        text = (front + text).lower()
    else:
        text = front + text if front and "." not in front else front + text[:1].upper() + text[1:]
        text = text[:1].upper() + text[1:] if roll < 0.85 else text
    slots = {}
    for key in given:
        value = str(drawn[key])
        if tool.params[key].drawer in QUOTED and rng.random() < 0.35:
            mark = rng.choice("\"'") if "'" not in value else '"'
            value = f"{mark}{value}{mark}"
        slots[key] = value
    return filled(text, slots), given


def _dumped(value: dict[str, Any], rng: Random) -> str:
    if rng.random() < 0.12:
        return json.dumps(value, separators=(",", ":"))
    return json.dumps(value)


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def general_result(rng: Random) -> tuple[str, str]:
    """Return a result of any tool, and the sentence that follows from its keys."""
    kind = rng.random()
    if kind < 0.45:
        keys = rng.sample(list(T.FIELDS), rng.choice([1, 1, 2, 2, 3]))
        drawn = {key: DRAW[T.FIELDS[key]](rng) for key in keys}
        told = [f"the {key.replace('_', ' ')} is {value}" for key, value in drawn.items()]
        text = _joined(told)
        return _dumped(drawn, rng), text[:1].upper() + text[1:] + "."
    if kind < 0.65:
        noun = rng.choice(T.NUMBERED)
        number, state = DRAW["id"](rng), DRAW["state"](rng)
        key = rng.choice([f"{noun}_id", noun])
        sentence = f"{noun.capitalize()} {number} is {state}."
        return _dumped({key: number, "status": state}, rng), sentence
    if kind < 0.8:
        problem = rng.choice(T.PROBLEMS)
        key = rng.choice(["error", "error", "message"])
        given: dict[str, Any] = {key: problem}
        if key == "message":
            given = {"ok": False, **given}
        return _dumped(given, rng), f"That did not work: {problem}."
    if kind < 0.9:
        done = rng.choice([{"ok": True}, {"success": True}, {"status": "ok"}, {"status": "done"}])
        return _dumped(done, rng), "It is done."
    noun = rng.choice(T.PLURALS)
    if rng.random() < 0.4:
        number = rng.randint(2, 300)
        return _dumped({rng.choice(["count", "total"]): number}, rng), f"There are {number}."
    items = [DRAW["listed"](rng) for _ in range(rng.randint(2, 3))]
    return _dumped({noun: items}, rng), f"The {noun} are {_joined(items)}."


def _own_result(tool: Tool, rng: Random, slots: dict[str, str]) -> tuple[str, str] | None:
    """Return one of the tool's own results, if the request has the values of its sentence."""
    fits = []
    for result, answer in tool.results:
        if all(name in slots or name not in tool.params
               for name in re.findall(r"\{(\w+)\}", result + answer)):  # fmt: skip
            fits.append((result, answer))
    if not fits:
        return None
    result, answer = rng.choice(fits)
    fresh = {key: str(DRAW[key](rng)) for key in re.findall(r"<(\w+)>", result)}
    texts = []
    for pattern in (result, answer):
        text = re.sub(r"<(\w+)>", lambda found: fresh.get(found[1], found[0]), pattern)
        texts.append(filled(text, slots))
    value = json.loads(texts[0])
    if rng.random() < 0.15 and len(value) > 1:
        value = dict(rng.sample(list(value.items()), len(value)))
    return _dumped(value, rng), texts[1]


def sample(rng: Random) -> tuple[list[dict[str, Any]], list[Message]]:
    """Return tool definitions, and a conversation that uses one of them."""
    made = listed(rng, rng.choice([1, 2, 2, 3, 3, 4]))
    tool, definition, names = rng.choice(made)
    drawn = {key: param.draw(rng) for key, param in tool.params.items()}
    pairs = [k for k in drawn if tool.params[k].drawer]
    for key in pairs:  # Two places, two currencies, two people of one request differ.
        while any(drawn[key] == drawn[k] for k in drawn if k != key):
            drawn[key] = tool.params[key].draw(rng)
    text, given = _said(tool, rng, drawn)
    arguments = {names[key]: drawn[key] for key in names if key in given}
    messages: list[Message] = [
        {"role": "user", "content": text},
        call_message(definition["function"]["name"], arguments),
    ]
    if rng.random() < 0.45:
        slots = {key: str(drawn[key]) for key in given}
        own = _own_result(tool, rng, slots) if rng.random() < 0.75 else None
        result, answer = own or general_result(rng)
        messages.append({"role": "tool", "content": result})
        messages.append({"role": "assistant", "content": answer})
    return [definition for _, definition, _ in made], messages


def patterns() -> list[str]:
    """Return regular expressions of all requests, in normalised text."""
    out = []
    for tool in TOOLS:
        slots = {}
        for key, param in tool.params.items():
            if param.choices:
                slots[key] = "(?:" + "|".join(to_regex(c) for c in param.choices) + ")"
            else:
                slots[key] = regex_of(param.drawer)
        front = "(?:" + to_regex("[" + tool.contexts + "|]") + "|" + to_regex(_FRONT) + ")"
        out += [front + to_regex(p, slots) + to_regex(_TAIL) for p in tool.asks]
    return out
