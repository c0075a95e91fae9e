"""Kinds of prompts, told apart by their form, without a tokenizer."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from yaie.base.errors import InvalidRequest

Prompt = str | Sequence[int] | Mapping[str, Any]
Message = Mapping[str, Any]

_BYTES = (bytes, bytearray)  # they iterate as integers but are meant as text


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


def plain_prompt(prompt: object) -> str | tuple[int, ...]:
    """Return a prompt in any of its forms as text or as token ids. Raises `InvalidRequest`."""
    if isinstance(prompt, Mapping):
        token_ids = prompt.get("prompt_token_ids")  # None is the same as a missing key
        prompt = prompt.get("prompt") if token_ids is None else token_ids
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Iterable) and not isinstance(prompt, _BYTES):
        return _as_token_ids(prompt)
    raise InvalidRequest(
        "a prompt must be text, a list of token ids, or a mapping with 'prompt' or"
        f" 'prompt_token_ids', got {type(prompt).__name__}",
        param="prompt",
    )


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
