"""`CallForm`: how the call of a function appears as an item, and an item as a call.

The model calls functions only. A client may have declared the tool in another form, and expects
the item type of that form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yaie.server.replies.call_arguments import read_arguments
from yaie.server.responses_api.response_store import Item
from yaie.text.past_calls import INPUT

JOINERS = "_./:"  # characters between a namespace and a name
_OPERATIONS = ("create_file", "update_file", "delete_file")


@dataclass(frozen=True, slots=True)
class CallForm:
    """Form of one type of call items."""

    item_type: str
    prefix: str  # of ids
    field: str  # that holds the call
    event: str = ""  # name of the events by which the field grows; "" if it comes at the end
    fill: Callable[[dict[str, Any]], Any] = dict  # the field of an item, by arguments
    restore: Callable[[Any], dict[str, Any]] = dict  # the arguments of a field
    has_name: bool = False  # of the tool; other types have one tool each
    cut_status: str = "incomplete"  # of an item that was cut

    def value(self, text: str) -> Any:
        """Return the field for a text: the arguments, or the input of a tool that takes text."""
        return text if self.event else self.fill(read_arguments(text))

    def arguments(self, item: Item) -> str:
        """Return an item's arguments as the JSON text of an object."""
        value = item[self.field]
        if self.event:
            return value if self is FUNCTION else json.dumps({INPUT: value}, ensure_ascii=False)
        return json.dumps(self.restore(value), ensure_ascii=False)

    def pieces(self, item: Item, sizes: Sequence[int]) -> Iterator[str]:
        """Yield an item's arguments in pieces from which its events are made again.

        `sizes`: of the deltas, in characters.
        """
        if not self.event:
            yield self.arguments(item)
            return
        text, is_custom = item[self.field], self is CUSTOM
        if is_custom:
            yield f'{{"{INPUT}": "'
        for size in sizes:
            piece, text = text[:size], text[size:]
            yield json.dumps(piece, ensure_ascii=False)[1:-1] if is_custom else piece


def _local_shell(given: dict[str, Any]) -> Item:
    env = given.get("env")
    return {
        "type": "exec",
        "command": _strings(given.get("command")),
        "env": {k: v for k, v in env.items() if isinstance(v, str)}
        if isinstance(env, dict)
        else {},
        "timeout_ms": _number(given.get("timeout_ms")),
        "user": _string(given.get("user")),
        "working_directory": _string(given.get("working_directory")),
    }


def _shell(given: dict[str, Any]) -> Item:
    return {
        "commands": _strings(given.get("commands")),
        "timeout_ms": _number(given.get("timeout_ms")),
        "max_output_length": _number(given.get("max_output_length")),
    }


def _apply_patch(given: dict[str, Any]) -> Item:
    kind = given.get("type")
    operation = {
        "type": kind if kind in _OPERATIONS else "update_file",
        "path": _string(given.get("path")) or "",
    }
    if operation["type"] != "delete_file":
        operation["diff"] = _string(given.get("diff")) or ""
    return operation


def _given(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action's members that a model writes as arguments."""
    is_exec = value.get("type") == "exec"
    return {
        name: each
        for name, each in value.items()
        if each not in (None, {}) and not (is_exec and name == "type")
    }


def _strings(given: object) -> list[str]:
    if isinstance(given, str):
        return [given]
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def _string(given: object) -> str | None:
    return given if isinstance(given, str) else None


def _number(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None


FUNCTION = CallForm(
    "function_call", "fc", "arguments", event="function_call_arguments", has_name=True
)
CUSTOM = CallForm("custom_tool_call", "ctc", INPUT, event="custom_tool_call_input", has_name=True)
LOCAL_SHELL = CallForm("local_shell_call", "lsh", "action", fill=_local_shell, restore=_given)
SHELL = CallForm("shell_call", "sh", "action", fill=_shell, restore=_given)
APPLY_PATCH = CallForm(
    "apply_patch_call", "apc", "operation", fill=_apply_patch, cut_status="in_progress"
)
TOOL_SEARCH = CallForm("tool_search_call", "tsc", "arguments")
CALL_FORMS = {
    form.item_type: form
    for form in (FUNCTION, CUSTOM, LOCAL_SHELL, SHELL, APPLY_PATCH, TOOL_SEARCH)
}
# Functions by which the model calls tools without a name.
FUNCTION_NAMES = {
    LOCAL_SHELL: "local_shell",
    SHELL: "shell",
    APPLY_PATCH: "apply_patch",
    TOOL_SEARCH: "tool_search",
}


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool as the client knows it."""

    form: CallForm
    name: str = ""
    namespace: str = ""

    @property
    def function(self) -> str:
        """Name of the function that the model calls."""
        return qualify_name(self.namespace, self.name or FUNCTION_NAMES.get(self.form, ""))

    def item(self, call_id: str, text: str, status: str) -> Item:
        """Return the fields of a call's item besides its id; text: see `CallForm.value`."""
        form = self.form
        shown = form.cut_status if status == "incomplete" else status
        item: Item = {"type": form.item_type, "status": shown, "call_id": call_id}
        if form.has_name:
            item["name"] = self.name
        if self.namespace:
            item["namespace"] = self.namespace
        if form is TOOL_SEARCH:
            item["execution"] = "client"
        return item | {form.field: form.value(text)}


def tool_of(item: Item) -> ClientTool:
    """Return the tool that an item calls."""
    form = CALL_FORMS[item["type"]]
    return ClientTool(form, item.get("name", ""), item.get("namespace") or "")


def qualify_name(namespace: str, name: str) -> str:
    """Return the name of a function in a namespace, as hosts of MCP servers write it."""
    if not namespace:
        return name
    return namespace + ("" if namespace.endswith(tuple(JOINERS)) else "__") + name
