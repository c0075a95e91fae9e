"""Ollama's conversations as the messages of a chat completion. Pure functions.

Ollama's calls need no ids: results follow the calls in order, or name their tool. Calls without
an id are numbered over the conversation, so a client that drops the ids sends the same prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter

Message = dict[str, Any]
_ROLES = ("system", "user", "assistant", "tool")


def call_id(number: int) -> str:
    """Return the id of the conversation's call with this number, from 0."""
    return f"call_{number}"


def count_calls(messages: Sequence[Message]) -> int:
    """Return the number of tool calls in checked messages of either API."""
    return sum(len(message.get("tool_calls") or ()) for message in messages)


def chat_turns(given: Sequence[Any]) -> list[Message]:
    """Return the messages of a chat completion. Raises `InvalidRequest`."""
    turns: list[Message] = []
    open_calls: list[tuple[str, str]] = []  # ids and names of calls without a result
    for at, message in enumerate(given):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            raise InvalidRequest(f"{where} must be an object", param=where)
        role = str(message.get("role")).lower()
        if role not in _ROLES:
            raise InvalidRequest(
                f"{where}.role must be {', '.join(map(repr, _ROLES[:-1]))} or {_ROLES[-1]!r}",
                param=f"{where}.role",
            )
        if message.get("images"):
            raise UnsupportedParameter(
                f"{where}.images is not supported by this server: its models read text",
                param=f"{where}.images",
            )
        content = message.get("content")
        turn: Message = {"role": role, "content": "" if content is None else content}
        if role == "assistant":
            turn |= _thoughts_and_calls(message, where, count_calls(turns))
            open_calls += [
                (call["id"], call["function"]["name"]) for call in turn.get("tool_calls", ())
            ]
        elif role == "tool":
            turn |= _answered_call(message, where, open_calls)
        turns.append(turn)
    return turns


def is_prefill(turns: Sequence[Message]) -> bool:
    """Return whether the answer continues the text of the last message."""
    last = turns[-1] if turns else {}
    return last.get("role") == "assistant" and "tool_calls" not in last and bool(last["content"])


def _thoughts_and_calls(message: Message, where: str, num_before: int) -> Message:
    """Return the fields of an assistant's message besides its content."""
    fields: Message = {}
    if message.get("thinking"):
        fields["reasoning_content"] = _string(message, "thinking", where)
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InvalidRequest(f"{where}.tool_calls must be a list", param=f"{where}.tool_calls")
    if calls:
        fields["tool_calls"] = [
            _call(call, f"{where}.tool_calls[{at}]", call_id(num_before + at))
            for at, call in enumerate(calls)
        ]
    return fields


def _call(given: object, where: str, fresh_id: str) -> Message:
    function = given.get("function") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(function, dict):
        raise InvalidRequest(f"{where}.function must be an object", param=f"{where}.function")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, dict | str):
        name = f"{where}.function.arguments"
        raise InvalidRequest(f"{name} must be an object", param=name)
    called = {
        "name": _string(function, "name", f"{where}.function"),
        "arguments": {} if arguments is None else arguments,
    }
    given_id = given.get("id")
    used_id = given_id if isinstance(given_id, str) and given_id else fresh_id
    return {"id": used_id, "type": "function", "function": called}


def _answered_call(message: Message, where: str, open_calls: list[tuple[str, str]]) -> Message:
    """Return id and name of the call that a result answers, and remove it from `open_calls`.

    The id decides, else the name, else the order.
    """
    fields = ("tool_call_id", "tool_name", "name")
    wanted, *names = (_string(message, each, where) if message.get(each) else "" for each in fields)
    name = next(filter(None, names), "")
    matching = (call for call in open_calls if wanted == call[0])
    by_name = (call for call in open_calls if not wanted and name in ("", call[1]))
    found = next(matching, None) or next(by_name, None)
    if found is None:
        return {key: value for key, value in (("tool_call_id", wanted), ("name", name)) if value}
    open_calls.remove(found)
    return {"tool_call_id": found[0], "name": name or found[1]}


def _string(message: Message, name: str, where: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}.{name} must be a string", param=f"{where}.{name}")
    return value
