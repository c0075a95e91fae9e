"""Forms of a prompt and of its parameters in the methods with the names of other engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from yaie.api.prompt_kinds import Message, is_conversation
from yaie.api.refusals import WrongType, as_builtin_errors
from yaie.base.errors import InvalidRequest
from yaie.base.types import SamplingParams

Sampling = SamplingParams | Mapping[str, Any] | None
OnePrompt = str | Sequence[int] | Sequence[Message]


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
    """Return the type of a value as an error shows it, with that of a list's first item."""
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} of {type(value[0]).__name__}"
    return type(value).__name__
