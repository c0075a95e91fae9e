"""Prompts and conversations of `LLM`'s callers as token ids. Errors name the prompt's index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from yaie.api.prompt_kinds import is_conversation, plain_prompt
from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.engine.grammar.tool_schemas import relax_tools
from yaie.text.chat_template import ChatTemplate
from yaie.text.formats.tool import Tool, tools_of
from yaie.text.output_parts import OutputParser, PlainText
from yaie.text.template_features import with_template
from yaie.text.tokenizer import Tokenizer


def _pass_through(grammar: Grammar) -> Grammar:
    return grammar


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """A prompt as text and as token ids."""

    text: str | None  # None for a prompt of token ids
    token_ids: tuple[int, ...]
    make_parser: Callable[[], OutputParser] = PlainText  # for the outputs
    shape: Callable[[Grammar], Grammar] = _pass_through  # extends a grammar to the whole answer


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Options for the rendering of conversations."""

    tools: Sequence[Mapping[str, Any]] | None = None
    template_kwargs: Mapping[str, Any] | None = None
    template: str | None = None  # text of a chat template instead of the model's
    add_generation_prompt: bool | None = None  # None: unless the last message is continued
    continue_final_message: bool = False


NO_CHAT_OPTIONS = ChatOptions()


class PromptReader:
    """Encoder of prompts and conversations for one tokenizer. Any thread may call it."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        tool_call_parser: str = "auto",
        *,
        trust_markers: bool = False,
    ) -> None:
        self._tokenizer = tokenizer

        def make_template(text: str | None) -> ChatTemplate:
            own = tokenizer if text is None else with_template(tokenizer, text)
            return ChatTemplate(own, tool_call_parser, trust_markers=trust_markers)

        self._find_template = lru_cache(maxsize=4)(make_template)

    def read_prompt(self, prompt: object) -> ReadPrompt:
        """Read text, token ids, or a mapping with either. Raises `InvalidRequest`."""
        plain = plain_prompt(prompt)
        if isinstance(plain, str):
            return ReadPrompt(plain, tuple(self._tokenizer.encode(plain)))
        return ReadPrompt(None, plain)

    def read_conversation(
        self, conversation: object, options: ChatOptions = NO_CHAT_OPTIONS
    ) -> ReadPrompt:
        """Render messages in OpenAI's format with the chat template. Raises `InvalidRequest`."""
        if not is_conversation(conversation):
            raise InvalidRequest(
                "a conversation must be a list of messages, each a mapping with a role",
                param="messages",
            )
        is_continued, begins_answer = options.continue_final_message, options.add_generation_prompt
        if is_continued and begins_answer:
            raise InvalidRequest(
                "continue_final_message and add_generation_prompt exclude each other; give one",
                param="add_generation_prompt",
            )
        template = self._find_template(options.template)
        prompt = template.make_prompt(
            conversation,
            options.tools,
            not is_continued if begins_answer is None else begins_answer,
            options.template_kwargs,
            continue_final_message=is_continued,
        )
        token_ids = tuple(template.encode(prompt))
        form = template.format
        thinking = form.thinking_in(self._tokenizer, token_ids)
        known = tools_of(options.tools)

        def shape(grammar: Grammar) -> Grammar:
            held: Sequence[Tool] = known
            if form.syntax is not None and known:
                held, _ = relax_tools(known, form.syntax, [each.name for each in known])
            whole = form.grammar(
                held, self._tokenizer, use="free", thinking=thinking, answer=grammar
            )
            return whole or grammar

        return ReadPrompt(prompt.text, token_ids, form.parser(known, thinking=thinking), shape)
