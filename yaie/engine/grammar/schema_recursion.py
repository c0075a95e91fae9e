"""Recursion in a JSON schema that no finite value can satisfy: its place, and what to change. Pure.

`{"$ref": "#"}` alone, or an object that requires itself, would be followed for ever. The check
finds the schemas that some finite value satisfies, from the leaves up to the root.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.text.formats.parameter_schema import resolve_reference

_NUM_SCHEMAS = 4096  # of a larger schema the compiler tells only that it cannot be followed


def check_recursion(grammar: Grammar) -> None:
    """Raise `InvalidRequest` for a schema that only an endless value satisfies; name a `$ref`."""
    if grammar.kind != "json_schema" or '"$ref"' not in grammar.source:
        return
    try:
        root = json.loads(grammar.source)
    except (ValueError, RecursionError):  # the compiler says where
        return
    if isinstance(root, Mapping) and (found := find_endless(root)) is not None:
        path, reference = found
        where = f" at {path}" if path else ""
        raise InvalidRequest(
            f"{grammar.param} is endless: '$ref' to {reference!r:.80}{where} leads back to itself"
            " in every value; make that property optional, or add an alternative without it"
            " (anyOf)",
            param=grammar.param,
        )


def find_endless(root: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return path and target of a reference that makes the schema endless; None if it can end."""
    places: dict[int, tuple[Mapping[str, Any], str]] = {}  # by identity
    needs: dict[int, list[list[int]]] = {}  # alternatives in each of several groups
    waiting: list[tuple[Mapping[str, Any], str]] = [(root, "")]
    while waiting:
        schema, path = waiting.pop()
        if id(schema) in places:
            continue
        places[id(schema)] = schema, path
        if len(places) > _NUM_SCHEMAS:
            return None
        needs[id(schema)] = []
        for group in _needed(root, schema, path):
            kept = [each for each in group if isinstance(each[0], Mapping)]
            if len(kept) == len(group):
                needs[id(schema)].append([id(each) for each, _ in kept])
            waiting += kept
    finite: set[int] = set()
    users: dict[int, list[int]] = {}
    for user, groups in needs.items():
        for needed in chain.from_iterable(groups):
            users.setdefault(needed, []).append(user)
    pending = list(needs)
    while pending:
        schema_id = pending.pop()
        if schema_id not in finite and all(
            any(each in finite for each in group) for group in needs[schema_id]
        ):
            finite.add(schema_id)
            pending += users.get(schema_id, ())
    if id(root) in finite:
        return None
    return next(
        (
            (".".join(filter(None, (path, "$ref"))), str(schema["$ref"]))
            for schema_id, (schema, path) in places.items()
            if schema_id not in finite and isinstance(schema.get("$ref"), str)
        ),
        None,
    )


def _needed(
    root: Mapping[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[list[tuple[Any, str]]]:
    """Yield groups of schemas with their paths: a finite value needs one of each group."""

    def below(*keys: object) -> str:
        return ".".join([*filter(None, [path]), *(str(key) for key in keys if key is not None)])

    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = resolve_reference(root, reference)
        yield [(target, reference.removeprefix("#").removeprefix("/").replace("/", "."))]
    for key in ("anyOf", "oneOf"):
        if isinstance(ways := schema.get(key), list) and ways:
            yield [(each, below(key, at)) for at, each in enumerate(ways)]
    if isinstance(parts := schema.get("allOf"), list):
        yield from ([(each, below("allOf", at))] for at, each in enumerate(parts))
    for key, name in _children(schema):
        children = schema[key]
        yield [(children if name is None else children[name], below(key, name))]


def _children(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield keyword and name of the parts that each value of an object or an array has."""
    if "enum" in schema or "const" in schema:
        return
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        if isinstance(properties, Mapping) and isinstance(required, list):
            names = (each for each in required if isinstance(each, str))
            yield from (("properties", each) for each in names if each in properties)
    elif schema.get("type") == "array" and isinstance(least := schema.get("minItems"), int):
        first = schema.get("prefixItems")
        num_first = len(first) if isinstance(first, list) else 0
        yield from (("prefixItems", at) for at in range(min(least, num_first)))
        if least > num_first and "items" in schema:
            yield "items", None
