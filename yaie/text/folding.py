"""Folding of conversations into the roles, orders and texts that a chat template takes.

Tools, calls and results become text for templates that show none of them.

The folding of a conversation's beginning is the beginning of its folding: later messages append
text to the last turn, or append turns. So a growing chat keeps its cached prefix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from yaie.text.formats.json_calls import JsonCalls
from yaie.text.past_calls import with_calls_as_text
from yaie.text.plain_messages import Message, text_of_content
from yaie.text.turn_rules import TurnRules

NOTE = "<system_note>\n{}\n</system_note>"
_MADE = "made_by_folding"  # key of a turn whose neighbours of the same role join it
# Turns for templates that require one here.
_FIRST_USER = "Hello."
_BETWEEN = "OK."

# Changes, as a header tells them.
MERGED_SYSTEM = "merged-system"
SYSTEM_AS_USER = "system-as-user"
JOINED_TURNS = "joined-turns"
ADDED_TURNS = "added-turns"
SPLIT_CALLS = "split-calls"
TOOLS_IN_SYSTEM = "tools-in-system"


def as_user_turn(text: str) -> Message:
    """Return a user turn that joins the user turns around it."""
    return {"role": "user", "content": text, _MADE: True}


def fold(
    conversation: Iterable[Message], rules: TurnRules
) -> tuple[list[Message], tuple[str, ...]]:
    """Return a conversation as a template takes it, and the names of the changes."""
    folding = _Folding(rules)
    if not rules.several_calls:
        conversation = folding.split_calls(conversation)
    for message in conversation:
        folding.add(message)
    for turn in folding.turns:
        turn.pop(_MADE, None)
    return folding.turns, tuple(folding.changes)


class _Folding:
    def __init__(self, rules: TurnRules) -> None:
        self.turns: list[Message] = []
        self.changes: dict[str, None] = {}  # in the order of their first use
        self._rules = rules
        self._is_leading = True  # only system messages so far

    def add(self, message: Message) -> None:
        """Append a message, or its text to the last turn."""
        if message["role"] == "system":
            self._add_system(message)
            return
        self._is_leading = False
        self._add_turn(message)

    def _add_system(self, message: Message) -> None:
        rules = self._rules
        if not self._is_leading:
            if rules.late_system:
                self._append(message)
            else:
                self._change(SYSTEM_AS_USER)
                self._add_turn(as_user_turn(NOTE.format(text_of_content(message["content"]))))
        elif not rules.system:
            self._change(SYSTEM_AS_USER)
            self._add_turn(as_user_turn(text_of_content(message["content"])))
        elif self.turns and not rules.several_systems:
            self._change(MERGED_SYSTEM)
            self._join(message)
        else:
            self._append(message)

    def _add_turn(self, message: Message) -> None:
        rules, role = self._rules, message["role"]
        last = self.turns[-1] if self.turns else {"role": "system"}
        is_waiting = last["role"] == "tool" or last.get("tool_calls")  # for an answer
        if role == "assistant" and last["role"] == "system" and not rules.assistant_first:
            self._change(ADDED_TURNS)
            self._append({"role": "user", "content": _FIRST_USER})
        elif role == "user" and is_waiting and not rules.user_after_tool:
            self._change(ADDED_TURNS)
            self._append({"role": "assistant", "content": _BETWEEN})
        if self.turns and self._must_join(last, message):
            self._join(message)
        else:
            self._append(message)

    def _must_join(self, last: Message, message: Message) -> bool:
        if message["role"] != last["role"]:
            return False
        if message["role"] == "user":
            is_made = _MADE in last or _MADE in message
            return is_made or not self._rules.user_after_user
        return (
            message["role"] == "assistant"
            and "tool_calls" not in last  # text behind a call is another turn
            and not self._rules.assistant_after_assistant
        )

    def _join(self, message: Message) -> None:
        last = self.turns[-1]
        if not (last.get(_MADE) and message.get(_MADE)) and message["role"] != "system":
            self._change(JOINED_TURNS)
        for name in ("content", "reasoning_content", "thinking"):
            texts = (text_of_content(each.get(name, "")) for each in (last, message))
            if name in last or name in message:
                last[name] = "\n\n".join(filter(None, texts))
        for name, value in message.items():
            last.setdefault(name, value)

    def _append(self, message: Message) -> None:
        self.turns.append(dict(message))

    def _change(self, name: str) -> None:
        self.changes[name] = None

    def split_calls(self, conversation: Iterable[Message]) -> Iterable[Message]:
        """Yield each call of a turn as a turn, with its result after it."""
        waiting: list[Message] = []  # turns with a call whose result did not come yet
        for message in conversation:
            calls: Sequence[Any] = message.get("tool_calls") or ()
            if message["role"] == "tool" and waiting:
                wanted = message.get("tool_call_id")
                at = next(
                    (
                        at
                        for at, turn in enumerate(waiting)
                        if turn["tool_calls"][0].get("id") == wanted
                    ),
                    0,
                )
                yield waiting.pop(at)
            elif message["role"] != "tool":
                yield from waiting
                waiting = []
            if len(calls) > 1:
                self._change(SPLIT_CALLS)
                first, *others = calls
                waiting = [{**message, "tool_calls": [first]}]
                waiting += [
                    {"role": "assistant", "content": "", "tool_calls": [call]} for call in others
                ]
            else:
                yield message
        yield from waiting


_TOOLS = """# Tools

You can call these functions:
<tools>
{tools}
</tools>

If a function fits the question, answer only with a call in this form:
{example}
The result follows in <tool_response></tool_response>. If no function fits, answer in words."""
_EXAMPLE = ("function_name", '{"argument_name": "value"}')
_RESULT = "<tool_response>\n{}\n</tool_response>"


def describe_tools(tools: Sequence[Any], syntax: JsonCalls) -> str:
    """Return the part of a system prompt that shows tools, and how to call them."""
    lines = (json.dumps(tool, ensure_ascii=False) for tool in tools)
    return _TOOLS.format(tools="\n".join(lines), example=syntax.text_of([_EXAMPLE]))


def with_tools_in_system(
    conversation: Sequence[Message], tools: Sequence[Any], syntax: JsonCalls
) -> list[Message]:
    """Return a conversation with tools in its first system message."""
    described = describe_tools(tools, syntax)
    first, *others = conversation
    if first["role"] != "system":
        return [{"role": "system", "content": described}, *conversation]
    return [{**first, "content": f"{text_of_content(first['content'])}\n\n{described}"}, *others]


def with_past_calls_as_text(conversation: Sequence[Message], syntax: JsonCalls) -> list[Message]:
    """Return a conversation whose calls are text of the assistant, and results text of the user."""
    return [_with_text(message, syntax) for message in conversation]


def _with_text(message: Message, syntax: JsonCalls) -> Message:
    if message["role"] in ("tool", "function"):
        return as_user_turn(_RESULT.format(text_of_content(message["content"])))
    return with_calls_as_text(message, syntax)
