"""Markup in and around calls: calls in the reasoning, cut marks, separators, broken escapes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.test_format_families import (
    ARGUMENTS,
    FAMILIES,
    called,
    kimi,
    parse_for,
    without_ids,
)
from tests.text.test_formats import CALL, HERMES, WEATHER, parse
from yaie.text.formats.output_format import OutputFormat, detect_format
from yaie.text.formats.tool import Tool

THINKING = {
    "hermes": CALL,
    "qwen3_coder": "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n"
    "</function>\n</tool_call>",
    "kimi": "<|tool_calls_section_begin|>" + kimi("weather", 0, '{"city": "Paris"}')
    + "<|tool_calls_section_end|>",
}  # fmt: skip


def at_every_cut(form: OutputFormat, text: str, **options: Any) -> tuple[list[Any], str]:
    """Return the parts of a text, which are the same whole, by character and in two pieces."""
    whole = parse(form, [text], **options)
    assert parse(form, list(text), **options) == whole
    for at in range(len(text)):
        assert parse(form, [text[:at], text[at:]], **options) == whole
    return whole


@pytest.mark.parametrize("name", THINKING)
@pytest.mark.parametrize("is_thinking", [True, False])
@pytest.mark.parametrize("ending", ["", "\n</think>", "\n</think>\n\nDone."])
def test_a_call_in_the_reasoning_is_a_call(name: str, is_thinking: bool, ending: str) -> None:
    form = detect_format("<think> </think>", name)
    text = f"{'' if is_thinking else '<think>'}I need it.\n{THINKING[name]}{ending}"
    (reasoning, call, *rest), fault = at_every_cut(form, text, is_thinking=is_thinking)
    assert (reasoning, fault) == (("reasoning", "I need it."), "")
    assert (call["name"], json.loads(call["arguments"])) == ("weather", {"city": "Paris"})
    assert rest == ([("text", "Done.")] if "Done" in ending else [])


@pytest.mark.parametrize("written", ["<tool_call>", CALL.replace("weather", "other")])
def test_markup_in_the_reasoning_that_calls_no_tool_is_reasoning(written: str) -> None:
    parsed = at_every_cut(HERMES, f"<think>I write {written} now.</think>Hi")
    assert parsed == ([("reasoning", f"I write {written} now."), ("text", "Hi")], "")


def test_one_call_in_the_reasoning_is_enough() -> None:
    parser = HERMES.parser((Tool("weather", {}),), thinking="open", max_calls=1)()
    assert parser.push(f"So: {CALL}") and parser.is_done


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"First.\n{CALL}\nThen.", "First.\nThen."),
        (f"First.\n\n{CALL}\nThen.", "First.\n\nThen."),
        (f"First.{CALL}  Then.", "First.  Then."),
        (f"```json{CALL}```", "```json\n```"),
        (f"First. {CALL}\n{CALL}\n\nThen. ", "First. Then. "),
        (f"\n{CALL}\n Then.", "Then."),
        (f"First.\n{CALL}\n", "First."),
        (f"First.\n{CALL}</tool_call>\n</tool_call>\nThen.", "First.\nThen."),
        ("Say </tool_call> so.", "Say </tool_call> so."),
    ],
)
def test_text_around_calls_keeps_its_separators(text: str, shown: str) -> None:
    parts, fault = at_every_cut(HERMES, text)
    assert "".join(each[1] for each in parts if isinstance(each, tuple)) == shown
    assert fault == ""


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@given(data=st.data())
def test_an_answer_cut_anywhere_shows_no_mark(family: Any, data: st.DataObject) -> None:
    form = detect_format(family.template)
    before = "" if family.name == "harmony" else family.before
    text = before + (family.two or family.one)
    at = data.draw(st.integers(len(before), len(text)))
    places = data.draw(st.lists(st.integers(0, at), max_size=4))
    pieces = [text[start:end] for start, end in pairwise(sorted({0, at, *places}))]
    parts, _ = without_ids(parse(form, pieces, is_cut=True))
    assert parts == without_ids(parse(form, [text[:at]], is_cut=True))[0]
    shown = "".join(each[1] for each in parts if isinstance(each, tuple))
    assert shown.rstrip() == before or form.syntax.is_bare  # type: ignore[union-attr]
    for name, arguments in called([each for each in parts if is_whole(each)]):
        assert name in ("weather", "add") and isinstance(arguments, dict)


def test_a_call_cut_before_its_name_is_told_as_cut() -> None:
    for at in range(len("<tool_call>"), CALL.index("weather") + len("weather")):
        parts, fault = parse(HERMES, [f"So: {CALL[:at]}"], is_cut=True)
        assert "".join(text for _, text in parts).rstrip() == "So:"
        assert fault == "the answer was cut before the name of a tool call, and lacks the call"


def is_whole(part: Any) -> bool:
    try:
        return isinstance(json.loads(part["arguments"]), dict)
    except (TypeError, ValueError):
        return False


def test_text_that_is_no_mark_stays_where_an_answer_is_cut() -> None:
    for text in ("a < b", "a <t", "Look: <b>"):
        assert parse(HERMES, [text]) == ([("text", text)], "")
    assert parse(HERMES, ["a < b"], is_cut=True) == ([("text", "a < b")], "")
    assert parse(HERMES, ["a <tool_c"], is_cut=True) == ([("text", "a ")], "")
    assert parse(HERMES, ["<think>so</thi"], is_cut=True) == ([("reasoning", "so")], "")


HARMONY = detect_format("<|channel|> <|message|>")
FINAL = "<|start|>assistant<|channel|>final<|message|>Hi"
THOUGHT = "<|start|>assistant<|channel|>analysis<|message|>SECRET"


@pytest.mark.parametrize("end", ["<|end|>", "<|return|>", "<|call|>", ""])
def test_a_header_without_its_mark_ends_with_the_message(end: str) -> None:
    text = f"<|channel|>commentary 2?{end}{THOUGHT}<|end|>{FINAL}"
    parts, fault = at_every_cut(HARMONY, text)
    assert parts == [("reasoning", "SECRET"), ("text", "Hi")]
    assert "without <|message|>" in fault


@pytest.mark.parametrize("channel", ["??", "bash", "thought"])
def test_an_unknown_channel_is_not_shown(channel: str) -> None:
    text = f'<|channel|>{channel}<|message|>{{"a": 1}}<|end|>{FINAL}'
    assert at_every_cut(HARMONY, text)[0] == [("reasoning", '{"a": 1}'), ("text", "Hi")]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"city": "two\nlines"}', {"city": "two\nlines"}),
        ('{"city": "a"}\n', {"city": "a"}),
        ('{"city": "<b>"}', {"city": "<b>"}),
    ],
)
def test_harmony_arguments_are_mended_as_json(written: str, arguments: Any) -> None:
    text = f"<|channel|>commentary to=functions.weather json<|message|>{written}<|call|>{FINAL}"
    parts, fault = at_every_cut(HARMONY, text)
    assert (json.loads(parts[0]["arguments"]), fault) == (arguments, "")
    assert parts[1] == ("text", "Hi")


def test_a_harmony_string_without_end_leaves_the_next_message() -> None:
    text = '<|channel|>commentary to=functions.weather<|message|>{"city": "Par<|call|>' + FINAL
    (call, rest), fault = at_every_cut(HARMONY, text)
    assert call["arguments"] == '{"city": "Par' and rest == ("text", "Hi")
    assert "call 0" in fault


@pytest.mark.parametrize(
    "call_id",
    [
        "functions.weather:0", "functions.weather", "weather:3", "weather", "weather_0",
        "functions.weather.12", "function.weather:0", "functions/weather:1",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("opener", "closer"),
    [
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        ("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
        ("<|tool_calls_section_begin|>\n", "<|tool_call_section_end|>"),
        ("", ""),
    ],
)
def test_variants_of_ids_and_marks_of_kimi(call_id: str, opener: str, closer: str) -> None:
    call = kimi("weather", 0, ARGUMENTS).replace("functions.weather:0", call_id)
    parts, fault = parse_for(detect_format("", "kimi"), [f"Look.{opener}{call}{call}{closer}"])
    assert [name for name, _ in called(parts)] == ["weather", "weather"]
    assert (parts[0], fault) == (("text", "Look."), "")
    assert len(parts) == 3


def test_a_kimi_tool_whose_name_looks_numbered() -> None:
    tools = (Tool("log_2", {}), Tool("log", {}))
    text = "<|tool_calls_section_begin|>" + kimi("log_2", 0, "{}") + kimi("log", 1, "{}")
    parts, _ = parse(detect_format("", "kimi"), [text], tools=tools)
    assert [each["name"] for each in parts] == ["log_2", "log"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r"C:\dir", "C:\\dir"),
        (r"\d+\u12 \x", "\\d+\\u12 \\x"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud83d!", "\ufffd!"),
        (r"\ude00", "\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"a\\b\"\n\u00e9", 'a\\b"\n\u00e9'),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_broken_escapes_are_text(written: str, value: str) -> None:
    parts, fault = at_every_cut(HERMES, CALL.replace("Paris", written))
    assert (json.loads(parts[0]["arguments"]), fault) == ({"city": value}, "")
    parts[0]["arguments"].encode()


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "[NaN]"])
def test_constants_of_python_are_no_arguments(constant: str) -> None:
    parts, fault = parse(HERMES, [CALL.replace('"Paris"', constant)])
    assert parts[0]["name"] == WEATHER["name"] and "are not JSON" in fault
