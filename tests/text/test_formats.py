"""Parsers of answers: one result however the text is cut, and every call found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.text.formats.output_format import OutputFormat, detect_format
from yaie.text.formats.tool import Tool
from yaie.text.output_parts import Part, TextPart, ToolCallPart

TOOLS = (
    Tool("weather", {"type": "object", "properties": {"city": {"type": "string"}}}),
    Tool("add", {"type": "object", "properties": {"a": {"type": "integer"}}}),
)
HERMES = detect_format("<tools> <tool_call> </think>")


def merged(parts: Sequence[Part]) -> list[Any]:
    """Return the parts as a client puts them together."""
    found: list[Any] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            if part.name:
                assert part.index == sum(isinstance(each, dict) for each in found)
                found.append({"name": part.name, "arguments": part.arguments, "id": part.call_id})
            else:
                found[-1]["arguments"] += part.arguments
            continue
        assert part.text
        kind = "text" if isinstance(part, TextPart) else "reasoning"
        if found and isinstance(found[-1], tuple) and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + part.text)
        else:
            found.append((kind, part.text))
    return found


def parse(
    form: OutputFormat,
    pieces: Sequence[str],
    *,
    is_thinking: bool = False,
    is_cut: bool = False,
    tools: Sequence[Tool] = TOOLS,
) -> tuple[list[Any], str]:
    """Return the parts of a text in pieces, and the fault."""
    parser = form.parser(tools, thinking="open" if is_thinking else "free")()
    parts = [part for piece in pieces for part in parser.push(piece)]
    parts += parser.end(is_cut=is_cut)
    return merged(parts), parser.fault


CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
WEATHER = {"name": "weather", "arguments": '{"city": "Paris"}', "id": ""}


def test_a_call() -> None:
    assert parse(HERMES, [CALL]) == ([WEATHER], "")
    text = f"I will look.\n\n{CALL}\n{CALL}\n"
    assert parse(HERMES, [text]) == ([("text", "I will look."), WEATHER, WEATHER], "")


def test_reasoning_and_a_call() -> None:
    expected = ([("reasoning", "Paris?"), ("text", "Look."), WEATHER], "")
    assert parse(HERMES, [f"<think>\nParis?\n</think>\n\nLook.\n{CALL}"]) == expected
    opened = f"\nParis?\n</think>\n\nLook.\n{CALL}"
    assert parse(HERMES, [opened], is_thinking=True) == expected
    assert parse(HERMES, ["Say <think>."]) == ([("text", "Say <think>.")], "")


def test_arguments_arrive_as_they_are_written() -> None:
    parser = HERMES.parser(TOOLS, thinking="free")()
    shown = []
    for character in CALL:
        shown.append(len(parser.push(character)))
    at = CALL.index("Paris")
    assert shown[at : at + 5] == [1] * 5
    assert parser.push('<tool_call>{"name": "weather"')[0] == ToolCallPart(1, name="weather")


@pytest.mark.parametrize(
    "written",
    [
        "not json",
        '{"name": 5, "arguments": {}}',
        '{"arguments": {"city": "Paris"}}',
        '{"name": ""}',
        '{"na',
        "",
    ],
)
def test_a_call_without_a_name_is_text(written: str) -> None:
    text = f"Look: <tool_call>{written}</tool_call> more"
    parts, fault = parse(HERMES, [text])
    assert parts == [("text", text)]
    assert "stays text" in fault


def test_broken_arguments_stay_as_written() -> None:
    text = '<tool_call>{"name": "weather", "arguments": {"city": ]}}</tool_call> Done.'
    parts, fault = parse(HERMES, [text])
    assert parts == [{**WEATHER, "arguments": '{"city": ]}}'}, ("text", "Done.")]
    assert "the arguments of call 0" in fault


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"arguments": {"a": 1}, "name": "add"}', {"a": 1}),
        ('{"name": "add", "parameters": {"a": 1}}', {"a": 1}),
        ('{"name": "add", "arguments": "{\\"a\\": 1}"}', {"a": 1}),
        ('{"name": "add"}', {}),
        ('{"name": "add", "arguments": null}', {}),
        ('{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}', {"a": 1}),
        ('{"name": "add", "arguments": {"a": 1}', {"a": 1}),
        ('[{"name": "add", "arguments": {"a": [1, {"b": "}]"}]}}]', {"a": [1, {"b": "}]"}]}),
        ('{"name": "add", "arguments": {"a": "two\nlines"}}', {"a": "two\nlines"}),
        ('{"name": "add", "arguments": {"a": "</tool_call>"}}', {"a": "</tool_call>"}),
    ],
)
def test_other_ways_to_write_a_call(written: str, arguments: dict[str, Any]) -> None:
    parts, fault = parse(HERMES, [f"<tool_call>\n{written}\n</tool_call>"])
    assert [each["name"] for each in parts] == ["add"]
    assert json.loads(parts[0]["arguments"]) == arguments
    assert fault == "" or "are invalid: a is " in fault  # the schema wants an integer


MARKS = (
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "\n", " ", "{", "}", "[", "]", "<"),
    *('"', "\\", ",", ":", '"name"', '"arguments"', '"weather"', "null", "text", "\u20ac"),
)


@st.composite
def answers(draw: st.DrawFn) -> str:
    calls = st.sampled_from([CALL, '<tool_call>{"name": "add", "arguments": {"a": 1', "<think>so"])
    return "".join(draw(st.lists(st.one_of(st.sampled_from(MARKS), calls, st.text(max_size=3)))))


@given(text=answers(), cuts=st.lists(st.integers(0, 200)), is_thinking=st.booleans())
def test_the_parts_do_not_depend_on_the_cuts(text: str, cuts: list[int], is_thinking: bool) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    whole = parse(HERMES, [text], is_thinking=is_thinking)
    assert parse(HERMES, pieces, is_thinking=is_thinking) == whole
    assert parse(HERMES, list(text), is_thinking=is_thinking) == whole


@given(text=answers())
def test_an_answer_without_calls_keeps_its_text(text: str) -> None:
    parts, _ = parse(HERMES, [text])
    if "<think>" not in text and not any(isinstance(part, dict) for part in parts):
        assert "".join(part[1] for part in parts) == text
