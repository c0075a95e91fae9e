"""`ReplyStruct`: a reply described once, for the encoder and for the OpenAPI document.

The docstrings of its fields become their descriptions. A field that may be absent has the default
`UNSET`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import sys
from typing import Any

import msgspec
from msgspec import UNSET

REFERENCE = "#/components/schemas/{model}"
_REFERENCED = re.compile(r'"#/components/schemas/(\w+)"')


class ReplyStruct(msgspec.Struct, kw_only=True):
    """Base of replies, and of the objects inside replies."""


def describe_reply(*kinds: type[ReplyStruct], is_list: bool = False) -> dict[str, Any]:
    """Describe a reply of one of these types, for the `responses` of a route."""
    forms: list[dict[str, Any]] = [reference_to(kind) for kind in kinds]
    schema: dict[str, Any] = forms[0] if len(forms) == 1 else {"anyOf": forms}
    if is_list:
        schema = {"type": "array", "items": schema}
    return {
        "description": "Successful Response",
        "content": {"application/json": {"schema": schema}},
    }


def reference_to(kind: type[ReplyStruct]) -> dict[str, str]:
    """Return the reference to a type's schema."""
    return {"$ref": REFERENCE.format(model=kind.__name__)}


def add_schemas(document: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Add the schema of each reply that a document refers to, with the schemas inside it."""
    wanted = _find_references(document)
    while wanted:
        name = wanted.pop()
        if name not in schemas and name in reply_schemas():
            schemas[name] = reply_schemas()[name]
            wanted |= _find_references(schemas[name])


def _find_references(value: Any) -> set[str]:
    return set(_REFERENCED.findall(json.dumps(value)))


@functools.cache
def reply_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of all reply types by name, with the types inside them."""
    kinds = _subclasses(ReplyStruct)
    template = REFERENCE.replace("{model}", "{name}")
    _, found = msgspec.json.schema_components(kinds, ref_template=template)
    for kind in kinds:
        schema, meanings = found[kind.__name__], _read_meanings(kind)
        properties = schema.get("properties", {})
        for name, meaning in meanings.items():
            # A sibling of a reference is ignored by some readers, so both are wrapped.
            given = properties[name]
            shown = {"allOf": [given]} if "$ref" in given else given
            properties[name] = shown | {"description": meaning}
        optional = {each.encode_name for each in msgspec.structs.fields(kind)
                    if each.default is UNSET}  # fmt: skip
        schema["required"] = [name for name in properties if name not in optional]
    return found


def _subclasses(kind: type[Any]) -> list[type[Any]]:
    found = []
    for each in kind.__subclasses__():
        found += [each, *_subclasses(each)]
    return found


def _read_meanings(kind: type[Any]) -> dict[str, str]:
    """Return the docstrings of a class's fields, the inherited ones included."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, ReplyStruct):
            found |= _meanings_in(each.__module__).get(each.__name__, {})
    return found


@functools.cache
def _meanings_in(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of fields in a module, by class and field."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if not isinstance(node, ast.ClassDef):
            continue
        fields = found[node.name] = {}
        for field, text in zip(node.body, node.body[1:], strict=False):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(meaning))),
                ):
                    fields[name] = inspect.cleandoc(meaning)
    return found
