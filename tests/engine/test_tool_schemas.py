"""Schemas of tools as a grammar holds them: what is left out, what is refused, what stays."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llguidance import LLMatcher

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.engine.grammar.compiler import JSON_FORM
from yaie.engine.grammar.schema_keywords import (
    FORMATS,
    UNHELD,
    check_compiles,
    check_schema,
    drop_unheld,
    find_fault,
)
from yaie.engine.grammar.tool_schemas import relax_tools
from yaie.text.formats.lark import Lark
from yaie.text.formats.output_format import PARSERS
from yaie.text.formats.tool import Tool

STRING = {"type": "string"}
FORMS = sorted(name for name, syntax in PARSERS.items() if syntax is not None)
# Keywords of JSON Schema, drafts 4 to 2020-12.
KEYWORDS = re.findall(
    r"\S+",
    """
    $anchor $comment $defs $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref
    $schema $vocabulary additionalItems additionalProperties allOf anyOf const contains
    contentEncoding contentMediaType contentSchema default definitions dependencies
    dependentRequired dependentSchemas deprecated description else enum examples exclusiveMaximum
    exclusiveMinimum format id if items maxContains maxItems maxLength maxProperties maximum
    minContains minItems minLength minProperties minimum multipleOf not oneOf pattern
    patternProperties prefixItems properties propertyNames readOnly required then title type
    unevaluatedItems unevaluatedProperties uniqueItems writeOnly
""",
)
# Schemas of a property: with a keyword that is reported, and with keywords without effect.
LEFT_OUT: list[tuple[Any, str]] = [
    ({"type": "object", "propertyNames": {"pattern": "^a"}}, "propertyNames"),
    ({"type": "array", "uniqueItems": True}, "uniqueItems"),
    ({"not": STRING}, "not"),
    ({"if": STRING, "then": {"minLength": 2}}, "if"),
    ({"type": "array", "contains": STRING}, "contains"),
    ({"type": "object", "unevaluatedProperties": False}, "unevaluatedProperties"),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, "dependentRequired"),
    ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "oneOf"),
    ({"type": "string", "format": "path"}, "format"),
    ({"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}, "pattern"),
    ({"type": "string", "pattern": "("}, "pattern"),
    ({"type": "object", "patternProperties": {"(?=a)": STRING}}, "patternProperties"),
    ({"type": "object", "properties": {"a": STRING}, "minProperties": 1}, "minProperties"),
    ({"$ref": "#/$defs/None"}, "$ref"),
    ({"$ref": "http://example.com/other.json"}, "$ref"),
    ({"type": "any"}, "type"),
    ({"items": {"items": {"not": STRING}}}, "not"),
    ({"anyOf": [{"properties": {"a": {"uniqueItems": True}}}, STRING]}, "uniqueItems"),
]
WITHOUT_EFFECT: list[Any] = [
    {"type": "object", "propertyNames": STRING, "additionalProperties": {}},
    {"type": "object", "propertyNames": {}},
    {"type": "array", "uniqueItems": False},
    {"anyOf": [STRING, {"not": {}}]},
    {"type": "array", "minContains": 2},
    {"then": STRING},
    {"if": STRING},
    {"type": "object", "unevaluatedProperties": {}},
    {"not": False},
    {"type": "object", "dependentRequired": {}},
    {"type": "integer", "format": "int64"},
]


def of_one(schema: Any, **more: Any) -> Tool:
    properties = {"x": schema, "n": {"type": "integer"}}
    return Tool("f", {"type": "object", "properties": properties, "required": ["x"]}, **more)


def compile_calls(tool: Tool, form: str) -> str:
    """Return why llguidance refuses the calls; empty if it does not."""
    syntax = PARSERS[form]
    assert syntax is not None
    lark = Lark({})
    calls = syntax.grammar([tool], lark, is_parallel=True)
    source = "\n".join(["start: calls", calls, *lark.terminals])
    return LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(source))


def test_the_tables_are_those_of_the_library() -> None:
    found = {
        keyword for keyword in KEYWORDS if "Unimplemented" in find_fault(json.dumps({keyword: {}}))
    }
    assert found == UNHELD
    formats = [*FORMATS, "path", "password", "binary", "byte", "regex", "uri-reference"]
    held = {each for each in formats if not find_fault(json.dumps({**STRING, "format": each}))}
    assert held == FORMATS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("schema", "keyword"), LEFT_OUT, ids=json.dumps)
def test_a_keyword_that_no_grammar_holds_is_left_out(form: str, schema: Any, keyword: str) -> None:
    syntax = PARSERS[form]
    assert syntax is not None
    (tool,), lost = relax_tools([of_one(schema)], syntax, ["place"])
    assert f"f.{keyword}" in lost
    assert compile_calls(tool, form) == ""
    # Names, types and requirements of the others stay.
    assert tool.parameters["required"] == ["x"]
    assert tool.parameters["properties"]["n"] == {"type": "integer"}


@pytest.mark.parametrize("form", ["hermes", "qwen3_coder"])
@pytest.mark.parametrize("schema", WITHOUT_EFFECT, ids=json.dumps)
def test_a_keyword_without_effect_is_no_loss(form: str, schema: Any) -> None:
    syntax = PARSERS[form]
    assert syntax is not None
    for is_strict in (False, True):
        (tool,), lost = relax_tools([of_one(schema, is_strict=is_strict)], syntax, ["place"])
        assert (lost, compile_calls(tool, form)) == ([], "")


@pytest.mark.parametrize(("schema", "keyword"), LEFT_OUT, ids=json.dumps)
def test_a_strict_tool_is_refused_with_its_name_and_the_keyword(schema: Any, keyword: str) -> None:
    tool = of_one(schema, is_strict=True)
    syntax = PARSERS["hermes"]
    assert syntax is not None
    place = "tools[3].function.parameters"
    if keyword == "format":  # JSON Schema lets programs ignore it
        assert relax_tools([tool], syntax, [place])[1] == ["f.format"]
        return
    with pytest.raises(InvalidRequest) as refused:
        relax_tools([tool], syntax, [place])
    message = refused.value.message
    assert refused.value.param == place
    assert message.startswith(f"{place} of the strict tool 'f' has '{keyword}' at properties.x")
    assert "call_0" not in message and "failed to compile" not in message


def test_one_bad_property_costs_no_other() -> None:
    syntax = PARSERS["hermes"]
    assert syntax is not None
    properties = {
        "bad": {"type": "object", "patternProperties": {"^a": STRING, "b$": STRING}},
        "worse": {"enum": []},
        "good": {"type": "string", "enum": ["a", "b"]},
    }
    tool = Tool("f", {"type": "object", "properties": properties, "required": ["bad", "worse"]})
    (relaxed,), lost = relax_tools([tool], syntax, ["place"])
    assert lost == ["f.bad", "f.worse"]
    assert relaxed.parameters["properties"] == {"bad": {}, "worse": {}, "good": properties["good"]}
    assert relaxed.parameters["required"] == ["bad", "worse"]


@pytest.mark.parametrize("form", FORMS)
def test_references_into_any_place_are_followed(form: str) -> None:
    syntax = PARSERS[form]
    assert syntax is not None
    parameters = {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "integer"}}},
            "b": {"$ref": "#/properties/a"},
            "c": {"type": "array", "items": {"$ref": "#/definitions/Kind"}},
            "d": {"$ref": "#"},
            "e": {"anyOf": [{"$ref": "#/properties/c/items"}, {"type": "null"}]},
        },
        "definitions": {"Kind": {"enum": ["u", "v"]}},
        "required": ["a", "b"],
    }
    (tool,), lost = relax_tools([Tool("f", parameters)], syntax, ["place"])
    assert (lost, compile_calls(tool, form)) == ([], "")


def test_descriptions_take_no_room_in_the_grammar() -> None:
    text = "a long description " * 5000
    described = {"type": "string", "description": text, "default": text, "title": text}
    syntax = PARSERS["hermes"]
    assert syntax is not None
    (tool,), lost = relax_tools([of_one(described)], syntax, ["place"])
    assert (lost, tool.parameters["properties"]["x"]) == ([], STRING)
    # A property may have such a name.
    named = Tool("f", {"type": "object", "properties": {"title": STRING, "default": STRING}})
    (tool,), _ = relax_tools([named], syntax, ["place"])
    assert set(tool.parameters["properties"]) == {"title", "default"}


def test_a_schema_beyond_all_limits_keeps_the_names() -> None:
    syntax = PARSERS["hermes"]
    assert syntax is not None
    huge = {"enum": [f"choice {number}" for number in range(10_000)]}
    (tool,), lost = relax_tools([of_one(huge)], syntax, ["place"])
    assert lost == ["f.parameters"]
    assert (set(tool.parameters["properties"]), tool.parameters["required"]) == ({"x", "n"}, ["x"])
    deep: Any = STRING
    for _ in range(100_000):
        deep = {"items": deep}
    with pytest.raises(InvalidRequest, match=r"place is nested too deeply; flatten it"):
        relax_tools([of_one(deep)], syntax, ["place"])


@pytest.mark.parametrize("schema", WITHOUT_EFFECT, ids=json.dumps)
def test_keywords_without_effect_are_dropped_from_an_answers_schema(schema: Any) -> None:
    checked = check_schema(Grammar(kind="json_schema", source=json.dumps(schema), param="p"))
    assert find_fault(checked.source) == ""
    assert checked.param == "p"


@pytest.mark.parametrize(("schema", "keyword"), LEFT_OUT, ids=json.dumps)
def test_an_answers_schema_is_refused_with_path_and_keyword(schema: Any, keyword: str) -> None:
    whole = {"type": "object", "properties": {"x": schema}}
    grammar = Grammar(kind="json_schema", source=json.dumps(whole), param="response_format")
    if keyword == "format":
        assert find_fault(check_schema(grammar).source) == ""
        return
    with pytest.raises(InvalidRequest) as refused:
        check_compiles(check_schema(grammar))
    assert refused.value.message.startswith(f"response_format has '{keyword}' at properties.x")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab(", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)
any_schema = st.dictionaries(st.sampled_from(KEYWORDS), json_values, max_size=4)


@given(schema=any_schema, form=st.sampled_from(["hermes", "glm", "qwen3_coder", "mistral"]))
def test_whatever_the_schema_the_call_can_be_forced(schema: dict[str, Any], form: str) -> None:
    syntax = PARSERS[form]
    assert syntax is not None
    before = json.dumps(schema)
    for tool in (of_one(schema), Tool("f", {"type": "object", **schema})):
        (relaxed,), _ = relax_tools([tool], syntax, ["place"])
        assert compile_calls(relaxed, form) == ""
    assert json.dumps(schema) == before


@given(schema=any_schema)
@example(schema={"additionalItems": {"$dynamicAnchor": None}})
def test_a_schema_that_compiles_keeps_its_meaning(schema: dict[str, Any]) -> None:
    source = json.dumps(schema)
    if LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(source, defaults=JSON_FORM)):
        return
    kept, unheld = drop_unheld(schema)
    assert [each for each in unheld if not each.is_annotation] == []
    assert {key: each for key, each in kept.items() if key != "anyOf"} == {
        key: each for key, each in schema.items() if key != "anyOf" and key in kept
    }
