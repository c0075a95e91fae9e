"""Input items of `/v1/responses`: checked, and in the one form that is stored and listed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.server.responses_api.response_store import Item

ROLES = ("user", "assistant", "system", "developer")
_TEXT_KINDS = ("input_text", "output_text", "text")
_READ = "'message', 'function_call', 'function_call_output', 'reasoning' and 'item_reference'"


def new_id(prefix: str) -> str:
    """Return a fresh id, as `msg_` and 32 digits."""
    return f"{prefix}_{uuid.uuid4().hex}"


def read_items(given: object, find: Callable[[str], Item | None]) -> list[Item]:
    """Return the input of a body as items with ids. `find` returns a stored item by its id.

    Raises `InvalidRequest` or `UnsupportedParameter` with the name of the field.
    """
    if isinstance(given, str):
        return [_message({"role": "user", "content": given}, "input")]
    if not isinstance(given, list):
        raise InvalidRequest("input must be a string or a list of items", param="input")
    return [_item(item, f"input[{at}]", find) for at, item in enumerate(given)]


def _item(item: object, where: str, find: Callable[[str], Item | None]) -> Item:
    if not isinstance(item, Mapping):
        raise InvalidRequest(f"{where} must be an object", param=where)
    kind = item.get("type", "message")
    if kind == "message":
        return _message(item, where)
    if kind == "function_call":
        return {
            "id": _id_of(item, "fc"),
            "type": kind,
            "status": "completed",
            "call_id": _text(item, "call_id", where),
            "name": _text(item, "name", where),
            "arguments": _text(item, "arguments", where),
        }
    if kind == "function_call_output":
        output = item.get("output")
        if not isinstance(output, str):
            output = _parts(output, "input_text", f"{where}.output")
        return {
            "id": _id_of(item, "fco"),
            "type": kind,
            "status": "completed",
            "call_id": _text(item, "call_id", where),
            "output": output,
        }
    if kind == "reasoning":
        return _reasoning(item, where)
    if kind == "item_reference":
        return _find_item(item, where, find)
    raise UnsupportedParameter(
        f"{where}.type is {str(kind)[:40]!r}; this server reads {_READ}", param=f"{where}.type"
    )


def _message(item: Mapping[str, Any], where: str) -> Item:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        raise InvalidRequest(
            f"{where}.role must be one of {', '.join(ROLES)}", param=f"{where}.role"
        )
    kind = "output_text" if role == "assistant" else "input_text"
    if isinstance(content, str):
        content = [{"type": kind, "text": content}]
    return {
        "id": _id_of(item, "msg"),
        "type": "message",
        "status": "completed",
        "role": role,
        "content": _parts(content, kind, f"{where}.content"),
    }


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


def _reasoning(item: Mapping[str, Any], where: str) -> Item:
    """Return an earlier thought. Its encrypted form, of another server, cannot be read."""
    kept: Item = {"id": _id_of(item, "rs"), "type": "reasoning", "status": "completed"}
    for field, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        parts = item.get(field) or []
        if not isinstance(parts, list):
            raise InvalidRequest(f"{where}.{field} must be a list", param=f"{where}.{field}")
        kept[field] = []
        for at, part in enumerate(parts):
            here = f"{where}.{field}[{at}]"
            if not isinstance(part, Mapping):
                raise InvalidRequest(f"{here} must be an object", param=here)
            kept[field].append({"type": kind, "text": _text(part, "text", here)})
    return kept


def _find_item(item: Mapping[str, Any], where: str, find: Callable[[str], Item | None]) -> Item:
    item_id = _text(item, "id", where)
    found = find(item_id)
    if found is None:
        raise InvalidRequest(
            f"{where}.id is {item_id[:80]!r}, which is not stored or has expired; send the item "
            f"itself",
            param=f"{where}.id",
        )
    return found


def _text(item: Mapping[str, Any], field: str, where: str) -> str:
    value = item.get(field)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}.{field} must be a string", param=f"{where}.{field}")
    return value


def _id_of(item: Mapping[str, Any], prefix: str) -> str:
    given = item.get("id")
    return given if isinstance(given, str) and given else new_id(prefix)
