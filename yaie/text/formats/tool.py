"""`Tool`: a function that the model may call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from yaie.text.formats.parameter_schema import ParameterSchema

# Schema for a forced call of a tool that declares no parameters. A free call may have arguments.
NO_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Tool:
    """Name and parameters of a function."""

    name: str
    parameters: Mapping[str, Any]  # a JSON schema of an object
    is_strict: bool = False  # arguments follow the schema also where the model calls freely

    @classmethod
    def of(cls, tool: Mapping[str, Any]) -> Tool:
        """Return a checked tool from OpenAI's format."""
        function = tool["function"]
        strict = function.get("strict") is True
        return cls(function["name"], _parameters(function.get("parameters")), strict)

    @cached_property
    def schema(self) -> ParameterSchema:
        """Schema of the arguments, resolved."""
        return ParameterSchema(self.parameters)


def tools_of(given: Sequence[Mapping[str, Any]] | None) -> tuple[Tool, ...]:
    """Return the functions among unchecked tools, in OpenAI's format or bare."""
    found = []
    for each in given or ():
        function = each.get("function", each)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name:
            found.append(Tool(name, _parameters(function.get("parameters"))))
    return tuple(found)


# Keywords whose values are data.
_DATA = frozenset(("const", "default", "enum", "example", "examples"))
# Keywords by which an object without properties may have members.
_OPEN = frozenset(
    (
        "$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "const", "enum", "if", "not",
        "maxProperties", "minProperties", "patternProperties", "propertyNames",
        "unevaluatedProperties",
    )
)  # fmt: skip


def _parameters(given: object) -> Mapping[str, Any]:
    """Return the schema of a tool's arguments; a tool without parameters takes an empty object."""
    schema = _without_nulls(given) if isinstance(given, Mapping) else {}
    if not (schema.get("properties") or schema.get("required") or _OPEN & schema.keys()):
        return NO_PARAMETERS
    return schema


def _without_nulls(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without keywords that are null: some generators write them for none."""
    copy: dict[str, Any] = {}
    waiting: list[tuple[Any, Any]] = [(schema, copy)]  # clients nest deeper than Python recurses
    while waiting:
        source, target = waiting.pop()
        is_list = isinstance(source, list)
        for key, value in enumerate(source) if is_list else source.items():
            if value is None and not is_list and key not in _DATA:
                continue
            inner = value
            if isinstance(value, Mapping | list) and key not in _DATA:
                inner = [] if isinstance(value, list) else {}
                waiting.append((value, inner))
            if is_list:
                target.append(inner)
            else:
                target[key] = inner
    return copy
