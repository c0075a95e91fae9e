"""What callers of `LLM` may ask with, made into token ids; faults name the prompt's index."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from yaie.errors import InvalidRequest
from yaie.text.chat import ChatTemplate
from yaie.text.tokenizer import Tokenizer

Prompt = str | Sequence[int] | Mapping[str, Any]
Message = Mapping[str, Any]

_BYTES = (bytes, bytearray)  # they iterate as whole numbers, but are meant as text


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """A prompt as text, where it was text, and as the engine takes it."""

    text: str | None
    token_ids: tuple[int, ...]


class PromptReader:
    """Reads prompts and conversations for one tokenizer. Calls may come from any thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._template = ChatTemplate(tokenizer)

    def read_prompt(self, prompt: object) -> ReadPrompt:
        """Text, token ids, or a mapping with either. Raises `InvalidRequest`."""
        if isinstance(prompt, Mapping):
            token_ids = prompt.get("prompt_token_ids")  # None is the same as not there
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
        """Messages in OpenAI's form, through the model's template. Raises `InvalidRequest`."""
        if not is_conversation(conversation):
            raise InvalidRequest(
                "a conversation must be a list of messages, each a mapping with a role",
                param="messages",
            )
        text = self._template.render_text(conversation, tools, template_kwargs=template_kwargs)
        return ReadPrompt(text, tuple(self._tokenizer.encode(text, add_special_tokens=False)))


def is_conversation(value: object) -> TypeGuard[Sequence[Message]]:
    """Whether this is a list of messages, rather than a prompt or several conversations."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return len(value) > 0 and all(isinstance(item, Mapping) and "role" in item for item in value)


def list_prompts(prompts: Prompt | Sequence[Prompt]) -> list[Any]:
    """A list of prompts, whichever of the forms it came in. Raises `InvalidRequest`."""
    if isinstance(prompts, str | Mapping):
        return [prompts]
    if not isinstance(prompts, Iterable) or isinstance(prompts, _BYTES):
        raise InvalidRequest(
            f"prompts must be text, token ids, or a list of these, got {type(prompts).__name__}",
            param="prompt",
        )
    listed = list(prompts)
    if listed and all(_is_token_id(item) for item in listed):
        return [listed]  # one prompt, given as its token ids
    return listed


@contextlib.contextmanager
def naming_index(index: int, count: int) -> Iterator[None]:
    """Where there are several prompts, let an `InvalidRequest` say which one is wrong."""
    try:
        yield
    except InvalidRequest as error:
        if count > 1:
            error.message = f"prompt {index}: {error.message}"
            error.args = (error.message,)
        raise


def _is_token_id(item: object) -> bool:
    """Whether this is one whole number. Arrays have `__index__` too, and are prompts."""
    return hasattr(item, "__index__") and getattr(item, "ndim", 0) == 0


def _as_token_ids(token_ids: Iterable[Any]) -> tuple[int, ...]:
    """Plain ints; the whole numbers of array libraries become them."""
    with contextlib.suppress(TypeError):  # of a single number, or a fraction of an array library
        listed = list(token_ids)
        if all(_is_token_id(token_id) for token_id in listed):
            return tuple(map(operator.index, listed))
    raise InvalidRequest("token ids must be whole numbers", param="prompt")
