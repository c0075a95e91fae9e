"""Arguments of `LLM`'s callers that hold for all prompts, or for each: sampling and grammars."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar, SamplingParams

# A grammar, a JSON schema, or a class that gives one, as pydantic's models do.
GrammarLike = Grammar | Mapping[str, Any] | type


def samplings_of(
    given: SamplingParams | Sequence[SamplingParams] | None, count: int, default: SamplingParams
) -> list[SamplingParams]:
    """Return the parameters of each of `count` prompts. Raises `InvalidRequest`."""
    if given is None or isinstance(given, SamplingParams):
        return [given or default] * count
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidRequest(
            f"sampling_params must be SamplingParams or a list of them, got {type(given).__name__}",
            param="sampling_params",
        )
    samplings = list(given)
    if len(samplings) != count:
        raise InvalidRequest(
            f"{len(samplings)} sampling_params for {count} prompts; give one, or one for each",
            param="sampling_params",
        )
    for index, sampling in enumerate(samplings):
        if not isinstance(sampling, SamplingParams):
            raise InvalidRequest(
                f"sampling_params[{index}] must be SamplingParams, got {type(sampling).__name__}",
                param="sampling_params",
            )
    return samplings


def grammars_of(
    given: GrammarLike | Sequence[GrammarLike | None] | None, count: int
) -> list[Grammar | None]:
    """Return the grammar of each of `count` prompts. Raises `InvalidRequest`."""
    if not isinstance(given, list | tuple):
        return [_grammar_of(given)] * count
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
        f" {type(given).__name__}; Grammar.regex(text) makes one of a regular expression",
        param="grammar",
    )
