"""Chat messages from the items of `/v1/responses`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yaie.server.responses_api.response_store import Item

Message = dict[str, Any]


class Messages:
    """Messages of a conversation, each with the place in the request that it came from."""

    def __init__(self, instructions: str | None) -> None:
        self.messages: list[Message] = []
        self.sources: list[str] = []
        self._names: dict[str, str] = {}  # function names by call id
        if instructions is not None:
            self._add({"role": "system", "content": instructions}, "instructions")

    def add(self, items: Iterable[Item], source: str, *, is_numbered: bool) -> None:
        """Append items. `source`: the field that holds them, as a list if `is_numbered`."""
        for at, item in enumerate(items):
            where = f"{source}[{at}]" if is_numbered else source
            if item["type"] == "message":
                self._add_message(item, where)
            elif item["type"] == "reasoning":
                text = "".join(part["text"] for part in item["content"] or item["summary"])
                self._of_assistant(where, unlike=("content", "tool_calls", "reasoning_content"))[
                    "reasoning_content"
                ] = text
            elif item["type"] == "function_call":
                self._names[item["call_id"]] = item["name"]
                message = self._of_assistant(where)
                message.setdefault("tool_calls", []).append(_call(item))
            else:
                self._add(
                    {
                        "role": "tool",
                        "tool_call_id": item["call_id"],
                        "name": self._names.get(item["call_id"]),
                        "content": _content(item["output"]),
                    },
                    where,
                )

    def later_turns(self) -> list[int]:
        """Return the places where the conversation may begin without its earlier turns."""
        first = self._num_leading()
        roles = [message["role"] for message in self.messages]
        return [at for at in range(first + 1, len(roles)) if roles[at] == "user"]

    def since(self, place: int) -> list[Message]:
        """Return the system messages at the beginning, and the messages from a place on."""
        return [*self.messages[: self._num_leading()], *self.messages[place:]]

    def _num_leading(self) -> int:
        """Return the number of system messages before the first turn."""
        is_system = (message["role"] in ("system", "developer") for message in self.messages)
        return next((at for at, each in enumerate(is_system) if not each), len(self.messages))

    def _add_message(self, item: Item, where: str) -> None:
        content = _content(item["content"])
        if item["role"] == "assistant":
            self._of_assistant(where, unlike=("content", "tool_calls"))["content"] = content
        else:
            self._add({"role": item["role"], "content": content}, where)

    def _of_assistant(self, where: str, unlike: tuple[str, ...] = ()) -> Message:
        """Return the message under construction if it is the assistant's, else a new one.

        `unlike`: fields that it must not have yet. One turn of the model is one message: its
        reasoning, its text and its calls.
        """
        last = self.messages[-1] if self.messages else {}
        if last.get("role") != "assistant" or any(name in last for name in unlike):
            self._add({"role": "assistant"}, where)
        return self.messages[-1]

    def _add(self, message: Message, source: str) -> None:
        self.messages.append(message)
        self.sources.append(source)


def _call(item: Item) -> dict[str, Any]:
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


def _content(content: str | list[Item]) -> str | list[dict[str, Any]]:
    """Return content in the form of chats: a string where there is one text."""
    if isinstance(content, str):
        return content
    if len(content) == 1 and "text" in content[0]:
        return str(content[0]["text"])
    return [
        part if part["type"] == "refusal" else {"type": "text", "text": part["text"]}
        for part in content
    ]
