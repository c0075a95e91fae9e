"""Chat messages from the items of `/v1/responses`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yaie.server.responses_api.call_forms import CALL_FORMS, tool_of
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

    def add(self, items: Sequence[Item], places: Sequence[str]) -> None:
        """Append items. `places`: the field of the request that each came from."""
        for item, where in zip(items, places, strict=True):
            add = _ADD.get(item["type"])
            if add is not None:
                add(self, item, where)
            elif item["type"] in CALL_FORMS:
                self.add_call(item, where)
            elif item["type"] != "additional_tools":
                self.add_result(item, where)

    def add_message(self, item: Item, where: str) -> None:
        """Append a message of either side."""
        content = _content(item["content"])
        if item["role"] == "assistant":
            self._of_assistant(where, unlike=("content", "tool_calls"))["content"] = content
        else:
            self._add({"role": item["role"], "content": content}, where)

    def add_reasoning(self, item: Item, where: str) -> None:
        """Append a thought; one that is secret has no text."""
        text = "".join(part["text"] for part in item["content"] or item["summary"])
        if text:
            fields = ("content", "tool_calls", "reasoning_content")
            self._of_assistant(where, unlike=fields)["reasoning_content"] = text

    def add_call(self, item: Item, where: str) -> None:
        """Append a call of the function that stands for the item's tool."""
        tool = tool_of(item)
        self._names[item["call_id"]] = tool.function
        function = {"name": tool.function, "arguments": tool.form.arguments(item)}
        message = self._of_assistant(where)
        calls = message.setdefault("tool_calls", [])
        calls.append({"id": item["call_id"], "type": "function", "function": function})

    def add_result(self, item: Item, where: str) -> None:
        """Append the result of a call."""
        self._add(
            {
                "role": "tool",
                "tool_call_id": item["call_id"],
                "name": self._names.get(item["call_id"]),
                "content": _RESULTS.get(item["type"], _output)(item),
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


def _output(item: Item) -> str | list[dict[str, Any]]:
    return _content(item["output"])


def _shell_output(item: Item) -> str:
    """Return the texts of shell commands, each with the exit code unless it is 0."""
    texts = []
    for each in item["output"]:
        outcome = each["outcome"]
        code = outcome.get("exit_code")
        ending = "timeout" if outcome["type"] == "timeout" else f"exit code {code}" if code else ""
        texts += [each["stdout"], each["stderr"], ending]
    return "\n".join(text.rstrip("\n") for text in texts if text)


def _found_tools(item: Item) -> str:
    return json.dumps(item["tools"], ensure_ascii=False)


_ADD: Mapping[str, Callable[[Messages, Item, str], None]] = {
    "message": Messages.add_message,
    "reasoning": Messages.add_reasoning,
}
_RESULTS: Mapping[str, Callable[[Item], str | list[dict[str, Any]]]] = {
    "shell_call_output": _shell_output,
    "tool_search_output": _found_tools,
}
