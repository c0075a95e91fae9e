"""Anthropic's conversations, translated to the messages of a chat completion.

Pure functions. Errors name a field as the client named it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.anthropic.block_fields import (
    join_texts,
    read_kind,
    read_string,
    read_text,
    read_texts,
    refuse,
    result_text,
)
from yaie.server.requests.checks import IMAGE_NOTE, plain

# Claude Code's first system block; it differs in each request and would end every shared prefix.
_BILLING = "x-anthropic-billing-header:"
_ROLES = ("user", "assistant", "system")
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
Message = dict[str, Any]


def chat_messages(
    system: object, given: list[Any], omitted: list[str] | None = None
) -> list[Message]:
    """Return chat completion messages; neighbours with one role are joined.

    The names of omitted blocks are added to `omitted`.
    """
    names = [] if omitted is None else omitted
    messages = [*_system(system), *_Turns(names).read(given)]
    joined: list[Message] = []
    for message in messages:
        if joined and _is_same_turn(joined[-1], message):
            _extend(joined[-1], message)
        else:
            joined.append(message)
    return joined


def _system(given: object) -> Iterator[Message]:
    if given is None:
        return
    texts = [given] if isinstance(given, str) else read_texts(given, "system")
    texts = [text for text in texts if text and not text.startswith(_BILLING)]
    if texts:
        yield {"role": "system", "content": "\n".join(texts)}


class _Turns:
    """Reader of turns; it keeps the tool names by tool use id."""

    def __init__(self, omitted: list[str]) -> None:
        self._omitted = omitted
        self._names: dict[str, str] = {}

    def read(self, given: list[Any]) -> Iterator[Message]:
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
            if role == "system" or not isinstance(content, list):
                yield {"role": role, "content": join_texts(content, where)}
            elif role == "assistant":
                yield from self._assistant(content, where)
            else:
                yield from self._user(content, where)

    def _user(self, blocks: list[Any], where: str) -> Iterator[Message]:
        """Yield the tool results and texts of a user's turn, in their order."""
        if not blocks:
            raise InvalidRequest(f"{where} is empty; send at least one block", param=where)
        for at, block in enumerate(blocks):
            place = f"{where}[{at}]"
            if (text := read_text(block, place)) is not None:
                yield {"role": "user", "content": text}
            elif block["type"] == "tool_result":
                given = self._note_images(block.get("content"))
                content = "" if given is None else join_texts(given, f"{place}.content")
                yield self._result(block, content, place)
            else:
                raise refuse(block["type"], place, "'text' and 'tool_result' from a user")

    def _note_images(self, content: object) -> object:
        """Return a result's content with a note in the place of each image."""
        if not isinstance(content, list):
            return content
        images = [isinstance(each, dict) and each.get("type") == "image" for each in content]
        if any(images):
            self._omitted.append("messages.image")
        note = {"type": "text", "text": IMAGE_NOTE}
        return [note if is_image else each for each, is_image in zip(content, images, strict=True)]

    def _result(self, block: Message, content: str, where: str) -> Message:
        call_id = read_string(block, "tool_use_id", where)
        if block.get("is_error") and not content.lower().startswith("error"):
            content = f"Error: {content}"  # templates have no field for it
        message = {"role": "tool", "tool_call_id": call_id, "content": content}
        if call_id in self._names:
            message["name"] = self._names[call_id]
        return message

    def _assistant(self, blocks: list[Any], where: str) -> Iterator[Message]:
        """Yield the message of a turn; several around the results of tools that a server ran."""
        turn, has_begun = _AssistantTurn(), False
        for at, block in enumerate(blocks):
            place = f"{where}[{at}]"
            kind = read_kind(block, place)
            if (text := read_text(block, place)) is not None:
                turn.texts.append(text)
            elif kind == "thinking":
                turn.thoughts.append(read_string(block, "thinking", place))
            elif kind in _CALLS:
                turn.calls.append(self._tool_use(block, place))
            elif kind.endswith("_tool_result"):
                if not turn.is_empty:
                    yield turn.message()
                yield self._result(block, result_text(block.get("content")), place)
                turn, has_begun = _AssistantTurn(), True
            elif kind == "compaction" and isinstance(block.get("content"), str):
                turn.texts.append(block["content"])
            elif kind in ("image", "tool_result"):
                raise refuse(kind, place, "'text', 'thinking' and 'tool_use' from an assistant")
            elif kind != "redacted_thinking":  # readable by its author only
                self._omitted.append(f"messages.{plain(kind)}")
        if not (turn.is_empty and has_begun):
            yield turn.message()

    def _tool_use(self, block: Message, where: str) -> dict[str, Any]:
        call_id, name = read_string(block, "id", where), read_string(block, "name", where)
        given = block.get("input")
        if not isinstance(given, dict):
            raise InvalidRequest(f"{where}.input must be an object", param=f"{where}.input")
        self._names[call_id] = name
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}


class _AssistantTurn:
    """Texts, thoughts and calls of one message."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: list[dict[str, Any]] = []

    @property
    def is_empty(self) -> bool:
        return not (self.texts or self.thoughts or self.calls)

    def message(self) -> Message:
        message: Message = {"role": "assistant", "content": "\n".join(self.texts)}
        if self.thoughts:
            message["reasoning_content"] = "\n".join(self.thoughts)
        if self.calls:
            message["tool_calls"] = self.calls
        return message


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
