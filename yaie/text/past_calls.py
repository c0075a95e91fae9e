"""Tool calls of past messages, rewritten for chat templates that cannot show them as they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from yaie.text.formats.json_calls import JsonCalls

_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


def with_written_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the arguments of its calls as JSON text."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": _written(call["function"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def with_short_ids(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with 9 letters and digits in place of each other id of a call.

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


def with_calls_as_text(message: dict[str, Any], syntax: JsonCalls) -> dict[str, Any]:
    """Return a message with its calls behind its text, as the model writes them."""
    if not message.get("tool_calls"):
        return message
    functions = [call["function"] for call in message["tool_calls"]]
    calls = syntax.text_of([(each["name"], _written(each)) for each in functions])
    return {**message, "content": "\n".join(filter(None, (message["content"], calls)))}


def _written(function: Mapping[str, Any]) -> str:
    arguments = function["arguments"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _short(call_id: str) -> str:
    if _SHORT_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]
