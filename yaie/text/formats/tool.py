"""`Tool`: a function that the model may call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """Name and parameters of a function."""

    name: str
    parameters: Mapping[str, Any]  # a JSON schema of an object

    @classmethod
    def of(cls, tool: Mapping[str, Any]) -> Tool:
        """Return a checked tool of OpenAI's form."""
        function = tool["function"]
        return cls(function["name"], function.get("parameters") or {"type": "object"})

    def schema_of(self, key: str) -> Mapping[str, Any]:
        """Return the schema of one parameter; empty if there is none."""
        properties = self.parameters.get("properties")
        schema = properties.get(key) if isinstance(properties, Mapping) else None
        return schema if isinstance(schema, Mapping) else {}
