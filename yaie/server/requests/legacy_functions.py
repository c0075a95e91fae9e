"""Chat fields of older clients: `functions`, `function_call` and vLLM's `echo`."""

from __future__ import annotations

from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.requests.custom_tools import with_functions
from yaie.server.schemas.chat import ChatBody, FieldNames
from yaie.text.contents import content_text

NAMES = FieldNames(tools="functions", function="", tool_choice="function_call")


def calls_functions(body: ChatBody) -> bool:
    """Return whether the answer has a `function_call` in place of `tool_calls`."""
    return bool(body.functions)


def with_tools(body: ChatBody) -> ChatBody:
    """Return the body with functions as its tools. Raises `InvalidRequest`, as for both forms."""
    body = with_functions(body).body
    changes: dict[str, Any] = {}
    if any(_is_old(message) for message in body.messages):
        changes["messages"] = _with_calls(body.messages)
    if body.functions and body.tools:
        raise InvalidRequest(
            "functions and tools exclude each other; send tools alone, the newer form",
            param="functions",
        )
    if body.functions:
        tools = [{"type": "function", "function": each} for each in body.functions]
        changes.update(tools=tools, parallel_tool_calls=False, functions=None)
    if body.function_call is not None:
        if body.tool_choice is not None:
            raise InvalidRequest(
                "function_call and tool_choice exclude each other; send tool_choice alone",
                param="function_call",
            )
        changes.update(tool_choice=_choice(body.function_call), function_call=None)
    if not changes:
        return body
    changed = body.model_copy(update=changes)
    is_named = body.functions or body.function_call is not None
    return changed.with_names(NAMES) if is_named else changed


def restore_name(field: str) -> str:
    """Return the older name of a field of chats."""
    return {"tools": NAMES.tools, "tool_choice": NAMES.tool_choice}.get(field, field)


def _choice(given: object) -> Any:
    if given in ("none", "auto"):
        return given
    if isinstance(given, dict) and isinstance(given.get("name"), str):
        return {"type": "function", "function": {"name": given["name"]}}
    raise InvalidRequest(
        "function_call must be 'none', 'auto', or an object with the name of one of the functions",
        param="function_call",
    )


def _is_old(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    is_result = message.get("role") == "function" and isinstance(message.get("name"), str)
    return is_result or message.get("function_call") is not None


def _with_calls(messages: list[Any]) -> list[Any]:
    """Return the messages with each function call as the call of a tool, and its result too."""
    found: list[Any] = []
    ids: dict[str, str] = {}  # last call id by function
    for at, message in enumerate(messages):
        if not _is_old(message):
            found.append(message)
        elif message.get("role") == "function":
            name = message["name"]
            call_id = ids.get(name, f"call_{at}")
            found.append({**message, "role": "tool", "tool_call_id": call_id})
        else:
            call = message["function_call"]
            where = f"messages[{at}].function_call"
            if not isinstance(call, dict) or not isinstance(call.get("name"), str):
                raise InvalidRequest(f"{where} must be an object with a name", param=where)
            ids[call["name"]] = f"call_{at}"
            rest = {name: value for name, value in message.items() if name != "function_call"}
            tool_call = {"id": f"call_{at}", "type": "function", "function": call}
            found.append({**rest, "tool_calls": [tool_call]})
    return found


def read_echo(body: ChatBody) -> tuple[str, ...]:
    """Return the text to put before each answer; empty without one.

    The messages have been rendered, so their form is known to be right.
    """
    if not body.echo:
        return ()
    last = body.messages[-1]
    is_continued = body.continue_final_message or body.add_generation_prompt is False
    if not is_continued and last["role"] != "assistant":
        return ()
    content = last.get("content")
    return () if content is None else (content_text(content, "messages"),)
