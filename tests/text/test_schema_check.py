"""Arguments against a tool's whole schema, as `jsonschema` judges them, and the time of a check."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yaie.text.formats.output_format import detect_format
from yaie.text.formats.schema_check import find_violation
from yaie.text.formats.tool import Tool, tools_of

STRING = {"type": "string"}
# A schema, a valid value, and an invalid value with the words of its fault.
KEYWORDS: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({"type": "integer"}, 1.0, True, "the object is true, not of type integer"),
    ({"type": ["string", "null"]}, None, 1, "not of type string or null"),
    ({"const": 1}, 1.0, True, "not 1"),
    ({"enum": ["a", {"b": [1]}]}, {"b": [1.0]}, "b", "which enum does not list"),
    ({"pattern": "^a(?!b)"}, "ac", "ab", "does not match pattern ^a(?!b)"),
    ({"minLength": 2}, "🙂🙂", "🙂", "has 1, against minLength 2"),
    ({"maxItems": 1}, [1], [1, 2], "has 2, against maxItems 1"),
    ({"minProperties": 1}, {"a": 1}, {}, "against minProperties 1"),
    ({"multipleOf": 0.1}, 0.3, 0.35, "against multipleOf 0.1"),
    ({"exclusiveMinimum": 3}, 4, 3, "against exclusiveMinimum 3"),
    ({"minimum": 3, "exclusiveMinimum": True}, 4, 3, "against exclusiveMinimum 3"),
    ({"required": ["a"]}, {"a": 1}, {}, "a is missing"),
    ({"properties": {"a": {"items": STRING}}}, {"a": ["x"]}, {"a": [1]}, "a[0] is 1, not of"),
    ({"properties": {"a": False}}, {}, {"a": 1}, "a is not allowed"),
    ({"additionalProperties": False, "patternProperties": {"^a": {}}}, {"ab": 1}, {"b": 1}, "b is"),
    ({"propertyNames": {"pattern": "^a"}}, {"a": 1}, {"b": 1}, 'the name .b is "b"'),
    ({"prefixItems": [STRING], "items": False}, ["a"], ["a", 1], "[1] is not allowed"),
    ({"items": [STRING], "additionalItems": False}, ["a"], ["a", 1], "[1] is not allowed"),
    ({"uniqueItems": True}, [1, True], [{"a": 1}, {"a": 1.0}], "[1] is {"),
    ({"contains": STRING, "maxContains": 1}, [1, "a"], ["a", "b"], "against maxContains 1"),
    ({"contains": STRING, "minContains": 0}, [1], 5, ""),
    ({"anyOf": [STRING, {"type": "null"}]}, None, 1, "which no schema of anyOf allows"),
    ({"oneOf": [{"minimum": 2}, {"maximum": 3}]}, 1, 2, "which 2 schemas of oneOf allow"),
    ({"allOf": [STRING, {"minLength": 1}]}, "a", "", "against minLength 1"),
    ({"not": STRING}, 1, "a", "which not excludes"),
    ({"if": STRING, "then": {"minLength": 1}, "else": {"minimum": 1}}, 1, "", "against minLength"),
    ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}, "b is missing"),
    ({"dependencies": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}, "b is missing"),
    ({"$ref": "#/$defs/x", "$defs": {"x": STRING}}, "a", 1, "not of type string"),
    ({"properties": {"a": {"$ref": "#"}}, "maxProperties": 1}, {"a": {}}, {"a": {"b": 1, "c": 1}},
     "a has 2"),
    ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1},
     "b is not allowed"),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1], [1, 2], "[1] is not allowed"),
    ({"$ref": "elsewhere.json"}, "a", None, ""),
    ({"type": 5, "required": "a", "properties": [], "minLength": "x"}, {}, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "valid", "invalid", "fault"), KEYWORDS, ids=repr)
def test_each_keyword_is_checked(
    schema: dict[str, Any], valid: Any, invalid: Any, fault: str
) -> None:
    assert find_violation(schema, valid) == ""
    found = find_violation(schema, invalid)
    assert fault in found if fault else found == ""


texts = st.text("ab1", max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from([0.5, 1.0]) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
sizes = st.integers(0, 3)
leaves = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "object", "array"])}),
    st.fixed_dictionaries({"enum": st.lists(values, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": values}),
    st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "b$", "[0-9]"])}),
)


def combine(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return schemas of one to four keywords."""
    listed, named = st.lists(inner, min_size=1, max_size=2), st.dictionaries(texts, inner)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), listed),
        **dict.fromkeys(("not", "items", "contains", "additionalProperties"), inner),
        **dict.fromkeys(("properties", "dependentSchemas"), named),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), inner),
        "patternProperties": st.dictionaries(st.just("^a"), inner),
        "propertyNames": inner,
        "required": st.lists(texts, unique=True, max_size=2),
        "dependentRequired": st.dictionaries(texts, st.lists(texts, unique=True, max_size=2)),
        "uniqueItems": st.booleans(),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), sizes),
        **dict.fromkeys(("minProperties", "maxProperties"), sizes),
        **dict.fromkeys(("minContains", "maxContains", "minimum", "exclusiveMaximum"), sizes),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
    }
    single = [st.fixed_dictionaries({key: each}) for key, each in keywords.items()]
    branches = st.fixed_dictionaries({"if": inner, "then": inner, "else": inner})
    several = st.lists(st.one_of(*single, branches), min_size=1, max_size=4)
    return several.map(lambda found: {key: each[key] for each in found for key in each})


@pytest.mark.integration  # seconds
@settings(max_examples=1000)
@given(schema=combine(st.recursive(leaves, combine, max_leaves=6)), value=values)
def test_a_value_is_judged_as_the_reference_does(schema: dict[str, Any], value: Any) -> None:
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (find_violation(schema, value) == "") == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}] * 6},
        {"properties": {"a": {"pattern": "^(a+)+$"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"oneOf": [{"oneOf": [{"oneOf": [{"$ref": "#/oneOf/0"}] * 9}] * 9}] * 9},
    ],
    ids=lambda schema: json.dumps(schema)[:40],
)
def test_a_schema_made_to_be_slow_ends_the_check(schema: dict[str, Any]) -> None:
    value: Any = "a" * 4000 + "b"
    for _ in range(200):
        value = {"a": value}
    began = time.thread_time()
    find_violation(schema, value)
    find_violation(schema, {"a": "a" * 4000 + "b"})
    assert time.thread_time() - began < 5  # seconds instead of years


def test_the_parser_tells_what_the_whole_schema_refuses() -> None:
    schema = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}
    form = detect_format("", "hermes")
    text = '<tool_call>\n{"name": "f", "arguments": {"tags": ["a", "a"]}}\n</tool_call>'
    parser = form.parser((Tool("f", schema),), thinking="free")()
    parts = parser.push(text) + parser.end()
    assert parser.fault == 'the arguments of call 0 are invalid: tags[1] is "a" again (uniqueItems)'
    assert any(getattr(part, "name", "") == "f" for part in parts)
    for fine in ('{"tags": ["a", "b"]}', "{}"):
        parser = form.parser((Tool("f", schema),), thinking="free")()
        parser.push(text.replace('{"tags": ["a", "a"]}', fine))
        parser.end()
        assert parser.fault == ""


def test_a_tool_that_declares_no_parameters_may_be_called_with_some() -> None:
    (tool,) = tools_of([{"name": "f", "parameters": {"type": "object"}}])
    parser = detect_format("", "hermes").parser((tool,), thinking="free")()
    parser.push('<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')
    parser.end()
    assert parser.fault == ""
