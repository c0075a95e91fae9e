"""Anthropic's conversations, translated to the messages and tools of a chat completion.

Pure functions. Errors name a field as the client named it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter

# Claude Code's first system block; it differs in each request and would end every shared prefix.
_BILLING = "x-anthropic-billing-header:"
_ROLES = ("user", "assistant", "system")
Message = dict[str, Any]


def chat_messages(system: object, given: list[Any]) -> list[Message]:
    """Return chat completion messages; neighbours with one role are joined."""
    messages = [*_system(system), *_turns(given)]
    joined: list[Message] = []
    for message in messages:
        if joined and _is_same_turn(joined[-1], message):
            _extend(joined[-1], message)
        else:
            joined.append(message)
    return joined


def chat_tools(given: list[Any] | None) -> list[dict[str, Any]] | None:
    """Return the tools of a chat completion."""
    return None if given is None else [_tool(tool, f"tools[{at}]") for at, tool in enumerate(given)]


def chat_tool_choice(given: dict[str, Any] | None) -> tuple[Any, bool | None]:
    """Return `tool_choice` and `parallel_tool_calls` of a chat completion; None if left out."""
    if given is None:
        return None, None
    kind = given.get("type")
    is_single = given.get("disable_parallel_tool_use")
    if is_single is not None and not isinstance(is_single, bool):
        where = "tool_choice.disable_parallel_tool_use"
        raise InvalidRequest(f"{where} must be a boolean", param=where)
    parallel = None if is_single is None else not is_single
    if kind == "tool":
        name = _string(given, "name", "tool_choice")
        return {"type": "function", "function": {"name": name}}, parallel
    choices = {"auto": "auto", "any": "required", "none": "none"}
    if not isinstance(kind, str) or kind not in choices:
        raise InvalidRequest(
            "tool_choice.type must be 'auto', 'any', 'tool' or 'none'", param="tool_choice.type"
        )
    return choices[kind], parallel


def _system(given: object) -> Iterator[Message]:
    if given is None:
        return
    texts = [given] if isinstance(given, str) else _texts(given, "system")
    texts = [text for text in texts if text and not text.startswith(_BILLING)]
    if texts:
        yield {"role": "system", "content": "\n".join(texts)}


def _turns(given: list[Any]) -> Iterator[Message]:
    names: dict[str, str] = {}  # tool names by tool use id
    for at, message in enumerate(given):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            raise InvalidRequest(f"{where} must be an object", param=where)
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES:
            raise InvalidRequest(
                f"{where}.role must be 'user', 'assistant' or 'system'", param=f"{where}.role"
            )
        where += ".content"
        if isinstance(content, str):
            yield {"role": role, "content": content}
        elif not isinstance(content, list):
            raise InvalidRequest(f"{where} must be a string or a list of blocks", param=where)
        elif role == "system":
            yield {"role": role, "content": "\n".join(_texts(content, where))}
        elif role == "assistant":
            yield _assistant(content, where, names)
        else:
            yield from _user(content, where, names)


def _user(blocks: list[Any], where: str, names: dict[str, str]) -> Iterator[Message]:
    """Yield the tool results and texts of a user's turn, in their order."""
    if not blocks:
        raise InvalidRequest(f"{where} is empty; send at least one block", param=where)
    for at, block in enumerate(blocks):
        kind = _kind(block, f"{where}[{at}]")
        if kind == "text":
            yield {"role": "user", "content": _string(block, "text", f"{where}[{at}]")}
        elif kind == "tool_result":
            yield _tool_result(block, f"{where}[{at}]", names)
        else:
            raise _unread(kind, f"{where}[{at}]", "'text' and 'tool_result' from a user")


def _tool_result(block: Message, where: str, names: dict[str, str]) -> Message:
    call_id = _string(block, "tool_use_id", where)
    content = block.get("content")
    if content is None:
        content = ""
    elif not isinstance(content, str):
        content = "\n".join(_texts(content, f"{where}.content"))
    if block.get("is_error") and not content.lower().startswith("error"):
        content = f"Error: {content}"  # templates have no field for it
    message = {"role": "tool", "tool_call_id": call_id, "content": content}
    if call_id in names:
        message["name"] = names[call_id]
    return message


def _assistant(blocks: list[Any], where: str, names: dict[str, str]) -> Message:
    texts, thoughts, calls = [], [], []
    for at, block in enumerate(blocks):
        place = f"{where}[{at}]"
        kind = _kind(block, place)
        if kind == "text":
            texts.append(_string(block, "text", place))
        elif kind == "thinking":
            thoughts.append(_string(block, "thinking", place))
        elif kind == "tool_use":
            calls.append(_tool_use(block, place, names))
        elif kind != "redacted_thinking":  # readable by its author only
            raise _unread(kind, place, "'text', 'thinking' and 'tool_use' from an assistant")
    message: Message = {"role": "assistant", "content": "\n".join(texts)}
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


def _tool_use(block: Message, where: str, names: dict[str, str]) -> dict[str, Any]:
    call_id, name = _string(block, "id", where), _string(block, "name", where)
    given = block.get("input")
    if not isinstance(given, dict):
        raise InvalidRequest(f"{where}.input must be an object", param=f"{where}.input")
    names[call_id] = name
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}


def _tool(given: object, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidRequest(f"{where} must be an object", param=where)
    kind = given.get("type")
    if kind not in (None, "custom"):
        raise UnsupportedParameter(
            f"{where}.type is {str(kind)[:40]!r}; this server supports only tools with a name and "
            f"an input_schema",
            param=f"{where}.type",
        )
    function: dict[str, Any] = {"name": _string(given, "name", where)}
    schema = given.get("input_schema")
    if not isinstance(schema, dict):
        raise InvalidRequest(
            f"{where}.input_schema must be an object", param=f"{where}.input_schema"
        )
    if given.get("description") is not None:
        function["description"] = _string(given, "description", where)
    function["parameters"] = schema
    if given.get("strict") is not None:
        function["strict"] = given["strict"]
    return {"type": "function", "function": function}


def _texts(blocks: object, where: str) -> list[str]:
    """Return the texts of `text` blocks."""
    if not isinstance(blocks, list):
        raise InvalidRequest(f"{where} must be a string or a list of blocks", param=where)
    texts = []
    for at, block in enumerate(blocks):
        kind = _kind(block, f"{where}[{at}]")
        if kind != "text":
            raise _unread(kind, f"{where}[{at}]", "'text' here")
        texts.append(_string(block, "text", f"{where}[{at}]"))
    return texts


def _kind(block: object, where: str) -> str:
    if not isinstance(block, dict):
        raise InvalidRequest(f"{where} must be an object", param=where)
    return _string(block, "type", where)


def _string(block: dict[str, Any], name: str, where: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"{where}.{name} must be a string", param=f"{where}.{name}")
    return value


def _unread(kind: str, where: str, read: str) -> UnsupportedParameter:
    return UnsupportedParameter(
        f"{where}.type is {kind[:40]!r}; this model reads {read}", param=f"{where}.type"
    )


def _is_same_turn(last: Message, message: Message) -> bool:
    return bool(last["role"] == message["role"] != "tool")


def _extend(last: Message, message: Message) -> None:
    """Append a message to a message with the same role."""
    for name in ("content", "reasoning_content"):
        texts = [each[name] for each in (last, message) if each.get(name)]
        if texts:
            last[name] = "\n".join(texts)
    if "tool_calls" in message:
        last["tool_calls"] = [*last.get("tool_calls", ()), *message["tool_calls"]]
