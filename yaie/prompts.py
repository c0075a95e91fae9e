"""Prompts and conversations of `LLM`'s callers as token ids. Errors name the prompt's index."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from yaie.errors import InvalidRequest
from yaie.text.chat import ChatTemplate
from yaie.text.formats.output_format import detect_format
from yaie.text.formats.tool import tools_of
from yaie.text.parts import OutputParser, PlainText
from yaie.text.tokenizer import Tokenizer
from yaie.types import Grammar

Prompt = str | Sequence[int] | Mapping[str, Any]
Message = Mapping[str, Any]

_BYTES = (bytes, bytearray)  # they iterate as integers but are meant as text


def _unchanged(grammar: Grammar) -> Grammar:
    return grammar


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """A prompt as text and as token ids."""

    text: str | None  # None for a prompt of token ids
    token_ids: tuple[int, ...]
    make_parser: Callable[[], OutputParser] = PlainText  # of its answers
    shape: Callable[[Grammar], Grammar] = _unchanged  # from a grammar to that of a whole answer


class PromptReader:
    """Encoder of prompts and conversations for one tokenizer. Any thread may call it."""

    def __init__(self, tokenizer: Tokenizer, tool_call_parser: str = "auto") -> None:
        self._tokenizer = tokenizer
        self._tool_call_parser = tool_call_parser
        self._template = ChatTemplate(tokenizer)

    def read_prompt(self, prompt: object) -> ReadPrompt:
        """Read text, token ids, or a mapping with either. Raises `InvalidRequest`."""
        if isinstance(prompt, Mapping):
            token_ids = prompt.get("prompt_token_ids")  # None is the same as a missing key
            prompt = prompt.get("prompt") if token_ids is None else token_ids
        if isinstance(prompt, str):
            return ReadPrompt(prompt, tuple(self._tokenizer.encode(prompt)))
        if isinstance(prompt, Iterable) and not isinstance(prompt, _BYTES):
            return ReadPrompt(None, _as_token_ids(prompt))
        raise InvalidRequest(
            "a prompt must be text, a list of token ids, or a mapping with 'prompt' or"
            f" 'prompt_token_ids', got {type(prompt).__name__}",
            param="prompt",
        )

    def read_conversation(
        self,
        conversation: object,
        tools: Sequence[Mapping[str, Any]] | None,
        template_kwargs: Mapping[str, Any] | None,
    ) -> ReadPrompt:
        """Render messages in OpenAI's form by the model's template. Raises `InvalidRequest`."""
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


def is_conversation(value: object) -> TypeGuard[Sequence[Message]]:
    """Return True for a list of messages, False for a prompt or several conversations."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return len(value) > 0 and all(isinstance(item, Mapping) and "role" in item for item in value)


def list_prompts(prompts: Prompt | Sequence[Prompt]) -> list[Any]:
    """Return prompts in any of their forms as a list. Raises `InvalidRequest`."""
    if isinstance(prompts, str | Mapping):
        return [prompts]
    if not isinstance(prompts, Iterable) or isinstance(prompts, _BYTES):
        raise InvalidRequest(
            f"prompts must be text, token ids, or a list of these, got {type(prompts).__name__}",
            param="prompt",
        )
    listed = list(prompts)
    if listed and all(_is_token_id(item) for item in listed):
        return [listed]  # one prompt of token ids
    return listed


@contextlib.contextmanager
def naming_index(index: int, count: int) -> Iterator[None]:
    """Add the prompt's index to an `InvalidRequest`, if there are several prompts."""
    try:
        yield
    except InvalidRequest as error:
        if count > 1:
            error.message = f"prompt {index}: {error.message}"
            error.args = (error.message,)
        raise


def _is_token_id(item: object) -> bool:
    """Return True for one integer. Arrays have `__index__` too, and are prompts."""
    return hasattr(item, "__index__") and getattr(item, "ndim", 0) == 0


def _as_token_ids(token_ids: Iterable[Any]) -> tuple[int, ...]:
    """Return token ids as ints, also those of array libraries."""
    with contextlib.suppress(TypeError):  # for a number, or a float of an array library
        listed = list(token_ids)
        if all(_is_token_id(token_id) for token_id in listed):
            return tuple(map(operator.index, listed))
    raise InvalidRequest("token ids must be integers", param="prompt")
