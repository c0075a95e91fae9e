"""Custom tools: tools that take a text, as functions with one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.requests.lark_pattern import NoPattern, pattern_of
from yaie.server.schemas.chat import ChatBody
from yaie.text.past_calls import INPUT

CUSTOM = "custom"
UNHELD_FORMAT = "tools.custom.format"  # name of a grammar that is no regular expression


def forces_input(choice: object) -> bool:
    """Return True for a `tool_choice` that may force a custom tool's call."""
    if not isinstance(choice, Mapping):
        return choice == "required"
    kind = choice.get("type")
    if kind != "allowed_tools":
        return kind == CUSTOM
    inner = choice.get("allowed_tools", choice)
    return isinstance(inner, Mapping) and inner.get("mode") == "required"


def custom_function(
    tool: Mapping[str, Any], where: str, ignored: list[str], *, is_forced: bool
) -> dict[str, Any]:
    """Return a custom tool's description and parameters as a function's.

    A forced input follows the tool's grammar; a grammar that no pattern holds is added to
    `ignored`. Raises `InvalidRequest` for a wrong format at `where`.
    """
    text: dict[str, Any] = {"type": "string"}
    about, form = tool.get("description"), tool.get("format")
    if isinstance(form, Mapping) and form.get("type") == "grammar":
        syntax, definition = _read_grammar(form, f"{where}.format")
        rules = f"The input follows this {syntax} grammar:\n{definition}"
        about = f"{about}\n\n{rules}" if isinstance(about, str) else rules
        if is_forced:  # a call of the model's own choice may differ
            try:
                text["pattern"] = f"^(?:{pattern_of(definition, syntax)})$"
            except (NoPattern, RecursionError):
                ignored.append(UNHELD_FORMAT)
    parameters = {
        "type": "object",
        "properties": {INPUT: text},
        "required": [INPUT],
        "additionalProperties": False,
    }
    return {"parameters": parameters} | ({} if about is None else {"description": about})


def _read_grammar(form: Mapping[str, Any], where: str) -> tuple[str, str]:
    """Return syntax and definition; a chat has them in an object more than a response."""
    if isinstance(form.get("grammar"), Mapping):
        form, where = form["grammar"], f"{where}.grammar"
    syntax, definition = form.get("syntax"), form.get("definition")
    if syntax not in ("lark", "regex"):
        raise InvalidRequest(f"{where}.syntax must be 'lark' or 'regex'", param=f"{where}.syntax")
    if not isinstance(definition, str):
        raise InvalidRequest(f"{where}.definition must be a string", param=f"{where}.definition")
    return str(syntax), definition


@dataclass(frozen=True, slots=True)
class CustomTools:
    """A chat whose tools are functions, and the names of its custom tools."""

    body: ChatBody
    names: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()  # names of fields without effect


def with_functions(body: ChatBody) -> CustomTools:
    """Return a chat with functions in place of its custom tools. Raises `InvalidRequest`."""
    places = frozenset(
        at
        for at, tool in enumerate(body.tools or ())
        if isinstance(tool, Mapping) and tool.get("type") == CUSTOM
    )
    if not places or body.tools is None:
        return CustomTools(body)
    is_forced, tools = forces_input(body.tool_choice), list(body.tools)
    ignored: list[str] = []
    for at in sorted(places):
        where, tool = f"tools[{at}]", tools[at].get(CUSTOM)
        if not isinstance(tool, Mapping):
            raise InvalidRequest(
                f"{where} must be an object with a custom tool that has a name", param=where
            )
        where = f"{where}.{CUSTOM}"
        function = custom_function(tool, where, ignored, is_forced=is_forced)
        tools[at] = {"type": "function", "function": {"name": tool.get("name"), **function}}
    changed = body.model_copy(update={"tools": tools})
    changed = changed.with_names(replace(body.names, custom=places))
    names = (tools[at]["function"]["name"] for at in places)
    return CustomTools(changed, frozenset(map(str, names)), tuple(ignored))
