"""Prompts and conversations of `LLM`'s callers as token ids. Errors name the prompt's index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yaie.api.prompt_kinds import is_conversation, plain_prompt
from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.text.chat_template import ChatTemplate
from yaie.text.formats.output_format import detect_format
from yaie.text.formats.tool import tools_of
from yaie.text.output_parts import OutputParser, PlainText
from yaie.text.tokenizer import Tokenizer


def _unchanged(grammar: Grammar) -> Grammar:
    return grammar


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """A prompt as text and as token ids."""

    text: str | None  # None for a prompt of token ids
    token_ids: tuple[int, ...]
    make_parser: Callable[[], OutputParser] = PlainText  # for the outputs
    shape: Callable[[Grammar], Grammar] = _unchanged  # extends a grammar to the whole answer


class PromptReader:
    """Encoder of prompts and conversations for one tokenizer. Any thread may call it."""

    def __init__(self, tokenizer: Tokenizer, tool_call_parser: str = "auto") -> None:
        self._tokenizer = tokenizer
        self._tool_call_parser = tool_call_parser
        self._template = ChatTemplate(tokenizer)

    def read_prompt(self, prompt: object) -> ReadPrompt:
        """Read text, token ids, or a mapping with either. Raises `InvalidRequest`."""
        plain = plain_prompt(prompt)
        if isinstance(plain, str):
            return ReadPrompt(plain, tuple(self._tokenizer.encode(plain)))
        return ReadPrompt(None, plain)

    def read_conversation(
        self,
        conversation: object,
        tools: Sequence[Mapping[str, Any]] | None,
        template_kwargs: Mapping[str, Any] | None,
    ) -> ReadPrompt:
        """Render messages in OpenAI's format with the chat template. Raises `InvalidRequest`."""
        if not is_conversation(conversation):
            raise InvalidRequest(
                "a conversation must be a list of messages, each a mapping with a role",
                param="messages",
            )
        text = self._template.render_text(conversation, tools, template_kwargs=template_kwargs)
        token_ids = tuple(self._tokenizer.encode(text, add_special_tokens=False))
        form = detect_format(self._template.source, self._tool_call_parser)
        thinking = form.thinking_in(self._tokenizer, token_ids)
        known = tools_of(tools)

        def shape(grammar: Grammar) -> Grammar:
            whole = form.grammar(
                known, self._tokenizer, use="free", thinking=thinking, answer=grammar
            )
            return whole or grammar

        return ReadPrompt(text, token_ids, form.parser(known, thinking=thinking), shape)
