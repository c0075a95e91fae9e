"""`ClientTools`: the tools of a request for a response, as the functions that the model is shown.

Tools that OpenAI's servers run are omitted, and named in the response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.requests.custom_tools import custom_function, forces_input
from yaie.server.requests.offered_tools import OfferedTools
from yaie.server.responses_api.call_forms import (
    APPLY_PATCH,
    CUSTOM,
    FUNCTION,
    FUNCTION_NAMES,
    JOINERS,
    LOCAL_SHELL,
    SHELL,
    TOOL_SEARCH,
    CallForm,
    ClientTool,
    qualify_name,
)
from yaie.server.responses_api.response_store import Item

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_NUMBER = {"type": "integer"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


# Fields of a function that are not for the model.
_NOT_SHOWN = ("type", "name", "allowed_callers", "async", "defer_loading")
# Functions for tools whose parameters OpenAI's models know.
_KNOWN = {
    LOCAL_SHELL: {
        "description": "Run a command on the user's machine.",
        "parameters": _object(
            ["command"],
            command={**_TEXTS, "description": "Program and arguments"},
            working_directory=_TEXT,
            timeout_ms=_NUMBER,
            env={"type": "object", "additionalProperties": _TEXT},
        ),
    },
    SHELL: {
        "description": "Run shell commands on the user's machine.",
        "parameters": _object(
            ["commands"], commands=_TEXTS, timeout_ms=_NUMBER, max_output_length=_NUMBER
        ),
    },
    APPLY_PATCH: {
        "description": "Create, update or delete a file by a diff in the V4A format.",
        "parameters": _object(
            ["type", "path"],
            type={"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
            path=_TEXT,
            diff={**_TEXT, "description": "Lines begin with '+', '-' or a space, hunks with '@@'"},
        ),
    },
}


@dataclass(slots=True)
class ClientTools(OfferedTools):
    """Functions for the model, and the tools that the client knows them by."""

    by_function: dict[str, ClientTool] = field(default_factory=dict)
    forces_calls: bool = False

    def find(self, function: str) -> ClientTool:
        """Return the tool that a call of a function is for.

        A model may join a namespace and a name in its own way, or omit the namespace. Another
        unknown name is a function's.
        """
        if function in self.by_function:
            return self.by_function[function]
        tools = self.by_function.values()
        for namespace in sorted({tool.namespace for tool in tools} - {""}, key=len, reverse=True):
            joined = function.removeprefix(namespace)
            name = joined.lstrip(JOINERS)
            is_inside = joined != name or namespace.endswith(tuple(JOINERS))
            if name and is_inside and function.startswith(namespace):
                known = self.by_function.get(qualify_name(namespace, name))
                return known or ClientTool(FUNCTION, name, namespace)
        named = [tool for tool in tools if tool.name == function]
        return named[0] if len(named) == 1 else ClientTool(FUNCTION, function)

    def add(self, tool: ClientTool, function: Mapping[str, Any], where: str) -> None:
        """Add the function that stands for a tool."""
        self.add_function({"name": tool.function, **function}, where)
        self.by_function.setdefault(tool.function, tool)


def read_tools(given: list[Any] | None, choice: object = None) -> ClientTools:
    """Return the tools of a request with this `tool_choice`. Raises `InvalidRequest`."""
    tools = ClientTools(forces_calls=forces_input(choice))
    for at, tool in enumerate(given or ()):
        _read_tool(tools, tool, f"tools[{at}]", "")
    return tools


def add_found_tools(tools: ClientTools, items: Sequence[Item], places: Sequence[str]) -> None:
    """Add the tools that items of the conversation bring, as the client's search for tools.

    `places`: the field of each item. Raises `InvalidRequest`.
    """
    for item, where in zip(items, places, strict=True):
        found = ClientTools(forces_calls=tools.forces_calls)
        for at, tool in enumerate(item.get("tools", ())):
            _read_tool(found, tool, f"{where}.tools[{at}]", "")
        for chat_tool, place in zip(found.functions, found.places, strict=True):
            function = chat_tool["function"]
            if function["name"] not in tools.by_function:
                tools.add(found.by_function[function["name"]], function, place)
        tools.omitted += found.omitted
        tools.ignored += found.ignored


def chat_choice(choice: object, tools: ClientTools) -> Any:
    """Return the `tool_choice` of a chat. Raises `InvalidRequest`.

    A choice of omitted tools has no effect.
    """
    if not isinstance(choice, Mapping):
        if choice == "required" and tools.is_empty:
            tools.ignored.append("tool_choice")
            return None
        return choice
    kind = choice.get("type")
    if kind == "allowed_tools":
        return _allowed(choice, tools)
    if (name := _chosen(choice, tools, "tool_choice")) is not None:
        return {"type": "function", "function": {"name": name}}
    tools.ignored.append("tool_choice")
    return None


def _allowed(choice: Mapping[str, Any], tools: ClientTools) -> Any:
    listed = choice.get("tools")
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        return dict(choice)  # refused by the chat's checks
    names = [_chosen(each, tools, f"tool_choice.tools[{at}]") for at, each in enumerate(listed)]
    known = [{"type": "function", "name": name} for name in names if name is not None]
    if len(known) < len(listed):
        tools.ignored.append("tool_choice.tools")
        if not known:
            return "none"
    return {**choice, "tools": known}


def _chosen(choice: Mapping[str, Any], tools: ClientTools, where: str) -> str | None:
    """Return the function that a choice names; None for an omitted tool."""
    kind = choice.get("type", "function")
    if not isinstance(kind, str):
        raise InvalidRequest(f"{where}.type must be a string", param=f"{where}.type")
    known = tools.by_function.get(kind)
    if known is not None and known.form in FUNCTION_NAMES:
        return kind
    if kind not in ("function", "custom"):
        return None
    name = _name(choice, where)
    namespace = choice.get("namespace")
    if isinstance(namespace, str):
        return qualify_name(namespace, name)
    if name in tools.by_function:
        return name
    found = [key for key, tool in tools.by_function.items() if tool.name == name]
    return found[0] if len(found) == 1 else name


def _read_tool(tools: ClientTools, tool: object, where: str, namespace: str) -> None:
    if not isinstance(tool, Mapping):
        raise InvalidRequest(f"{where} must be an object", param=where)
    kind = tool.get("type")
    if not isinstance(kind, str):
        raise InvalidRequest(f"{where}.type must be a string", param=f"{where}.type")
    read = _READERS.get(kind)
    if read is None or (kind == "namespace" and namespace):
        tools.omit(kind)
    else:
        read(tools, tool, where, namespace)


def _read_function(tools: ClientTools, tool: Mapping[str, Any], where: str, namespace: str) -> None:
    function = {
        name: value for name, value in tool.items() if name not in _NOT_SHOWN and value is not None
    }
    tools.add(ClientTool(FUNCTION, _name(tool, where), namespace), function, where)


def _read_custom(tools: ClientTools, tool: Mapping[str, Any], where: str, namespace: str) -> None:
    function = custom_function(tool, where, tools.ignored, is_forced=tools.forces_calls)
    tools.add(ClientTool(CUSTOM, _name(tool, where), namespace), function, where)


def _read_namespace(tools: ClientTools, tool: Mapping[str, Any], where: str, _: str) -> None:
    inner = tool.get("tools")
    if not isinstance(inner, list):
        raise InvalidRequest(f"{where}.tools must be a list", param=f"{where}.tools")
    name = _name(tool, where)
    for at, each in enumerate(inner):
        _read_tool(tools, each, f"{where}.tools[{at}]", name)


def _read_known(
    form: CallForm, tools: ClientTools, tool: Mapping[str, Any], where: str, _: str
) -> None:
    environment = tool.get("environment")
    if isinstance(environment, Mapping) and environment.get("type") != "local":
        tools.omit(str(tool["type"]))  # runs in a container of OpenAI's
    else:
        tools.add(ClientTool(form), _KNOWN[form], where)


def _read_search(tools: ClientTools, tool: Mapping[str, Any], where: str, _: str) -> None:
    if tool.get("execution") != "client":
        tools.omit("tool_search")
        return
    function = {
        name: tool[name] for name in ("description", "parameters") if tool.get(name) is not None
    }
    tools.add(ClientTool(TOOL_SEARCH), function, where)


_READERS: Mapping[str, Callable[[ClientTools, Mapping[str, Any], str, str], None]] = {
    "function": _read_function,
    "custom": _read_custom,
    "namespace": _read_namespace,
    "local_shell": partial(_read_known, LOCAL_SHELL),
    "shell": partial(_read_known, SHELL),
    "apply_patch": partial(_read_known, APPLY_PATCH),
    "tool_search": _read_search,
}


def _name(tool: Mapping[str, Any], where: str) -> str:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{where}.name must be a non-empty string", param=f"{where}.name")
    return name
