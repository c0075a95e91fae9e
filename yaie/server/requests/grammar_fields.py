"""Structured output: reads the body fields that constrain the answer's text.

Several servers' names are read, at most one field in a request. The engine compiles the grammar.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import Grammar
from yaie.engine.grammar.source_limits import check_size
from yaie.server.schemas.chat import ChatBody, FieldNames
from yaie.server.schemas.shared_fields import GenerationBody

_Read = Callable[[Any, str], Grammar | None]


def grammar_of(body: GenerationBody) -> Grammar | None:
    """Return the grammar of a body's answer; None without one.

    Raises `InvalidRequest` for a wrong shape, or for two fields that each give a grammar.
    """
    found: Grammar | None = None
    names = body.names if isinstance(body, ChatBody) else FieldNames()
    readers: dict[str, _Read] = {"response_format": partial(_response_format, names), **_READERS}
    for name, read in readers.items():
        value = getattr(body, name)
        if value is None or value in ("", []):
            continue  # other servers' clients send these for unused fields
        param = names.response_format if name == "response_format" else name
        grammar = read(value, param)
        if grammar is None:
            continue
        if found is not None:
            raise InvalidRequest(
                f"{param} and {found.param} both constrain the answer; send one of them",
                param=param,
            )
        found = grammar
    if found is not None:
        check_size(found)
    return found


def _response_format(names: FieldNames, value: Any, param: str) -> Grammar | None:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind is None:
        raise InvalidRequest(f"{param} must be an object with a type", param=param)
    if kind == "text":
        return None
    if kind == "json_object":
        if value.get("schema") is not None:
            return _schema(value["schema"], f"{param}.schema")
        return Grammar(kind="json_object", param=param)
    if kind == "json_schema":
        return _schema_format(value, names)
    raise UnsupportedParameter(
        f"{param} of type {str(kind)[:40]!r} is not supported; use 'text', 'json_object' or "
        "'json_schema'",
        param=param,
    )


def _schema_format(value: Mapping[str, Any], names: FieldNames) -> Grammar:
    inner, where = value.get("json_schema"), names.json_schema
    if inner is None and value.get("schema") is not None:
        return _schema(value["schema"], f"{names.response_format}.schema")  # as in llama.cpp
    if not isinstance(inner, dict):
        raise InvalidRequest(f"{where} must be an object with a schema", param=where)
    name, strict = inner.get("name"), inner.get("strict")
    if name is not None and not isinstance(name, str):
        raise InvalidRequest(f"{where}.name must be a string", param=f"{where}.name")
    if strict is not None and not isinstance(strict, bool):
        raise InvalidRequest(f"{where}.strict must be a boolean", param=f"{where}.strict")
    if inner.get("schema") is None:
        raise InvalidRequest(f"{where}.schema is missing", param=f"{where}.schema")
    return _schema(inner["schema"], f"{where}.schema")


def _schema(value: Any, param: str) -> Grammar:
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


def _regex(value: Any, param: str) -> Grammar:
    if not isinstance(value, str):
        raise InvalidRequest(f"{param} must be a regular expression as a string", param=param)
    return Grammar(kind="regex", source=value, param=param)


def _choice(value: Any, param: str) -> Grammar:
    if not isinstance(value, list) or not value:
        raise InvalidRequest(f"{param} must be a non-empty list of texts", param=param)
    for at, choice in enumerate(value):
        if not isinstance(choice, str) or not choice:
            raise InvalidRequest(f"{param}[{at}] must be a non-empty text", param=f"{param}[{at}]")
    return Grammar(kind="choice", source=json.dumps(value), param=param)


def _lark(value: Any, param: str) -> Grammar:
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


def _json_object(value: Any, param: str) -> Grammar | None:
    if not isinstance(value, bool):
        raise InvalidRequest(f"{param} must be a boolean", param=param)
    return Grammar(kind="json_object", param=param) if value else None


_STRUCTURED: Mapping[str, _Read] = {
    "json": _schema,
    "regex": _regex,
    "choice": _choice,
    "grammar": _lark,
    "json_object": _json_object,
}
# Settings of vLLM for the form of JSON; that of this server is fixed.
_FORM = {"disable_fallback", "disable_any_whitespace", "disable_additional_properties"}


def _read_structured(value: Any, param: str) -> Grammar | None:
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


_READERS: Mapping[str, _Read] = {
    "structured_outputs": _read_structured,
    "guided_json": _schema,
    "guided_regex": _regex,
    "guided_choice": _choice,
    "guided_grammar": _lark,
    "regex": _regex,
    "ebnf": _lark,
    "grammar": _lark,
    "json_schema": _schema,
}
