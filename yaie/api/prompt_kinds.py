"""Prompts and arguments of callers, told apart without a tokenizer."""

from __future__ import annotations

import contextlib
import inspect
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeGuard

from yaie.base.errors import InvalidRequest, YaieError, as_shown
from yaie.base.types import Grammar, SamplingParams

# A grammar, a JSON schema, or a class that gives one, as pydantic's models do.
GrammarLike = Grammar | Mapping[str, Any] | type

Sampling = SamplingParams | Mapping[str, Any] | None

Prompt = str | Sequence[int] | Mapping[str, Any]
Message = Mapping[str, Any]
OnePrompt = str | Sequence[int] | Sequence[Message]

_ENTRY = re.compile(r"(\w+)\[(\d+)\]")
_BYTES = (bytes, bytearray)  # they iterate as integers but are meant as text


def is_conversation(value: object) -> TypeGuard[Sequence[Message]]:
    """Return True for a list of messages, False for a prompt or several conversations."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return len(value) > 0 and all(isinstance(item, Mapping) and "role" in item for item in value)


def list_prompts(prompts: Prompt | Sequence[Prompt]) -> list[Any]:
    """Return prompts of any accepted type as a list. Raises `InvalidRequest`."""
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
            _reword(error, f"prompt {index}: {error.message}", error.param)
        raise


@contextlib.contextmanager
def naming_entry(name: str) -> Iterator[None]:
    """Add an entry's name, such as `input[7]`, to an `InvalidRequest` that lacks it."""
    try:
        yield
    except InvalidRequest as error:
        if error.param != name and name.endswith("]"):
            _reword(error, f"{name}: {error.message}", name)
        raise


@contextlib.contextmanager
def shifting_index(num_before: int) -> Iterator[None]:
    """Correct the index of a wrong entry, such as `input[7]`, for a part of a list.

    `num_before`: the list's entries before the part.
    """
    try:
        yield
    except InvalidRequest as error:
        found = _ENTRY.match(error.param or "")
        if num_before and found:
            name = f"{found[1]}[{int(found[2]) + num_before}]"
            param = name + found.string[found.end() :]
            _reword(error, error.message.replace(found[0], name), param)
        raise


def _reword(error: InvalidRequest, message: str, param: str | None) -> None:
    error.message, error.param = message, param
    error.args = (message,)


def plain_prompt(prompt: object) -> str | tuple[int, ...]:
    """Return a prompt of any accepted type as text or token ids. Raises `InvalidRequest`."""
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
    """Return token ids as ints, including array library scalars."""
    with contextlib.suppress(TypeError):  # for a number, or a float of an array library
        listed = list(token_ids)
        if all(_is_token_id(token_id) for token_id in listed):
            return tuple(map(operator.index, listed))
    raise InvalidRequest("token ids must be integers", param="prompt")


def sampling_of(given: object) -> SamplingParams | None:
    """Return parameters given as an object or as a mapping; None stays None.

    Raises `WrongType` for another type, `WrongValue` for an unknown name or a wrong value.
    """
    if given is None or isinstance(given, SamplingParams):
        return given
    if not isinstance(given, Mapping):
        raise WrongType(
            f"sampling_params must be SamplingParams or a mapping, got {type(given).__name__}",
            param="sampling_params",
        )
    with as_builtin_errors():
        for name in given:
            if not isinstance(name, str):
                raise InvalidRequest(
                    f"{name!r:.40} is not a sampling parameter", param="sampling_params"
                )
        return SamplingParams(**given)


def is_list_of_prompts(prompt: object) -> bool:
    """Return True for a list of prompts or conversations, False for one and for other types."""
    if not isinstance(prompt, list | tuple) or is_conversation(prompt):
        return False
    return not is_tokens(prompt) or not prompt


def is_tokens(prompt: object) -> bool:
    """Return True for one prompt of token ids, also as an array."""
    if isinstance(prompt, str | bytes | bytearray | Mapping | Set) or not isinstance(
        prompt, Iterable
    ):
        return False
    return all(hasattr(each, "__index__") and getattr(each, "ndim", 0) == 0 for each in prompt)


def kind_of(value: object) -> str:
    """Return a value's type name for errors, with the type of a list's first item."""
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} of {type(value[0]).__name__}"
    return type(value).__name__


def samplings_of(
    given: Sampling | Sequence[Sampling], count: int, default: SamplingParams
) -> list[SamplingParams]:
    """Return the sampling parameters for each of `count` prompts. Raises `InvalidRequest`."""
    if isinstance(given, str) or not isinstance(given, Iterable) or isinstance(given, Mapping):
        return [sampling_of(given) or default] * count
    samplings = list(given)
    if len(samplings) != count:
        raise InvalidRequest(
            f"{len(samplings)} sampling_params for {count} prompts; give one, or one for each",
            param="sampling_params",
        )
    found = []
    for index, sampling in enumerate(samplings):
        with naming_index(index, count):
            found.append(sampling_of(sampling) or default)
    return found


def grammars_of(
    given: GrammarLike | Sequence[GrammarLike | None] | None, count: int
) -> list[Grammar | None]:
    """Return the grammar for each of `count` prompts. Raises `InvalidRequest`."""
    if not isinstance(given, list | tuple):
        return [_grammar_of(given)] * count
    if given and all(isinstance(each, str) for each in given):
        raise InvalidRequest(
            f"grammar is a list of texts; for one of these as the output use Grammar.choice"
            f"({as_shown(list(given)):.80})",
            param="grammar",
        )
    if len(given) != count:
        raise InvalidRequest(
            f"{len(given)} grammars for {count} prompts; give one, or one for each", param="grammar"
        )
    return [_grammar_of(each) for each in given]


def _grammar_of(given: object) -> Grammar | None:
    if given is None or isinstance(given, Grammar):
        return given
    if isinstance(given, Mapping):
        return Grammar.json_schema(given)
    make_schema = getattr(given, "model_json_schema", None)
    if inspect.isclass(given) and callable(make_schema):
        return Grammar.json_schema(make_schema())
    raise InvalidRequest(
        "grammar must be a Grammar, a JSON schema as a mapping, or a pydantic model, got"
        f" {type(given).__name__}; for a regular expression use Grammar.regex(pattern)",
        param="grammar",
    )


class WrongType(InvalidRequest, TypeError):
    """A prompt or parameters of the wrong type, or messages for a model without a template."""


class WrongValue(InvalidRequest, ValueError):
    """A prompt or a parameter that the engine refuses, such as a prompt longer than the context."""


class ProcessingFailed(YaieError, RuntimeError):
    """An engine that failed or was closed during a call."""


@contextlib.contextmanager
def as_builtin_errors() -> Iterator[None]:
    """Raise refusals of the block as `WrongValue`, with message, code and parameter."""
    try:
        yield
    except (WrongType, WrongValue):
        raise
    except InvalidRequest as error:
        raise WrongValue(error.message, param=error.param, code=error.code) from error


def processing_failed(error: YaieError) -> ProcessingFailed:
    """Return the error for a whole call that failed in the engine."""
    return ProcessingFailed(error.message, param=error.param, code=error.code)
