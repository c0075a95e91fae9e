"""Input items of `/v1/responses`: checked, and in the one form that is stored and listed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.server.requests.checks import IMAGE_NOTE, plain
from yaie.server.responses_api.call_forms import CALL_FORMS, FUNCTION, CallForm
from yaie.server.responses_api.response_store import Item
from yaie.server.schemas.responses import ITEM_REFERENCE

ROLES = ("user", "assistant", "system", "developer")
_TEXT_KINDS = ("input_text", "output_text", "text")
_IMAGE = "input_image"
Given = Mapping[str, Any]


def new_id(prefix: str) -> str:
    """Return a fresh id, as `msg_` and 32 digits."""
    return f"{prefix}_{uuid.uuid4().hex}"


@dataclass(slots=True)
class InputRead:
    """Items of an input with ids, the place of each, and the names of omitted items."""

    items: list[Item] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def read_input(given: object, find: Callable[[str], Item | None]) -> InputRead:
    """Return the input of a body. `find` returns a stored item by its id.

    Items of other servers' tools are omitted. Raises `InvalidRequest` or `UnsupportedParameter`
    with the name of the field.
    """
    found = InputRead()
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
        places = ["input"]
    elif isinstance(given, list):
        places = [f"input[{at}]" for at in range(len(given))]
    else:
        raise InvalidRequest("input must be a string or a list of items", param="input")
    for item, where in zip(given, places, strict=True):
        kind = _kind(item, where)
        if kind == ITEM_REFERENCE:
            read = [_find_item(item, where, find)]
        elif kind in _READERS:
            seen = _note_images(item)
            if seen is not item:
                found.ignored.append(f"input.{_IMAGE}")
            read = _READERS[kind](seen, where)
        else:
            found.ignored.append(f"input.{plain(kind)}")
            continue
        found.items += read
        found.places += [where] * len(read)
    return found


def _kind(item: object, where: str) -> str:
    if not isinstance(item, Mapping):
        raise InvalidRequest(f"{where} must be an object", param=where)
    kind = item.get("type", "message")
    if not isinstance(kind, str):
        raise InvalidRequest(f"{where}.type must be a string", param=f"{where}.type")
    return kind


def _note_images(item: Given) -> Given:
    """Return the item; with a note in the place of each image of a tool's result."""
    output = item.get("output")
    if not isinstance(output, list) or not any(_is_image(part) for part in output):
        return item
    note = {"type": "input_text", "text": IMAGE_NOTE}
    return {**item, "output": [note if _is_image(part) else part for part in output]}


def _is_image(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == _IMAGE


def _message(item: Given, where: str) -> list[Item]:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        raise InvalidRequest(
            f"{where}.role must be one of {', '.join(ROLES)}", param=f"{where}.role"
        )
    kind = "output_text" if role == "assistant" else "input_text"
    if isinstance(content, str):
        content = [{"type": kind, "text": content}]
    return [
        {
            "id": _id_of(item, "msg"),
            "type": "message",
            "status": "completed",
            "role": role,
            "content": _parts(content, kind, f"{where}.content"),
        }
    ]


def _parts(content: object, kind: str, where: str) -> list[Item]:
    """Return content parts, all of the type `kind`, or refusals."""
    if not isinstance(content, list):
        raise InvalidRequest(f"{where} must be a string or a list of parts", param=where)
    parts: list[Item] = []
    for at, part in enumerate(content):
        here = f"{where}[{at}]"
        if not isinstance(part, Mapping):
            raise InvalidRequest(f"{here} must be an object", param=here)
        given = part.get("type")
        if given == "refusal" and kind == "output_text":
            parts.append({"type": "refusal", "refusal": _text(part, "refusal", here)})
        elif given in _TEXT_KINDS:
            text = {"type": kind, "text": _text(part, "text", here)}
            parts.append(text | ({"annotations": []} if kind == "output_text" else {}))
        else:
            raise UnsupportedParameter(
                f"{here}.type is {str(given)[:40]!r}; this model is served for text only, so send "
                f"parts of type {kind!r}",
                param=f"{here}.type",
            )
    return parts


def _reasoning(item: Given, where: str) -> list[Item]:
    """Return an earlier thought. Its encrypted form, of another server, cannot be read."""
    kept: Item = {"id": _id_of(item, "rs"), "type": "reasoning", "status": "completed"}
    for name, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        parts = item.get(name) or []
        if not isinstance(parts, list):
            raise InvalidRequest(f"{where}.{name} must be a list", param=f"{where}.{name}")
        kept[name] = []
        for at, part in enumerate(parts):
            here = f"{where}.{name}[{at}]"
            if not isinstance(part, Mapping):
                raise InvalidRequest(f"{here} must be an object", param=here)
            kept[name].append({"type": kind, "text": _text(part, "text", here)})
    return [kept]


def _call(form: CallForm) -> Callable[[Given, str], list[Item]]:
    """Return the reader of one type of calls."""

    def read(item: Given, where: str) -> list[Item]:
        kept: Item = {
            "id": _id_of(item, form.prefix),
            "type": form.item_type,
            "status": "completed",
            "call_id": _call_id(item, where),
        }
        if form.has_name:
            kept["name"] = _text(item, "name", where)
        if isinstance(item.get("namespace"), str):
            kept["namespace"] = item["namespace"]
        if form.event:
            kept[form.field] = _text(item, form.field, where)
            return [kept]
        value = item.get(form.field)
        if not isinstance(value, Mapping):
            place = f"{where}.{form.field}"
            raise InvalidRequest(f"{place} must be an object", param=place)
        kept[form.field] = form.fill(dict(value))
        if form.item_type == "tool_search_call":
            kept["execution"] = "client"
        return [kept]

    return read


def _result(kind: str, prefix: str) -> Callable[[Given, str], list[Item]]:
    """Return the reader of results whose output is text."""

    def read(item: Given, where: str) -> list[Item]:
        output = item.get("output")
        if output is None and "status" in item:
            output = str(item["status"])  # as of a patch that was applied
        if not isinstance(output, str):
            output = _parts(output, "input_text", f"{where}.output")
        return [_of_result(item, kind, prefix, where) | {"output": output}]

    return read


def _of_result(item: Given, kind: str, prefix: str, where: str) -> Item:
    status = item.get("status") if kind == "apply_patch_call_output" else None
    return {
        "id": _id_of(item, prefix),
        "type": kind,
        "status": "failed" if status == "failed" else "completed",
        "call_id": _call_id(item, where),
    }


def _shell_result(item: Given, where: str) -> list[Item]:
    """Return the results of shell commands: their texts and exit codes."""
    kept = _of_result(item, "shell_call_output", "sho", where)
    outputs = item.get("output")
    if isinstance(outputs, str):
        outputs = [{"stdout": outputs}]
    if not isinstance(outputs, list):
        raise InvalidRequest(f"{where}.output must be a list", param=f"{where}.output")
    kept["output"] = []
    for at, each in enumerate(outputs):
        here = f"{where}.output[{at}]"
        if not isinstance(each, Mapping):
            raise InvalidRequest(f"{here} must be an object", param=here)
        outcome = each.get("outcome")
        code = outcome.get("exit_code") if isinstance(outcome, Mapping) else 0
        is_late = isinstance(outcome, Mapping) and outcome.get("type") == "timeout"
        kept["output"].append(
            {
                **{name: _optional_text(each, name, here) for name in ("stdout", "stderr")},
                "outcome": {"type": "timeout"}
                if is_late
                else {"type": "exit", "exit_code": code if isinstance(code, int) else 0},
            }
        )
    return [kept]


def _search_result(item: Given, where: str) -> list[Item]:
    """Return the tools that a client's search found."""
    tools = item.get("tools")
    if not isinstance(tools, list):
        raise InvalidRequest(f"{where}.tools must be a list", param=f"{where}.tools")
    kept = _of_result(item, "tool_search_output", "tso", where)
    return [kept | {"execution": "client", "tools": tools}]


def _more_tools(item: Given, where: str) -> list[Item]:
    """Return tools that the client adds in the middle of a conversation."""
    tools = item.get("tools")
    if not isinstance(tools, list):
        raise InvalidRequest(f"{where}.tools must be a list", param=f"{where}.tools")
    kind = "additional_tools"
    return [{"id": _id_of(item, "at"), "type": kind, "role": "developer", "tools": tools}]


def _remote_call(item: Given, where: str) -> list[Item]:
    """Return the call of an MCP server by another server, as a call and its result."""
    label = item.get("server_label")
    call_id = str(item.get("id") or new_id("mcp"))
    call: Item = {
        "id": new_id(FUNCTION.prefix),
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": _text(item, "name", where),
        "arguments": _text(item, "arguments", where),
    }
    if isinstance(label, str) and label:
        call["namespace"] = label
    output = item.get("output")
    if not isinstance(output, str):
        output = f"Error: {item.get('error') or 'the call has no result'}"
    result = {"type": "function_call_output", "status": "completed", "call_id": call_id}
    return [call, {"id": new_id("fco"), **result, "output": output}]


_READERS: Mapping[str, Callable[[Given, str], list[Item]]] = {
    "message": _message,
    "reasoning": _reasoning,
    **{kind: _call(form) for kind, form in CALL_FORMS.items()},
    "function_call_output": _result("function_call_output", "fco"),
    "custom_tool_call_output": _result("custom_tool_call_output", "cto"),
    "local_shell_call_output": _result("local_shell_call_output", "lso"),
    "apply_patch_call_output": _result("apply_patch_call_output", "apo"),
    "shell_call_output": _shell_result,
    "tool_search_output": _search_result,
    "mcp_call": _remote_call,
    "additional_tools": _more_tools,
}


def _find_item(item: Given, where: str, find: Callable[[str], Item | None]) -> Item:
    item_id = _text(item, "id", where)
    found = find(item_id)
    if found is None:
        raise InvalidRequest(
            f"{where}.id is {item_id[:80]!r}, which is not stored or has expired; send the item "
            f"itself",
            param=f"{where}.id",
        )
    return found


def _text(item: Given, name: str, where: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}.{name} must be a string", param=f"{where}.{name}")
    return value


def _optional_text(item: Given, name: str, where: str) -> str:
    return "" if item.get(name) is None else _text(item, name, where)


def _call_id(item: Given, where: str) -> str:
    """Return the id by which calls and results are matched; some types have it as their id."""
    name = "call_id" if item.get("call_id") is not None or "id" not in item else "id"
    return _text(item, name, where)


def _id_of(item: Given, prefix: str) -> str:
    given = item.get("id")
    return given if isinstance(given, str) and given else new_id(prefix)
