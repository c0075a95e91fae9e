"""`Tool`: a function that the model may call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """Name and parameters of a function."""

    name: str
    parameters: Mapping[str, Any]  # a JSON schema of an object
    is_strict: bool = False  # arguments follow the schema also where the model calls freely

    @classmethod
    def of(cls, tool: Mapping[str, Any]) -> Tool:
        """Return a checked tool of OpenAI's form."""
        function = tool["function"]
        parameters = function.get("parameters") or {"type": "object"}
        return cls(function["name"], parameters, function.get("strict") is True)

    def schema_of(self, key: str) -> Mapping[str, Any]:
        """Return the schema of one parameter; empty if there is none."""
        properties = self.parameters.get("properties")
        schema = properties.get(key) if isinstance(properties, Mapping) else None
        return schema if isinstance(schema, Mapping) else {}


def tools_of(given: Sequence[Mapping[str, Any]] | None) -> tuple[Tool, ...]:
    """Return the functions among unchecked tools, in OpenAI's form or bare."""
    found = []
    for each in given or ():
        function = each.get("function", each)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name:
            parameters = function.get("parameters")
            is_schema = isinstance(parameters, Mapping)
            found.append(Tool(name, parameters if is_schema else {"type": "object"}))
    return tuple(found)
