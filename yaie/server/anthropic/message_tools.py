"""Tools of `/v1/messages` as functions of a chat.

Tools that Anthropic's servers run are omitted. Tools that the client runs, with parameters that
Anthropic's models know, are functions with these parameters.
"""

from __future__ import annotations

import re
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.server.anthropic.block_fields import read_string
from yaie.server.requests.offered_tools import OfferedTools

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_RANGE = {"type": "array", "items": _NUMBER, "description": "First and last line"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _commands(*names: str) -> dict[str, Any]:
    return {**_TEXT, "enum": list(names)}


# By type without its date.
_KNOWN: dict[str, dict[str, Any]] = {
    "bash": {
        "name": "bash",
        "description": "Run a command in a persistent bash session.",
        "parameters": _object(["command"], command=_TEXT, restart={"type": "boolean"}),
    },
    "text_editor": {
        "name": "str_replace_based_edit_tool",
        "description": "View, create and edit text files.",
        "parameters": _object(
            ["command", "path"],
            command=_commands("view", "create", "str_replace", "insert"),
            path=_TEXT,
            file_text={**_TEXT, "description": "Content for create"},
            old_str={**_TEXT, "description": "Text to replace; it must occur once"},
            new_str={**_TEXT, "description": "Text in its place"},
            insert_line=_NUMBER,
            insert_text=_TEXT,
            view_range=_RANGE,
        ),
    },
    "memory": {
        "name": "memory",
        "description": "Keep notes in files below /memories.",
        "parameters": _object(
            ["command"],
            command=_commands("view", "create", "str_replace", "insert", "delete", "rename"),
            path=_TEXT,
            file_text=_TEXT,
            old_str=_TEXT,
            new_str=_TEXT,
            insert_line=_NUMBER,
            insert_text=_TEXT,
            view_range=_RANGE,
            old_path=_TEXT,
            new_path=_TEXT,
        ),
    },
}
_DATED = re.compile(r"(.+)_[0-9]{8}")


def read_tools(given: list[Any] | None) -> OfferedTools:
    """Return the tools of a request. Raises `InvalidRequest`."""
    tools = OfferedTools()
    for at, tool in enumerate(given or ()):
        where = f"tools[{at}]"
        if not isinstance(tool, dict):
            raise InvalidRequest(f"{where} must be an object", param=where)
        kind = tool.get("type")
        if kind is not None and not isinstance(kind, str):
            raise InvalidRequest(f"{where}.type must be a string", param=f"{where}.type")
        if kind == "function":
            raise UnsupportedParameter(
                f"{where}.type is 'function'; tools here have a name and an input_schema",
                param=f"{where}.type",
            )
        if kind in (None, "custom"):
            tools.add_function(_read_custom(tool, where), where)
            continue
        dated = _DATED.fullmatch(kind)
        known = _KNOWN.get(dated[1]) if dated else None
        if known is None:
            tools.omit(kind)
        else:
            tools.add_function(known | _read_known(tool, where), where)
    return tools


def read_tool_choice(given: dict[str, Any] | None, tools: OfferedTools) -> tuple[Any, bool | None]:
    """Return `tool_choice` and `parallel_tool_calls` of a chat completion; None if omitted.

    A choice of omitted tools has no effect.
    """
    if given is None:
        return None, None
    kind = given.get("type")
    is_single = given.get("disable_parallel_tool_use")
    if is_single is not None and not isinstance(is_single, bool):
        where = "tool_choice.disable_parallel_tool_use"
        raise InvalidRequest(f"{where} must be a boolean", param=where)
    parallel = None if is_single is None else not is_single
    choice: Any = {"auto": "auto", "any": "required", "none": "none"}.get(str(kind))
    name = ""
    if kind == "tool":
        name = read_string(given, "name", "tool_choice")
        choice = {"type": "function", "function": {"name": name}}
    elif choice is None:
        raise InvalidRequest(
            "tool_choice.type must be 'auto', 'any', 'tool' or 'none'", param="tool_choice.type"
        )
    is_of_omitted = bool(name) and any(each.startswith(f"{name}_") for each in tools.omitted)
    if is_of_omitted or (choice == "required" and tools.is_empty):
        tools.ignored.append("tool_choice")
        return None, parallel
    return choice, parallel


def _read_custom(tool: dict[str, Any], where: str) -> dict[str, Any]:
    function: dict[str, Any] = {"name": read_string(tool, "name", where)}
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        raise InvalidRequest(
            f"{where}.input_schema must be an object", param=f"{where}.input_schema"
        )
    if tool.get("description") is not None:
        function["description"] = read_string(tool, "description", where)
    function["parameters"] = schema
    return function | _read_strict(tool)


def _read_known(tool: dict[str, Any], where: str) -> dict[str, Any]:
    named = {"name": read_string(tool, "name", where)} if "name" in tool else {}
    return named | _read_strict(tool)


def _read_strict(tool: dict[str, Any]) -> dict[str, Any]:
    return {} if tool.get("strict") is None else {"strict": tool["strict"]}
