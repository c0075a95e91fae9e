"""Messages of a request as templates expect them: checked, with plain text and read arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.text.contents import content_text, content_texts
from yaie.text.past_calls import as_function_call, read_arguments

MAX_MESSAGES = 10_000
MAX_TOOLS = 512
ROLES = ("system", "developer", "user", "assistant", "tool", "function")

_KEEP_PARTS = ("user", "system")  # parts of other roles are joined where text is shown

Message = dict[str, Any]


def read_messages(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the messages with their content as text, or as the list of its parts' texts.

    Raises `InvalidRequest` with the field name, and `UnsupportedParameter` for images and audio.
    """
    if not messages:
        raise InvalidRequest("messages is empty; send at least one message", param="messages")
    if len(messages) > MAX_MESSAGES:
        raise InvalidRequest(
            f"messages has {len(messages)} entries; at most {MAX_MESSAGES} are read",
            param="messages",
        )
    return [_read_message(message, at) for at, message in enumerate(messages)]


def check_tools_and_options(tools: object, template_kwargs: object) -> None:
    """Raise for wrong types here: the errors of a template would name neither argument."""
    if template_kwargs is not None and not isinstance(template_kwargs, Mapping):
        raise InvalidRequest("chat_template_kwargs must be an object", param="chat_template_kwargs")
    if tools is None:
        return
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InvalidRequest("tools must be a list of objects", param="tools")
    if len(tools) > MAX_TOOLS:
        raise InvalidRequest(
            f"tools has {len(tools)} entries; at most {MAX_TOOLS} are read", param="tools"
        )
    for at, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            raise InvalidRequest(f"tools[{at}] must be an object", param=f"tools[{at}]")


def text_of_content(content: str | Sequence[str]) -> str:
    """Return a content's text, with its parts on lines."""
    return content if isinstance(content, str) else "\n".join(content)


def _read_message(message: Mapping[str, Any], at: int) -> Message:
    where = f"messages[{at}]"
    if not isinstance(message, Mapping):
        raise InvalidRequest(f"{where} must be an object", param=where)
    role = message.get("role")
    if role not in ROLES:
        raise InvalidRequest(
            f"{where}.role must be one of {', '.join(ROLES)}", param=f"{where}.role"
        )
    plain = {key: value for key, value in message.items() if value is not None}
    if role == "developer":  # OpenAI's newer name for the system message
        plain["role"] = "system"
    content = message.get("content")
    if content is None:
        if role != "assistant":
            raise InvalidRequest(f"{where}.content is missing", param=f"{where}.content")
        plain["content"] = ""
    elif plain["role"] in _KEEP_PARTS and not isinstance(content, str):
        plain["content"] = content_texts(content, f"{where}.content")
    else:
        plain["content"] = content_text(content, f"{where}.content")
    reasoning = _read_reasoning(message, where)
    if reasoning is not None:
        plain["reasoning_content"] = reasoning
    if message.get("tool_calls") is not None:
        plain["tool_calls"] = read_calls(message["tool_calls"], f"{where}.tool_calls")
    return plain


def _read_reasoning(message: Mapping[str, Any], where: str) -> str | None:
    """Return the reasoning of a past answer; clients name it `reasoning_content` or `reasoning`."""
    for name in ("reasoning_content", "reasoning"):
        reasoning = message.get(name)
        if reasoning is not None and not isinstance(reasoning, str):
            raise InvalidRequest(f"{where}.{name} must be a string", param=f"{where}.{name}")
        if reasoning is not None:
            return reasoning
    return None


def read_calls(calls: object, where: str) -> list[dict[str, Any]]:
    """Return past calls with their arguments read; `where` names the field in errors."""
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise InvalidRequest(f"{where} must be a list", param=where)
    plain = []
    for at, given in enumerate(calls):
        call = as_function_call(given) if isinstance(given, Mapping) else {}
        function = call.get("function")
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            own = "function" if given is call else "custom"
            raise InvalidRequest(
                f"{where}[{at}].{own} must be an object with a name", param=f"{where}[{at}].{own}"
            )
        arguments = read_arguments(function.get("arguments", {}))
        plain.append({**call, "function": {**function, "arguments": arguments}})
    return plain
