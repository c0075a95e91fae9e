"""`ParameterSchema`: resolves a tool's JSON schema for syntaxes that write arguments as plain text.

References, `allOf`, `anyOf` and `oneOf` become variants: schemas without combinations, one of which
the arguments follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from yaie.text.formats.string_patterns import STRING_FORMATS

TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
TYPE_NAMES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_COMBINATIONS = ("$ref", "allOf", "anyOf", "oneOf")
_STRING_KEYWORDS = frozenset(("pattern", "minLength", "maxLength", "contentEncoding"))
_MAX_VARIANTS = 256
_MAX_DEPTH = 32  # nested combinations; deeper ones allow any value


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to follow a schema."""

    types: frozenset[str] = TYPES
    values: tuple[Any, ...] | None = None  # None allows any value
    strings: tuple[Mapping[str, Any], ...] = ()  # schemas whose string keywords all apply
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    others: Any = True  # schema of parameters that `properties` does not name

    def both(self, other: Variant) -> Variant | None:
        """Return the variant that follows both; None if no type does."""
        types = self.types & other.types
        if not types:
            return None
        values = self.values
        if values is None:
            values = other.values
        elif other.values is not None:
            values = tuple(each for each in values if each in other.values)
        properties = dict(self.properties)
        for key, schema in other.properties.items():
            properties[key] = {"allOf": [properties[key], schema]} if key in properties else schema
        return Variant(
            types=types,
            values=values,
            strings=self.strings + other.strings,
            properties=properties,
            required=(*self.required, *other.required),
            others=other.others if self.others is True else self.others,
        )


class ParameterSchema:
    """Schema of a tool's arguments."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._root = parameters
        self._by_reference: dict[str, list[Variant]] = {}
        self._depth = 0
        self.variants = self.variants_of(parameters)

    def types_of(self, key: str) -> frozenset[str]:
        """Return the JSON types that a parameter may have."""
        named = [each.properties[key] for each in self.variants if key in each.properties]
        schemas = named or [each.others for each in self.variants]
        return frozenset().union(
            *(variant.types for schema in schemas for variant in self.variants_of(schema))
        )

    def variants_of(self, schema: object) -> list[Variant]:
        """Return the variants of a schema inside the tool's schema; at least one."""
        if not isinstance(schema, Mapping) or self._depth == _MAX_DEPTH:
            return [Variant()]
        found = [_variant(schema)]
        self._depth += 1
        try:
            for alternatives in self._combinations(schema):
                pairs = (mine.both(other) for mine in found for other in alternatives)
                # A schema that nothing follows is read by its own keywords.
                found = [each for each in pairs if each is not None][:_MAX_VARIANTS] or found
        finally:
            self._depth -= 1
        return found

    def _combinations(self, schema: Mapping[str, Any]) -> Iterator[list[Variant]]:
        """Yield lists of variants; the schema asks for one of each."""
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield self._follow_reference(reference)
        for each in _list(schema.get("allOf")):
            yield self.variants_of(each)
        for key in ("anyOf", "oneOf"):
            if alternatives := _list(schema.get(key)):
                yield [variant for each in alternatives for variant in self.variants_of(each)]

    def _follow_reference(self, reference: str) -> list[Variant]:
        if reference not in self._by_reference:
            self._by_reference[reference] = [Variant()]  # for a schema that refers to itself
            self._by_reference[reference] = self.variants_of(
                resolve_reference(self._root, reference)
            )
        return self._by_reference[reference]


def resolve_reference(root: Mapping[str, Any], reference: str) -> object:
    """Return the schema at a JSON pointer into `root`; None if there is none."""
    found: Any = root if reference == "#" or reference.startswith("#/") else None
    for step in unquote(reference).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def _variant(schema: Mapping[str, Any]) -> Variant:
    """Return the variant of a schema's own keywords."""
    values = None
    if "const" in schema:
        values = (schema["const"],)
    elif isinstance(schema.get("enum"), list):
        values = tuple(schema["enum"])
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    return Variant(
        types=_types(schema, values),
        values=values,
        strings=(schema,),
        properties=properties if isinstance(properties, Mapping) else {},
        required=tuple(each for each in _list(schema.get("required")) if isinstance(each, str)),
        others=others if isinstance(others, Mapping) else True,
    )


def _types(schema: Mapping[str, Any], values: tuple[Any, ...] | None) -> frozenset[str]:
    kind = schema.get("type")
    types = frozenset([kind] if isinstance(kind, str) else map(str, _list(kind))) & TYPES or TYPES
    if values:
        of_values = frozenset(TYPE_NAMES.get(type(each), "object") for each in values)
        return types & of_values or of_values
    if "number" in types:
        types |= {"integer"}
    has_keywords = _STRING_KEYWORDS & schema.keys() or str(schema.get("format")) in STRING_FORMATS
    is_plain = types == TYPES and not any(key in schema for key in _COMBINATIONS)
    return frozenset(("string",)) if has_keywords and is_plain else types


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
