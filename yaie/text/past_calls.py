"""Tool calls of past messages, rewritten for chat templates that cannot show them as they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaie.text.formats.json_calls import JsonCalls

_TOKENS = re.compile(r'\\.|["{}\[\],]', re.DOTALL)  # JSON tokens that brackets depend on
_MAX_CLOSINGS = 64
# Parameter of the function that stands for a custom tool, a tool that takes a text.
INPUT = "input"
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


def as_function_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the call of a custom tool as a function's, with the text as its one argument.

    Other calls are unchanged.
    """
    custom = call.get("custom")
    if call.get("type") != "custom" or not isinstance(custom, Mapping):
        return call
    function = {"name": custom.get("name"), "arguments": {INPUT: custom.get(INPUT, "")}}
    rest = {name: value for name, value in call.items() if name != "custom"}
    return {**rest, "type": "function", "function": function}


def read_arguments(given: object) -> object:
    """Return the arguments of a past call as an object; text that is no object stays text."""
    if isinstance(given, str):
        try:
            read = json.loads(given.strip() or "{}")
        except (ValueError, RecursionError):
            return given
        return read if isinstance(read, dict) else given
    return given


def with_written_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the arguments of its calls as JSON text."""
    return _with_arguments(message, _write)


def with_object_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the arguments of its calls as objects.

    A model may have written broken JSON, or its answer was cut: as much is read as there is.
    """
    return _with_arguments(message, _repair)


def _with_arguments(message: dict[str, Any], change: Callable[[object], object]) -> dict[str, Any]:
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**function, "arguments": change(function["arguments"])}}
        for call in message["tool_calls"]
        for function in (call["function"],)
    ]
    return {**message, "tool_calls": calls}


def _write(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _repair(arguments: object) -> dict[str, Any]:
    """Return arguments as an object, from broken text by closing its string and brackets."""
    if isinstance(arguments, Mapping):
        return dict(arguments)
    text = _write(arguments)
    for closed in _closings(text.strip()):
        try:
            read, _ = json.JSONDecoder(strict=False).raw_decode(closed)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict):
            return read
    return {"arguments": text}


def _closings(text: str) -> Iterator[str]:
    """Yield JSON texts that may be the beginning of a broken one, the longest first."""
    closers, before_members = "", [("", "")]  # each prefix up to a comma, and its closers
    in_string = False
    for at, token in ((each.start(), each[0]) for each in _TOKENS.finditer(text)):
        if token == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif token in "{[":
            closers = ("}" if token == "{" else "]") + closers
            before_members.append((text[: at + 1], closers))
        elif token in "}]":
            closers = closers[1:]
        elif token == ",":
            before_members.append((text[:at], closers))
    yield text + ('"' if in_string else "") + closers
    for before, ending in before_members[: -_MAX_CLOSINGS - 1 : -1]:
        yield before + ending


def with_short_ids(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose call ids all have 9 letters and digits.

    Mistral's templates refuse others, and a conversation may have begun with another model.
    """
    short = dict(message)
    if isinstance(message.get("tool_call_id"), str):
        short["tool_call_id"] = _short(message["tool_call_id"])
    if "tool_calls" in message:
        short["tool_calls"] = [
            {**call, "id": _short(call["id"])} if isinstance(call.get("id"), str) else call
            for call in message["tool_calls"]
        ]
    return short


def with_numbered_ids(conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with the ids `functions.NAME:NUMBER` in place of the ones in other servers.

    Kimi's templates show calls by their ids alone.
    """
    ids: dict[Any, str] = {}
    changed, number = [], 0
    for message in conversation:
        new = dict(message)
        if message.get("tool_calls"):
            new["tool_calls"] = []
            for call in message["tool_calls"]:
                name, old = call["function"]["name"], call.get("id")
                if not str(old).startswith(f"functions.{name}:"):
                    ids[old] = f"functions.{name}:{number}"
                number += 1
                new["tool_calls"].append({**call, "id": ids.get(old, old)})
        if message.get("tool_call_id") in ids:
            new["tool_call_id"] = ids[message["tool_call_id"]]
        changed.append(new)
    return changed


def with_calls_as_text(message: dict[str, Any], syntax: JsonCalls) -> dict[str, Any]:
    """Return a message whose calls are text after its text, as the model writes them."""
    if not message.get("tool_calls"):
        return message
    text = dict(message)
    functions = [call["function"] for call in text.pop("tool_calls")]
    calls = syntax.text_of([(each["name"], _write(each["arguments"])) for each in functions])
    return {**text, "content": "\n".join(filter(None, (message["content"], calls)))}


def _short(call_id: str) -> str:
    if _SHORT_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


# Changes of a message that may mend the failure of a template, in the order to try them.
CALL_REWRITES: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
    with_written_arguments,
    with_object_arguments,
    with_short_ids,
    lambda message: with_short_ids(with_object_arguments(message)),
)
