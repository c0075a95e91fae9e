"""Abilities of a model that its chat template shows: chat, tools, reasoning, its variables."""

from __future__ import annotations

from dataclasses import dataclass

from yaie.text.formats.output_format import detect_format
from yaie.text.template_variables import free_variables
from yaie.text.tokenizer import Tokenizer

# Set by the renderer, or by a request's fields of their own.
_SET_ELSEWHERE = frozenset(
    (
        "messages", "tools", "documents", "add_generation_prompt", "continue_final_message",
        "raise_exception", "strftime_now", "bos_token", "eos_token", "pad_token", "unk_token",
    )
)  # fmt: skip
_REASONING_MARKS = ("enable_thinking", "reasoning_effort", "reasoning_content", "</think>")


@dataclass(frozen=True, slots=True)
class TemplateAbilities:
    """Abilities by the chat template; all False without one."""

    chat: bool = False
    tools: bool = False  # the template shows tool definitions to the model
    reasoning: bool = False  # the template knows thoughts before an answer
    variables: tuple[str, ...] = ()  # for `chat_template_kwargs`
    tool_format: str | None = None  # of the calls in answers, as `--tool-call-parser` names it


def abilities_of(tokenizer: Tokenizer, tool_call_parser: str = "auto") -> TemplateAbilities:
    """Return the abilities that the tokenizer's default chat template shows.

    `tool_call_parser` names the format of calls; "auto" finds it in the template.
    """
    if not tokenizer.has_chat_template:
        return TemplateAbilities()
    template = tokenizer.hf.chat_template
    text = template["default"] if isinstance(template, dict) else template
    names = free_variables(text)
    form = detect_format(text, tool_call_parser)
    return TemplateAbilities(
        chat=True,
        tools="tools" in names,
        reasoning=form.thinking is not None or any(mark in text for mark in _REASONING_MARKS),
        variables=tuple(sorted(names - _SET_ELSEWHERE - set(tokenizer.hf.special_tokens_map))),
        tool_format=form.syntax.name if form.syntax is not None and "tools" in names else None,
    )
