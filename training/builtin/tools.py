"""Tool calls: the prompt lists tools under changing names, and the model picks one.

A tool has several names, parameter names and descriptions, so the model must read the list. Some
conversations continue with a tool result, which the model puts into a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from .grammar import articles, expand
from .recipes import Recipes, Value
from .values import values

DRAW = Recipes("tools", values)
T = DRAW.T

Message = dict[str, Any]


@dataclass(frozen=True)
class Param:
    """A parameter: its possible names, its JSON type, and the drawer of its value or its words."""

    names: list[str]
    type: str
    drawer: str
    draw: Callable[[Random], Value]
    optional: bool
    choices: list[str]


@dataclass(frozen=True)
class Tool:
    """A tool: possible names and descriptions, parameters, requests, results and their answers.

    `contexts` may precede a request of the tool's area.
    """

    names: list[str]
    about: str
    params: dict[str, Param]
    area: str
    contexts: str
    asks: list[str] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)


@DRAW.add
def text(rng: Random) -> str:
    """Return a short message."""
    return articles(expand(T.TEXT, rng, DRAW.slots("text_slots", rng)))


@DRAW.add
def query(rng: Random) -> str:
    """Return a search query."""
    return articles(expand(T.QUERY, rng, DRAW.slots("query_slots", rng)))


_TYPES = dict.fromkeys(["minutes", "amount", "a", "b", "people"], "integer")


def _param(text: str, draw: Recipes, types: Mapping[str, str]) -> tuple[str, Param]:
    key, drawer, names = text.split(":")
    choices = drawer[1:].replace("_", " ").split("/") if drawer.startswith("=") else []
    drawn = (lambda rng: rng.choice(choices)) if choices else draw[drawer]
    drawer = "" if choices else drawer
    kind = types.get(drawer, "string")
    return key.rstrip("?"), Param(names.split("|"), kind, drawer, drawn, key[-1] == "?", choices)


def parse(
    lines: list[str], draw: Recipes, types: Mapping[str, str], fronts: Mapping[str, str]
) -> list[Tool]:
    """Return the tools of a table.

    `% area # sentences` opens an area with sentences that may precede a request. `# names #
    descriptions # key:values:names ...` opens a tool; a key with "?" is optional, and values are a
    recipe or "=" and words. `= result => sentence` is a result with the sentence that tells it, and
    every other line a request; its first sign may stand for one of `fronts`.
    """
    tools: list[Tool] = []
    area = contexts = ""
    for line in lines:
        if line.startswith("% "):
            area, contexts = line[2:].split(" # ")
        elif line.startswith("# "):
            names, about, listed = line[2:].split(" # ")
            params = dict(_param(part, draw, types) for part in listed.split())
            tools.append(Tool(names.split("|"), about, params, area, contexts))
        elif line.startswith("= "):
            result, answer = line[2:].split(" => ")
            tools[-1].results.append((result, answer))
        elif line[0] in fronts:
            tools[-1].asks.append(fronts[line[0]] + line[1:].strip())
        else:
            tools[-1].asks.append(line)
    return tools


TOOLS = parse(T.TOOLS, DRAW, _TYPES, {})


def about(tool: Tool, rng: Random, share: float) -> str:
    """Return a description, or nothing for the rest of the share."""
    if rng.random() >= share:
        return ""
    return expand(tool.about, rng) + rng.choice(["", "", "."])


def definition(
    name: str, about: str, properties: dict[str, Any], required: list[str] | None
) -> dict[str, Any]:
    """Return a tool's OpenAI definition."""
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required is not None:
        parameters["required"] = required
    described = {"description": about} if about else {}
    function = {"name": name, **described, "parameters": parameters}
    return {"type": "function", "function": function}


def render(tool: Tool, rng: Random) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a tool's OpenAI definition under random names, and the name of each parameter."""
    chosen: dict[str, str] = {}
    for key, param in tool.params.items():
        options = [n for n in param.names if n not in chosen.values()]
        chosen[key] = key if rng.random() < 0.5 and key in options else rng.choice(options)
    properties: dict[str, Any] = {}
    for key, name in chosen.items():
        properties[name] = {"type": tool.params[key].type}
        if rng.random() < 0.25:
            described = [f"The {key}", f"the {key} to use", f"{name} of the call", f"Which {key}"]
            properties[name]["description"] = rng.choice(described)
    required = list(properties) if rng.random() < 0.7 else None
    name = rng.choice(tool.names)
    return definition(name, about(tool, rng, 0.85), properties, required), chosen


def listed(rng: Random, tools: list[Tool]) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Return definitions of several tools with different names."""
    out: list[tuple[dict[str, Any], dict[str, str]]] = []
    seen: set[str] = set()
    for tool in tools:
        made, chosen = render(tool, rng)
        while made["function"]["name"] in seen:
            made, chosen = render(tool, rng)
        seen.add(made["function"]["name"])
        out.append((made, chosen))
    return out


def call_message(name: str, arguments: dict[str, Any]) -> Message:
    function = {"name": name, "arguments": arguments}
    call = {"type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _number(drawn: dict[str, str | int], answer: str, rng: Random) -> str:
    """Return the number of a result; if the request determines it, it is right."""
    if "expression" in drawn:
        left, sign, right = str(drawn["expression"]).split()
        a, b = int(left), int(right)
        exact = {"+": a + b, "-": a - b, "*": a * b}
        return str(exact[sign] if sign in exact else round(a / b, 2))
    if "b" in drawn:
        return str(int(drawn["a"]) + int(drawn["b"]))
    if "degrees" in answer:
        return str(rng.randint(-9, 40))
    return str(rng.randint(1, int(drawn.get("limit", 999))))


def sample(rng: Random, pool: list[Tool] = TOOLS) -> tuple[list[dict[str, Any]], list[Message]]:
    """Return definitions of random tools, and a conversation that uses one of them."""
    chosen_tools = rng.sample(pool, rng.choice([1, 2, 2, 3, 4]))
    made = listed(rng, chosen_tools)
    pick = rng.randrange(len(made))
    tool, (definition, names) = chosen_tools[pick], made[pick]
    drawn = {key: param.draw(rng) for key, param in tool.params.items()}
    slots = {key: str(value) for key, value in drawn.items()}
    text = expand(rng.choice(tool.asks), rng)
    if rng.random() < 0.75 and not text.startswith("{"):
        text = text[:1].upper() + text[1:]
    for key, value in slots.items():
        text = text.replace("{" + key + "}", value)
    text = articles(text)
    if rng.random() < 0.15:
        text = rng.choice(["please ", "Please ", "hey, ", "Hello, ", "Can you help? "]) + text
    text += rng.choice(["", "", ".", "?", "?", "!", " please"])
    arguments = {names[key]: value for key, value in drawn.items()}
    messages: list[Message] = [
        {"role": "user", "content": text},
        call_message(definition["function"]["name"], arguments),
    ]
    if rng.random() < 0.45:
        result, answer = rng.choice(tool.results)
        extra = DRAW.slots("result_slots", rng)
        extra["number"] = _number(drawn, answer, rng)
        for name, value in {**slots, **extra}.items():
            result = result.replace("{" + name + "}", value)
            answer = answer.replace("{" + name + "}", value)
        messages.append({"role": "tool", "content": result})
        messages.append({"role": "assistant", "content": answer})
    return [d for d, _ in made], messages
