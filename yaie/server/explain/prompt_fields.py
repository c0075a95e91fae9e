"""Rendered conversations: finds the field that a character of the prompt comes from.

Each message is rendered once more with marks around its content. The text outside the marks equals
the unmarked prompt; what is left is the content. This holds for any template; a binary search
renders a logarithm of the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from yaie.base.errors import InvalidRequest
from yaie.server.requests.digests import is_of_system
from yaie.server.schemas.chat import ChatBody

_MARK = "\ue000\ue001"  # for private use: no prompt has it
TEMPLATE, TOOLS, MESSAGES, SYSTEM = "template", "tools", "messages", "system"


class PromptField(NamedTuple):
    """Name of a field, and whether it surrounds the turns: tools, system prompt, template."""

    name: str
    is_around: bool
    role: str = ""  # of the message


class ChatParts:
    """Parts of one conversation's prompt, by character."""

    def __init__(
        self, body: ChatBody, render: Callable[[ChatBody], str], names: Sequence[str]
    ) -> None:
        """`render` returns a body's prompt; `names` are the names of the messages."""
        self.text = render(body)
        self._body = body
        self._render = render
        self._names = names
        self._spans: dict[int, tuple[int, int]] = {}

    def field_at(self, at: int) -> PromptField:
        """Return the field that character `at` comes from."""
        try:
            return self._field_at(at)
        except InvalidRequest:  # the template refuses the marks
            return PromptField(MESSAGES, is_around=False)

    def _field_at(self, at: int) -> PromptField:
        messages = self._body.messages
        low, high = 0, len(messages)  # messages that begin at or before `at`
        while low < high:
            middle = (low + high) // 2
            if self._span(middle)[0] <= at:
                low = middle + 1
            else:
                high = middle
        if low and at < self._span(low - 1)[1]:
            name = self._names[low - 1]
            name = f"{name}.content" if "[" in name else name  # `system`, `instructions`
            return PromptField(name, is_of_system(messages[low - 1]), role_of(messages[low - 1]))
        first, end = self._tools
        if first <= at < end:
            return PromptField(TOOLS, is_around=True)
        if low and isinstance(messages[low - 1], Mapping) and messages[low - 1].get("tool_calls"):
            role = role_of(messages[low - 1])
            return PromptField(f"{self._names[low - 1]}.tool_calls", is_around=False, role=role)
        if not 0 < low < len(messages):
            return PromptField(TEMPLATE, is_around=True)
        neighbours = messages[low - 1 : low + 1]
        is_around = any(map(is_of_system, neighbours))
        return PromptField(self._names[low], is_around, role_of(messages[low]))

    def _span(self, number: int) -> tuple[int, int]:
        """Return the first and the last character, exclusive, of a message's content."""
        found = self._spans.get(number)
        if found is None:
            messages = list(self._body.messages)
            messages[number] = mark(messages[number])
            found = self._spans[number] = self._find_change(messages=messages)
        return found

    @cached_property
    def _tools(self) -> tuple[int, int]:
        if not self._body.tools:
            return 0, 0
        return self._find_change(tools=None, tool_choice=None)

    def _find_change(self, **fields: Any) -> tuple[int, int]:
        """Return the span of the prompt that changes with fields of the body."""
        text = self._render(self._body.model_copy(update=fields))
        first = common_length(self.text, text)
        rest = min(len(self.text), len(text)) - first
        behind = common_length(self.text[::-1][:rest], text[::-1][:rest])
        return first, len(self.text) - behind


def role_of(message: Any) -> str:
    """Return a message's role, as the client wrote it."""
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


def mark(message: Any) -> Any:
    """Return a message with marks around its content."""
    if not isinstance(message, Mapping):
        return message
    content = message.get("content")
    if isinstance(content, list) and content:
        first, last = {"type": "text", "text": _MARK}, {"type": "text", "text": _MARK}
        return {**message, "content": [first, *content, last]}
    return {**message, "content": f"{_MARK}{content}{_MARK}" if content else _MARK}


def common_length(some: Sequence[Any], others: Sequence[Any]) -> int:
    """Return the length of the longest common prefix, by halving."""
    low, high = 0, min(len(some), len(others))
    while low < high:
        middle = (low + high + 1) // 2
        if some[low:middle] == others[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
