"""Draft settings: the values of `speculate`, and vLLM's `speculative_config` in their terms."""

from __future__ import annotations

import json
from typing import Any

from yaie.base.errors import ConfigError, as_shown, nearest_name_hint

MAX_DRAFT_TOKENS = 64
AUTO_DRAFT_TOKENS = 16  # at most; their number depends on acceptance and costs

_PARAM = "speculative_config"
_METHODS = ("ngram", "suffix")  # drafts from known text, as here
# How these methods find drafts, which needs no settings here. No value changes a token.
_TUNING = (
    "prompt_lookup_max",
    "prompt_lookup_min",
    "suffix_decoding_max_tree_depth",
    "suffix_decoding_max_cached_requests",
    "suffix_decoding_max_spec_factor",
    "suffix_decoding_min_token_prob",
)
_EXAMPLE = '{"method": "ngram", "num_speculative_tokens": 8}'


def count_draft_tokens(speculate: str) -> int:
    """Return the most draft tokens of one sequence in a step; 0 without speculative decoding.

    Raises `ConfigError` for another value than off, auto or a number of tokens.
    """
    if speculate in ("off", "auto"):
        return AUTO_DRAFT_TOKENS if speculate == "auto" else 0
    count = int(speculate) if speculate.isdecimal() else 0
    if not 1 <= count <= MAX_DRAFT_TOKENS:
        raise ConfigError(
            f"speculate is {speculate!r}; it must be auto, off or 1 to {MAX_DRAFT_TOKENS}",
            param="speculate",
        )
    return count


def read_speculative_config(text: str) -> str:
    """Return the value of `speculate` that does what vLLM's JSON asks for.

    Raises `ConfigError` for a method that needs a draft model, and for what vLLM does not know.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise _refusal(f"is not valid JSON: {error}", f"write it as '{_EXAMPLE}'") from None
    if not isinstance(given, dict):
        raise _refusal(f"is {as_shown(given)}", f"it must be a JSON object, such as '{_EXAMPLE}'")
    method, count = given.pop("method", None), given.pop("num_speculative_tokens", None)
    if method not in _METHODS:
        if method is None and "model" not in given:
            _check_others(given)
            raise _refusal("has no method", f"give '{_EXAMPLE}'")
        asks_for = "a draft model" if method is None else f"the method {as_shown(method)}"
        raise _refusal(
            f"asks for {asks_for}, and drafts come from known text here",
            f"give '{_EXAMPLE}', or use speculate=auto instead",
        )
    if count is not None and (type(count) is not int or not 1 <= count <= MAX_DRAFT_TOKENS):
        raise _refusal(
            f"has num_speculative_tokens {as_shown(count)}",
            f"it must be a whole number from 1 to {MAX_DRAFT_TOKENS}",
        )
    _check_others(given)
    return "auto" if count is None else str(count)


def _check_others(given: dict[str, Any]) -> None:
    for name in given:
        if name not in _TUNING:
            known = ("method", "num_speculative_tokens", *_TUNING)
            hint = nearest_name_hint(name, known) or f"; known are {', '.join(known)}"
            raise ConfigError(f"{name[:100]} in {_PARAM} is unknown{hint}", param=_PARAM)


def _refusal(fact: str, fix: str) -> ConfigError:
    return ConfigError(f"{_PARAM} {fact}; {fix}", param=_PARAM)
