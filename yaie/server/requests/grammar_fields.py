"""Structured output: reads the body fields that constrain the answer's text.

Several servers' names are read, at most one field in a request. The engine compiles the grammar.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import Grammar
from yaie.engine.grammar.schema_keywords import check_schema
from yaie.engine.grammar.source_limits import check_size
from yaie.engine.grammar.structured_outputs import (
    Read,
    read_choice,
    read_lark,
    read_regex,
    read_schema,
    read_structured,
)
from yaie.server.schemas.chat import ChatBody, FieldNames
from yaie.server.schemas.shared_fields import GenerationBody


def grammar_of(body: GenerationBody) -> Grammar | None:
    """Return the grammar of a body's answer; None without one.

    Raises `InvalidRequest` for a wrong shape, or for two fields that each give a grammar.
    """
    found: Grammar | None = None
    names = body.names if isinstance(body, ChatBody) else FieldNames()
    readers: dict[str, Read] = {"response_format": partial(_response_format, names), **_READERS}
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
    if found is None:
        return None
    check_size(found)
    return check_schema(found)


def _response_format(names: FieldNames, value: Any, param: str) -> Grammar | None:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind is None:
        raise InvalidRequest(f"{param} must be an object with a type", param=param)
    if kind == "text":
        return None
    if kind == "json_object":
        if value.get("schema") is not None:
            return read_schema(value["schema"], f"{param}.schema")
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
        return read_schema(value["schema"], f"{names.response_format}.schema")  # as in llama.cpp
    if not isinstance(inner, dict):
        raise InvalidRequest(f"{where} must be an object with a schema", param=where)
    name, strict = inner.get("name"), inner.get("strict")
    if name is not None and not isinstance(name, str):
        raise InvalidRequest(f"{where}.name must be a string", param=f"{where}.name")
    if strict is not None and not isinstance(strict, bool):
        raise InvalidRequest(f"{where}.strict must be a boolean", param=f"{where}.strict")
    if inner.get("schema") is None:
        raise InvalidRequest(f"{where}.schema is missing", param=f"{where}.schema")
    return read_schema(inner["schema"], f"{where}.schema")


_READERS: Mapping[str, Read] = {
    "structured_outputs": read_structured,
    "guided_json": read_schema,
    "guided_regex": read_regex,
    "guided_choice": read_choice,
    "guided_grammar": read_lark,
    "regex": read_regex,
    "ebnf": read_lark,
    "grammar": read_lark,
    "json_schema": read_schema,
}
