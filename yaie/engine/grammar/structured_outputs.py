"""Readers of values that constrain the output: schemas, expressions, choices and grammars.

`LLM` and the server read vLLM's `structured_outputs` by them; the engine compiles the grammar.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import Grammar
from yaie.engine.grammar.source_limits import check_size

Read = Callable[[Any, str], Grammar | None]


def read_schema(value: Any, param: str) -> Grammar:
    """Return the grammar of a JSON schema, given as an object or as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InvalidRequest(f"{param} is a string, but not valid JSON", param=param) from None
    if not isinstance(value, dict | bool):
        raise InvalidRequest(f"{param} must be a JSON schema: an object", param=param)
    try:
        source = json.dumps(value)
    except RecursionError:
        raise InvalidRequest(f"{param} is nested too deeply; flatten it", param=param) from None
    return Grammar(kind="json_schema", source=source, param=param)


def read_regex(value: Any, param: str) -> Grammar:
    """Return the grammar of a regular expression."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{param} must be a regular expression as a string", param=param)
    return Grammar(kind="regex", source=value, param=param)


def read_choice(value: Any, param: str) -> Grammar:
    """Return the grammar of a list of texts."""
    if not isinstance(value, list | tuple) or not value:
        raise InvalidRequest(f"{param} must be a non-empty list of texts", param=param)
    for at, choice in enumerate(value):
        if not isinstance(choice, str) or not choice:
            raise InvalidRequest(f"{param}[{at}] must be a non-empty text", param=f"{param}[{at}]")
    return Grammar(kind="choice", source=json.dumps(value), param=param)


def read_lark(value: Any, param: str) -> Grammar:
    """Return a grammar given in Lark's syntax, or in the EBNF of llama.cpp (GBNF)."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{param} must be a grammar as a string", param=param)
    check_size(Grammar(kind="lark", source=value, param=param))
    from llguidance.gbnf_to_lark import any_to_lark  # late: few requests have a grammar

    try:
        converted = any_to_lark(value)
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InvalidRequest(f"{param} is invalid: {reason}", param=param) from None
    return Grammar(kind="lark", source=converted, param=param)


def _read_json_object(value: Any, param: str) -> Grammar | None:
    if not isinstance(value, bool):
        raise InvalidRequest(f"{param} must be a boolean", param=param)
    return Grammar(kind="json_object", param=param) if value else None


_STRUCTURED: Mapping[str, Read] = {
    "json": read_schema,
    "regex": read_regex,
    "choice": read_choice,
    "grammar": read_lark,
    "json_object": _read_json_object,
}
# vLLM's settings for JSON's form, which is fixed here.
_FORM = {"disable_fallback", "disable_any_whitespace", "disable_additional_properties"}


def read_structured(value: Any, param: str) -> Grammar | None:
    """Return the grammar of a mapping with one field that gives it; None without one.

    Raises `InvalidRequest` with the wrong field.
    """
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"{param} must be an object with one of {', '.join(_STRUCTURED)}", param=param
        )
    given = {key: each for key, each in value.items() if each is not None and key not in _FORM}
    for key in given:
        if key not in _STRUCTURED:
            raise UnsupportedParameter(
                f"{param}.{key[:40]} is not supported; use one of {', '.join(_STRUCTURED)}",
                param=f"{param}.{key[:40]}",
            )
    if len(given) > 1:
        raise InvalidRequest(f"{param} has {' and '.join(given)}; send one of them", param=param)
    for key, each in given.items():
        return _STRUCTURED[key](each, f"{param}.{key}")
    return None
