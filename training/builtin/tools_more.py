"""Thirty more everyday tools, and tools that are made up for one sample only.

A made-up tool is a verb and a thing under a random name, with parameters that the request fills:
only the list in the prompt tells its name.
"""

from __future__ import annotations

from random import Random
from typing import Any

from . import tools, tools_everyday
from .extraction_texts import DRAW
from .grammar import articles, expand
from .recipes import Recipes
from .tools import Message, Tool
from .values import values

_DRAW = Recipes("tools_more", DRAW)
T = _DRAW.T
TOOLS = tools.parse(T.TOOLS, _DRAW, dict.fromkeys(T.INTEGERS, "integer"), {})

# Made-up tools: what is done, to what, and the ways to say each parameter.


def _made_up(rng: Random, taken: set[str]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Return a definition, a request for it, and the arguments of the right call."""
    verbs, noun = rng.choice(T.VERBS).split("|"), rng.choice(T.NOUNS)
    if rng.random() < 0.05:
        noun = values.word(rng)
    verb, said = rng.choice(verbs), rng.choice(verbs)
    said = rng.choice(verbs[:1] + [v for v in verbs if v != "new"]) if said == "new" else said
    styles = [f"{verb}_{noun}", f"{verb}_{noun}", f"{verb}{noun.capitalize()}", f"{noun}_{verb}",
              f"{verb}-{noun}"]  # fmt: skip
    name = values.word(rng) if rng.random() < 0.05 else rng.choice(styles)
    if name in taken:
        return _made_up(rng, taken)
    taken.add(name)
    properties: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    rest = []
    for names in rng.sample(list(T.SAYING), rng.choice([1, 1, 1, 2, 2, 3])):
        drawer, kind, phrase = T.SAYING[names]
        key = rng.choice(names.split("|"))
        if key in properties:
            continue
        value = _DRAW[drawer](rng)
        properties[key] = {"type": kind}
        arguments[key] = value
        rest.append(expand(phrase, rng).replace("{v}", str(value)))
    order = list(range(len(rest)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    text = expand(rng.choice(T.ORDERS), rng, {"verb": said, "noun": noun})
    text = articles(text.replace("{rest}", " ".join(rest[i] for i in order)))
    about = articles(f"{rng.choice(verbs).capitalize()} {rng.choice(['a', 'the', 'one'])} {noun}")
    required = list(properties) if rng.random() < 0.6 else None
    told = rng.random() < 0.85 or noun not in name or verb not in name
    return tools.definition(name, about if told else "", properties, required), text, arguments


def made_up_sample(rng: Random) -> tuple[list[dict[str, Any]], list[Message]]:
    taken: set[str] = set()
    made = [_made_up(rng, taken) for _ in range(rng.choice([1, 2, 2, 3]))]
    definition, text, arguments = rng.choice(made)
    text = (text[:1].upper() + text[1:]) if rng.random() < 0.7 else text
    text += rng.choice(["", "", ".", "!", "?"])
    messages: list[Message] = [
        {"role": "user", "content": text},
        tools.call_message(definition["function"]["name"], arguments),
    ]
    return [d for d, _, _ in made], messages


def sample(rng: Random) -> tuple[list[dict[str, Any]], list[Message]]:
    """Return tool definitions, and a conversation that uses one of them."""
    if rng.random() < 0.55:
        return tools_everyday.sample(rng)
    if rng.random() < 0.3:
        return made_up_sample(rng)
    return tools.sample(rng, tools.TOOLS + TOOLS if rng.random() < 0.8 else tools.TOOLS)


# Tools that none of the requests to decline could mean, and those that can do a sum.
_UNRELATED = {"read_file", "get_room", "delete_file", "list_files", "create_user", "cancel_order",
              "get_user_age", "random_number"}  # fmt: skip
_SUMMING = {"add_numbers", "calculate"}


def _first_names(tools_: list[Tool]) -> dict[str, str]:
    return {name: tool.names[0] for tool in tools_ for name in tool.names}


# An everyday tool might answer a request to decline; under a known name it counts as the known one.
_FIRST = {name: name for name in tools_everyday.NAMES} | _first_names(tools.TOOLS + TOOLS)


def tempted(definitions: list[dict[str, Any]] | None) -> tuple[str, ...]:
    """Return the kinds of requests that a listed tool might answer."""
    found = {_FIRST.get(d["function"]["name"]) for d in definitions or []} - {None}
    kinds = ("sum",) if found & _SUMMING else ()
    return kinds + (("refusal",) if found - _UNRELATED else ())


def listed(rng: Random, kind: str) -> list[dict[str, Any]]:
    """Return one or two tools, neither of which fits a request of that kind."""
    if rng.random() < 0.3:
        return [_made_up(rng, set())[0]]
    while True:
        chosen = rng.sample(tools.TOOLS + TOOLS, rng.randint(1, 2))
        made = [definition for definition, _ in tools.listed(rng, chosen)]
        if kind not in tempted(made):
            return made
