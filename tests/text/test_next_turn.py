"""The known part of the next prompt, equal for any next message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.text.small_tokenizers import write_byte_level
from yaie.text.chat_template import ChatTemplate
from yaie.text.next_turn import answer_message, common_length, known_prompts
from yaie.text.output_parts import ReasoningPart, TextPart, ToolCallPart
from yaie.text.tokenizer import load_tokenizer

# Reasoning stays until the user's next message, and the tools go before the last one.
TEMPLATE = """
{%- set ns = namespace(last=0) -%}
{%- for m in messages if m.role == 'user' -%}{%- set ns.last = loop.index -%}{%- endfor -%}
{%- set ns2 = namespace(seen=0) -%}
{%- for m in messages -%}
{%- if m.role == 'user' -%}{%- set ns2.seen = ns2.seen + 1 -%}
{%- if tools and ns2.seen == ns.last -%}[TOOLS]{{ tools | tojson }}[/TOOLS]{%- endif -%}
[USER]{{ m.content }}[/USER]
{%- elif m.role == 'tool' -%}[RESULT]{{ m.content }}[/RESULT]
{%- else -%}
{%- if m.reasoning_content and ns2.seen == ns.last -%}<think>{{ m.reasoning_content }}</think>
{%- endif -%}
{{ m.content }}
{%- for c in m.tool_calls or [] -%}[CALL]{{ c.function | tojson }}{%- endfor -%}
[END]
{%- endif -%}
{%- endfor -%}
"""
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
ASKED: list[dict[str, Any]] = [{"role": "user", "content": "first?"}]
CALL = ToolCallPart(0, "find", '{"q":  "x"}', "call_1")


@pytest.fixture
def chat(tmp_path: Path) -> ChatTemplate:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    tokenizer.hf.chat_template = TEMPLATE
    return ChatTemplate(tokenizer)


def known(chat: ChatTemplate, *parts: Any, tools: Any = None) -> list[str]:
    found = known_prompts(
        ASKED, [answer_message(parts)], lambda messages: chat.render(messages, tools)
    )
    return [chat._tokenizer.decode(ids) for ids in found]


def test_the_end_of_the_turn_is_known(chat: ChatTemplate) -> None:
    assert known(chat, TextPart("yes"), TextPart("!")) == ["[USER]first?[/USER]yes![END][USER]"]


def test_reasoning_goes_as_the_template_says(chat: ChatTemplate) -> None:
    said = known(chat, ReasoningPart("hm"), TextPart("yes"))
    assert said == ["[USER]first?[/USER]yes[END][USER]"]  # sent back or not


def test_a_call_is_followed_by_its_result(chat: ChatTemplate) -> None:
    call = '[CALL]{"name": "find", "arguments": {"q": "x"}}[END][RESULT]'
    assert known(chat, ReasoningPart("hm"), CALL) == [
        f"[USER]first?[/USER]<think>hm</think>{call}",
        f"[USER]first?[/USER]{call}",  # for clients that leave the reasoning out
    ]


def test_a_client_that_sends_reasoning_back_goes_on_so(chat: ChatTemplate) -> None:
    past = [*ASKED, {"role": "assistant", "content": "", "reasoning": "so", "tool_calls": []}]
    answer = [answer_message([ReasoningPart("hm"), CALL])]
    (ids,) = known_prompts(past, answer, chat.render)
    assert "<think>hm</think>" in chat._tokenizer.decode(ids)


def test_tools_that_move_to_the_next_message_are_known_there(chat: ChatTemplate) -> None:
    (text,) = known(chat, TextPart("yes"), tools=TOOLS)
    assert text.startswith("[USER]first?[/USER]yes[END][TOOLS]")
    assert text.endswith("[/TOOLS][USER]")


def test_no_answer_no_prompt(chat: ChatTemplate) -> None:
    assert known_prompts(ASKED, [], chat.render) == []


def test_a_template_that_repeats_the_last_message_first(chat: ChatTemplate) -> None:
    chat._tokenizer.hf.chat_template = "{{ messages[-1].content }}: {{ messages | length }}"
    assert known(chat, TextPart("yes")) == []


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [([], [1], 0), ([1, 2], [1, 2], 2), ([1, 2, 3], [1, 2], 2), ([1, 5], [1, 2], 1)],
)
def test_common_length(first: list[int], second: list[int], wanted: int) -> None:
    assert common_length(first, second) == common_length(second, first) == wanted
