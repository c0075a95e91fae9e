"""Calls with a tag for each argument: types behind combinations, blanks, broken tags."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.test_format_families import accepts, function, glm, invoke, tagged
from tests.text.test_formats import parse
from yaie.text.formats.output_format import detect_format
from yaie.text.formats.tool import Tool
from yaie.text.tokenizer import Tokenizer

STRING, NULL = {"type": "string"}, {"type": "null"}
FAMILIES: dict[str, Callable[..., str]] = {
    "qwen3_coder": lambda **a: tagged("<tool_call>", "</tool_call>", function("f", **a)),
    "seed": lambda **a: tagged("<seed:tool_call>", "</seed:tool_call>", function("f", "", **a)),
    "minimax": lambda **a: tagged("<minimax:tool_call>", "</minimax:tool_call>", invoke("f", **a)),
    "glm": lambda **a: glm("f", **a),
}
each_family = pytest.mark.parametrize("name", FAMILIES)


def tool(parameters: dict[str, Any]) -> Tool:
    return Tool.of({"function": {"name": "f", "parameters": parameters}})


def of_one(schema: Any, **others: Any) -> Tool:
    properties = {"x": schema, **others.pop("properties", {})}
    return tool({"type": "object", "properties": properties, "required": ["x"], **others})


def parse_at_every_cut(name: str, text: str, *tools: Tool) -> tuple[list[Any], str]:
    """Return the parts of a text, which are the same whole, by character and in two pieces."""
    form = detect_format("", name)
    whole = parse(form, [text], tools=tools)
    assert parse(form, list(text), tools=tools) == whole
    for at in range(len(text)):
        assert parse(form, [text[:at], text[at:]], tools=tools) == whole
    return whole


def arguments_of(parsed: tuple[list[Any], str]) -> Any:
    (call,), fault = parsed
    assert fault == "" or "are invalid: " in fault
    return json.loads(call["arguments"])


DEFS = {"Text": STRING, "Sub": {"$ref": "#/$defs/Text"}}
STRINGS = [
    {"$ref": "#/$defs/Text"},
    {"$ref": "#/$defs/Sub"},
    {"allOf": [{"$ref": "#/$defs/Text"}], "description": "d"},
    {"allOf": [STRING, {"minLength": 1}]},
    {"anyOf": [{"$ref": "#/$defs/Text"}, NULL]},
    {"oneOf": [STRING, NULL]},
    {"type": ["string", "null"]},
    {"const": "10"},
    {"pattern": "^[0-9]+$"},
    {"format": "date"},
    {"type": "string", "enum": ["10", "[1]"]},
]
UNTYPED = [True, {}, {"description": "d"}, {"$ref": "#/$defs/None"}, {"$ref": "elsewhere.json"}]


@each_family
@pytest.mark.parametrize("schema", STRINGS, ids=json.dumps)
@pytest.mark.parametrize("written", ["10115", "true", "[1]", '{"a": 1}', '"quoted"', "1e5"])
def test_a_text_that_reads_as_json_stays_a_string(name: str, schema: Any, written: str) -> None:
    f = of_one(schema, **{"$defs": DEFS})
    text = FAMILIES[name](x=written)
    assert arguments_of(parse(detect_format("", name), [text], tools=(f,))) == {"x": written}


@each_family
@pytest.mark.parametrize("schema", [STRING, *STRINGS, *UNTYPED], ids=json.dumps)
def test_strings_keep_their_blanks(name: str, schema: Any) -> None:
    f = of_one(schema, **{"$defs": DEFS})
    written = "    a\n  b\n"
    parsed = parse_at_every_cut(name, FAMILIES[name](x=written), f)
    assert arguments_of(parsed) == {"x": written}


@pytest.mark.parametrize("schema", [STRING, *STRINGS[:7], True, {}], ids=json.dumps)
def test_strings_arrive_as_they_are_written(schema: Any) -> None:
    f = of_one(schema, **{"$defs": DEFS})
    parser = detect_format("", "qwen3_coder").parser((f,), thinking="free")()
    parser.push("<tool_call>\n<function=f>\n<parameter=x>\n")
    shown = [len(parser.push(character)) for character in "a new line"]
    assert shown == [1] * 10


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"$ref": "#/$defs/Count"}, "5", 5),
        ({"allOf": [{"$ref": "#/$defs/Count"}]}, " 5 ", 5),
        ({"anyOf": [{"$ref": "#/$defs/Count"}, STRING]}, "5", 5),
        ({"anyOf": [{"$ref": "#/$defs/Count"}, STRING]}, "5a", "5a"),
        ({"anyOf": [STRING, NULL]}, "null", None),
        ({"anyOf": [STRING, NULL]}, "nu", "nu"),
        ({"anyOf": [STRING, NULL]}, "nullable", "nullable"),
        ({"type": ["boolean", "string"]}, "True", True),
        ({"const": 10}, "10", 10),
        ({"$ref": "#/$defs/Node"}, '{"next": {}}', {"next": {}}),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "3", 3),
        (True, "5", 5),
        (True, "[1]", [1]),
        (True, "5.", "5."),
        ({}, "1e999", "1e999"),  # beyond all floats
        ({}, "NaN", "NaN"),
        ({"type": "number"}, "1.10", 1.1),
        ({"type": "array"}, '["\\ud800"]', ["\ud800"]),
    ],
)
def test_types_are_found_behind_combinations(schema: Any, written: str, value: Any) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    f = of_one(schema, **{"$defs": {"Count": {"type": "integer"}, "Node": node}})
    parsed = parse_at_every_cut("qwen3_coder", FAMILIES["qwen3_coder"](x=written), f)
    assert arguments_of(parsed) == {"x": value}
    parsed[0][0]["arguments"].encode()


@pytest.mark.parametrize(
    "parameters",
    [
        {"$ref": "#/$defs/X", "$defs": {"X": of_one(STRING).parameters}},
        {"allOf": [{"type": "object"}, of_one(STRING).parameters]},
        {"anyOf": [of_one(STRING).parameters, of_one({"type": "integer"}).parameters]},
        {"type": "object", "additionalProperties": STRING},
    ],
)
def test_parameters_are_found_behind_combinations(parameters: dict[str, Any]) -> None:
    written = FAMILIES["glm"](x="[1, 2]")
    parsed = parse_at_every_cut("glm", written, tool(parameters))
    assert arguments_of(parsed) == {"x": "[1, 2]"}


def test_a_schema_that_refers_to_itself_is_read() -> None:
    loop = {"$ref": "#/$defs/A"}
    schemas = {"A": {"$ref": "#/$defs/B"}, "B": loop, "C": {"allOf": [loop, {"$ref": "#"}]}}
    f = of_one({"$ref": "#/$defs/C"}, **{"$defs": schemas})
    assert f.schema.types_of("x")
    wide = {"anyOf": [{"const": str(at)} for at in range(40)]}
    many = of_one({"allOf": [wide, {"anyOf": [*wide["anyOf"], NULL]}, wide]})
    assert f.schema.types_of("y") and many.schema.types_of("x") == {"string"}


@pytest.mark.parametrize("written", ["five", "1.", "NaN", "1e999", "{'a': 1}", "9" * 5000])
def test_a_value_of_another_type_is_a_string_with_a_reason(written: str) -> None:
    f = of_one({"type": ["number", "object"]})
    parts, fault = parse(detect_format("", "glm"), [FAMILIES["glm"](x=written)], tools=(f,))
    assert json.loads(parts[0]["arguments"]) == {"x": written}
    assert "'x' of call 0" in fault


TWO = {"type": "object", "properties": {"x": STRING, "n": {"type": "integer"}}}
LINE = {"qwen3_coder": "\n"}


@each_family
def test_a_value_ends_where_its_end_tag_is_missing(name: str) -> None:
    whole = FAMILIES[name](x="hello", n="1")
    ending = "</arg_value>" if name == "glm" else "</parameter>"
    call = {"x": "hello", "n": 1}
    for text in (
        whole.replace(ending, "", 1),  # ends at the next parameter
        whole.replace(ending, "", 2),  # and at the function's end
        whole.replace(ending, ending[:-1], 1),  # without its bracket
        whole.replace(ending, ending[:-1]),
        whole.replace(ending, ending * 2),  # repeated
        whole.replace(ending, f"{ending}\n{ending}"),
    ):
        (found, rest), _ = parse_at_every_cut(name, f"{text}Done.", tool(TWO))
        found = {key: str(value).strip() for key, value in json.loads(found["arguments"]).items()}
        assert found == {"x": "hello", "n": "1"}, text
        assert rest[1].strip() == "Done."
    no_end = whole.replace("</function>", "").replace("</invoke>", "")
    assert arguments_of(parse_at_every_cut(name, no_end, tool(TWO))) == call


@each_family
def test_a_missing_end_leaves_the_next_call(name: str) -> None:
    call = FAMILIES[name](x="hello", n="1")
    ending = "</arg_value>" if name == "glm" else "</parameter>"
    broken = call[: call.rindex(ending)]  # the rest of the markup is missing too
    parts, fault = parse_at_every_cut(name, f"{broken}\n{call}", tool(TWO))
    assert [json.loads(each["arguments"]) for each in parts] == [{"x": "hello", "n": 1}] * 2
    assert "is missing" in fault


def test_a_tag_inside_a_value_is_text() -> None:
    written = "<b>bold</b> </parameters> <parameter> </fun"
    parsed = parse_at_every_cut("seed", FAMILIES["seed"](x=written), tool(TWO))
    assert arguments_of(parsed) == {"x": written}


def test_text_between_arguments_is_dropped_with_a_reason() -> None:
    text = FAMILIES["seed"](x="a", n="1").replace("</parameter>\n", "</parameter>\nand then ", 1)
    (call,), fault = parse_at_every_cut("seed", text, tool(TWO))
    assert json.loads(call["arguments"]) == {"x": "a", "n": 1}
    assert "was dropped" in fault


@each_family
@given(data=st.data())
def test_an_answer_cut_anywhere_shows_no_markup(name: str, data: st.DataObject) -> None:
    text = FAMILIES[name](x="hello", n="1")
    at = data.draw(st.integers(text.index("hello"), len(text)))
    places = data.draw(st.lists(st.integers(0, at), max_size=4))
    pieces = [text[start:end] for start, end in pairwise(sorted({0, at, *places}))]
    form = detect_format("", name)
    parsed = parse(form, pieces, tools=(tool(TWO),))
    assert parsed == parse(form, [text[:at]], tools=(tool(TWO),))
    (call,), _ = parsed
    assert "<" not in call["arguments"]
    if not call["arguments"].endswith("}"):  # a cut call is never valid by accident
        with pytest.raises(ValueError, match=r"."):
            json.loads(call["arguments"])


def forced(name: str, f: Tool, tokenizer: Tokenizer) -> Any:
    return detect_format("", name).grammar(
        (f,), tokenizer, use="forced", thinking="free", is_parallel=False
    )


CONSTRAINED = [
    ({"type": "string", "pattern": "^[0-9]{3}$"}, ["123"], ["12", "1234", "abc"]),
    ({"type": "string", "pattern": "a|^b"}, ["xax", "bx"], ["xb"]),
    ({"type": "string", "pattern": r"^a[|^$]\$"}, ["a|$", "a^$x"], ["a$", "xa|$"]),
    ({"type": "string", "pattern": "a/b"}, ["a/b"], ["a b"]),
    ({"type": "string", "maxLength": 3}, ["", "abc", "a\nc"], ["abcd"]),
    ({"type": "string", "minLength": 2}, ["ab", "abcdef"], ["a", ""]),
    ({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "b"}, ["ab"], ["ac", "b"]),
    ({"type": "string", "format": "date"}, ["2024-02-29"], ["2024-2-29", "2024-13-01"]),
    ({"type": "string", "format": "ipv4"}, ["10.0.0.255"], ["10.0.0.256"]),
    ({"type": "string", "format": "password"}, ["anything"], []),
    ({"type": "string", "const": "10"}, ["10"], ["11"]),
    ({"const": "10"}, ["10"], ["11"]),
    ({"$ref": "#/$defs/Digits"}, ["12"], ["1", "ab"]),
    ({"allOf": [{"$ref": "#/$defs/Digits"}, {"maxLength": 3}]}, ["123"], ["1", "1234"]),
    ({"anyOf": [{"$ref": "#/$defs/Digits"}, NULL]}, ["12", "null"], ["1", "nil"]),
    ({"anyOf": [{"const": "a"}, {"type": "integer"}]}, ["a", "5"], ["b"]),
    ({"anyOf": [STRING, NULL]}, ["any text", "null", ""], []),
    ({"enum": ["a", None]}, ["a", "null"], ["b"]),
    (True, ["any text", "5"], []),
    ({"$ref": "#/$defs/Flag"}, ["true"], ["5"]),
]


@each_family
@pytest.mark.parametrize("case", CONSTRAINED, ids=lambda case: json.dumps(case[0]))
def test_forced_calls_obey_the_schema(name: str, case: Any, byte_level: Tokenizer) -> None:
    schema, good, bad = case
    digits = {"type": "string", "pattern": "^[0-9]{2,}$"}
    f = of_one(schema, **{"$defs": {"Digits": digits, "Flag": {"type": "boolean"}}})
    grammar = forced(name, f, byte_level)
    for value in good:
        assert accepts(byte_level, grammar, FAMILIES[name](x=value)), value
    for value in [*bad, "a</function>", "a<parameter=b>"][: len(bad)]:
        assert not accepts(byte_level, grammar, FAMILIES[name](x=value)), value


MARKS = {
    "qwen3_coder": ["</parameter>", "<parameter=", "</function>", "<function=", "</tool_call>"],
    "seed": ["</parameter>", "<parameter=", "</function>", "</seed:tool_call>"],
    "minimax": ["</parameter>", '<parameter name="', "</invoke>", '<invoke name="'],
    "glm": ["</arg_value>", "<arg_key>", "</tool_call>", "<tool_call>"],
}


@each_family
def test_forced_values_have_no_marks(name: str, byte_level: Tokenizer) -> None:
    grammar = forced(name, of_one(STRING), byte_level)
    assert accepts(byte_level, grammar, FAMILIES[name](x="a <b> c"))
    for mark in MARKS[name]:
        assert not accepts(byte_level, grammar, FAMILIES[name](x=f"a{mark}b")), mark


@each_family
def test_forced_calls_see_parameters_behind_combinations(name: str, byte_level: Tokenizer) -> None:
    flag = of_one({"type": "boolean"}).parameters
    count = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    write = FAMILIES[name]
    for parameters, good, bad in (
        ({"$ref": "#/$defs/X", "$defs": {"X": flag}}, [{"x": "true"}], [{}, {"x": "5"}]),
        ({"allOf": [flag, count]}, [{"x": "true", "n": "5"}], [{"n": "5"}, {"x": "true"}]),
        ({"anyOf": [flag, count]}, [{"x": "true"}, {"n": "5"}], [{}, {"n": "true"}]),
        ({"oneOf": [flag, {"type": "object"}]}, [{"x": "true"}, {}], [{"n": "5"}]),
        ({"type": "object", "required": ["x"]}, [{"x": "any"}], [{}]),
    ):
        grammar = forced(name, tool(parameters), byte_level)
        for each in good:
            assert accepts(byte_level, grammar, write(**each)), (parameters, each)
        for each in bad:
            assert not accepts(byte_level, grammar, write(**each)), (parameters, each)
