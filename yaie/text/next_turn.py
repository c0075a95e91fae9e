"""Next-turn prefix: the part of a chat's next prompt that is known when a turn ends.

The next turn sends the conversation back with the answer in it, and the template may render that
answer in other words than the model wrote: without its reasoning, with different spacing in calls,
with the end marker. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yaie.text.output_parts import Part, calls_of, reasoning_of, text_of

Message = dict[str, Any]

# Two texts of the next message. What their prompts share is known before the message is. A space
# before the text belongs to its first token in the one prompt, and not in the other.
_TEXTS = ("0", "the")
_REASONING = ("reasoning_content", "reasoning")  # names of the field


def answer_message(parts: Sequence[Part]) -> Message:
    """Return an answer as the assistant's message of a chat completion."""
    message: Message = {"role": "assistant", "content": text_of(parts)}
    if reasoning := reasoning_of(parts):
        message["reasoning_content"] = reasoning
    if calls := calls_of(parts):
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in calls
        ]
    return message


def known_prompts(
    messages: Sequence[Message],
    answer: Sequence[Message],
    render: Callable[[list[Message]], list[int]],
    *,
    names_results: bool = False,
) -> list[list[int]]:
    """Return the token ids with which the next turn's prompt will begin.

    `render` returns a conversation's token ids; its errors pass. Clients send reasoning back or
    omit it: there are two prefixes where that matters, unless the conversation has some already.
    The next message is the user's, or after calls the first call's result; with `names_results` it
    has the tool's name.
    """
    found: list[list[int]] = []
    for variant in _variants(messages, answer):
        conversation = [*messages, *variant]
        first, second = (
            render([*conversation, *_next_messages(variant[-1], text, names_results)])
            for text in _TEXTS
        )
        known = first[: common_length(first, second)]
        if known and known not in found:
            found.append(known)
    return found


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of leading tokens that two sequences share."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


def _variants(messages: Sequence[Message], answer: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the answer as the client may send it back."""
    if not answer:
        return
    yield list(answer)
    sends_reasoning = any(message.get(name) for message in messages for name in _REASONING)
    if not sends_reasoning and any("reasoning_content" in message for message in answer):
        yield [
            {name: value for name, value in message.items() if name != "reasoning_content"}
            for message in answer
        ]


def _next_messages(last: Message, text: str, names_results: bool) -> list[Message]:
    """Return the messages of the next turn, all with this text."""
    if not last.get("tool_calls"):
        return [{"role": "user", "content": text}]
    results = []
    for call in last["tool_calls"]:
        result = {"role": "tool", "tool_call_id": call["id"], "content": text}
        if names_results:
            result["name"] = call["function"]["name"]
        results.append(result)
    return results
