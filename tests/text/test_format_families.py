"""Families of formats: found by the template, parsed in any pieces, followed by their grammars."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

import yaie
from tests.text.test_formats import parse
from yaie.base.errors import UnsupportedParameter
from yaie.base.settings import ToolCallParser
from yaie.base.types import Grammar
from yaie.text.formats.output_format import PARSERS, OutputFormat, detect_format
from yaie.text.formats.tool import Tool
from yaie.text.tokenizer import Tokenizer, load_tokenizer

WEATHER = Tool(
    "weather",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
)
ADD = Tool("add", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
CITY = "Saint-\u00c9tienne <1>"


@dataclass(frozen=True)
class Family:
    """Signs of a template, one call and two as a model of the family writes them."""

    name: str
    template: str
    one: str
    two: str = ""
    before: str = "Look."  # text that may stand before


ARGUMENTS = json.dumps({"city": CITY, "days": 3}, ensure_ascii=False)
JSON_CALL = f'{{"name": "weather", "arguments": {ARGUMENTS}}}'
ADDING = '{"a": -5}'
JSON_ADD = '{"name": "add", "arguments": {"a": -5}}'
LLAMA_CALL = f'{{"name": "weather", "parameters": {ARGUMENTS}}}'
DS = ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>",
      "<｜tool▁calls▁end｜>")  # fmt: skip


def deepseek(name: str, arguments: str) -> str:
    return f"{DS[1]}{name}{DS[2]}{arguments}{DS[3]}"


def deepseek_v3(name: str, arguments: str) -> str:
    return f"{DS[1]}function{DS[2]}{name}\n```json\n{arguments}\n```{DS[3]}"


def kimi(name: str, at: int, arguments: str) -> str:
    return (
        f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{arguments}"
        "<|tool_call_end|>"
    )


def function(name: str, line: str = "\n", **arguments: str) -> str:
    lines = [
        f"<parameter={key}>{line}{value}{line}</parameter>" for key, value in arguments.items()
    ]
    return "\n".join([f"<function={name}>", *lines, "</function>"])


def invoke(name: str, **arguments: str) -> str:
    lines = [f'<parameter name="{key}">{value}</parameter>' for key, value in arguments.items()]
    return "\n".join([f'<invoke name="{name}">', *lines, "</invoke>"])


def glm(name: str, **arguments: str) -> str:
    lines = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>"
        for key, value in arguments.items()
    ]
    return "\n".join([f"<tool_call>{name}", *lines, "</tool_call>"])


def tagged(opener: str, closer: str, *calls: str) -> str:
    return "\n".join(f"{opener}\n{call}\n{closer}" for call in calls)


SEEDED = (function("weather", "", city=CITY, days="3"), function("add", "", a="-5"))
BOTH = (function("weather", city=CITY, days="3"), function("add", a="-5"))
INVOKED = (invoke("weather", city=CITY, days="3"), invoke("add", a="-5"))
XML, SEED = ("<tool_call>", "</tool_call>"), ("<seed:tool_call>", "</seed:tool_call>")
MINIMAX = ("<minimax:tool_call>", "</minimax:tool_call>")
TO = "<|channel|>commentary to=functions."
FAMILIES = [
    Family("hermes", "tools <tool_call> <think> </think>",
           tagged(*XML, JSON_CALL), tagged(*XML, JSON_CALL, JSON_ADD)),
    Family("llama", 'tools {"name": f, "parameters": d}', LLAMA_CALL, before=""),
    Family("json", "tools", JSON_CALL, before=""),
    Family("granite", "tools <|tool_call|>",
           f"<|tool_call|>[{JSON_CALL}]", f"<|tool_call|>[{JSON_CALL}, {JSON_ADD}]"),
    Family("phi", "tools <|tool_call|> <|/tool_call|>", f"<|tool_call|>[{JSON_CALL}]<|/tool_call|>",
           f"<|tool_call|>[{JSON_CALL}, {JSON_ADD}]<|/tool_call|>"),
    Family("nemotron", "<TOOLCALL>", f"<TOOLCALL>[{JSON_CALL}]</TOOLCALL>",
           f"<TOOLCALL>[{JSON_CALL}, {JSON_ADD}]</TOOLCALL>"),
    Family("apriel", "<tool_calls>", f"<tool_calls>[{JSON_CALL}]</tool_calls>",
           f"<tool_calls>[{JSON_CALL}, {JSON_ADD}]</tool_calls>"),
    Family("command", "<|START_ACTION|>",
           f'<|START_ACTION|>[{LLAMA_CALL.replace("name", "tool_name", 1)}]<|END_ACTION|>'),
    Family("mistral", "[TOOL_CALLS] [ARGS]", f"[TOOL_CALLS]weather[ARGS]{ARGUMENTS}",
           f'[TOOL_CALLS]weather[ARGS]{ARGUMENTS}[TOOL_CALLS]add[ARGS]{{"a": -5}}'),
    Family("mistral_list", "[TOOL_CALLS]", f"[TOOL_CALLS][{JSON_CALL}]",
           f"[TOOL_CALLS][{JSON_CALL}, {JSON_ADD}]"),
    Family("deepseek", DS[0], DS[0] + deepseek("weather", ARGUMENTS) + DS[4],
           DS[0] + deepseek("weather", ARGUMENTS) + deepseek("add", ADDING) + DS[4]),
    Family("deepseek_v3", f"{DS[0]} ```json", DS[0] + deepseek_v3("weather", ARGUMENTS) + DS[4],
           f"{DS[0]}{deepseek_v3('weather', ARGUMENTS)}\n{deepseek_v3('add', ADDING)}{DS[4]}"),
    Family("kimi", "<|tool_calls_section_begin|>",
           f'<|tool_calls_section_begin|>{kimi("weather", 0, ARGUMENTS)}<|tool_calls_section_end|>',
           f'<|tool_calls_section_begin|>{kimi("weather", 0, ARGUMENTS)}'
           f"{kimi('add', 1, ADDING)}<|tool_calls_section_end|>"),
    Family("qwen3_coder", "<tool_call> <function= <parameter=", tagged(*XML, BOTH[0]),
           tagged(*XML, *BOTH)),
    Family("seed", "<seed:tool_call>", tagged(*SEED, SEEDED[0]), tagged(*SEED, *SEEDED)),
    Family("minimax", "<minimax:tool_call>", tagged(*MINIMAX, INVOKED[0]),
           tagged(*MINIMAX, *INVOKED)),
    Family("glm", "<tool_call> <arg_key>", glm("weather", city=CITY, days="3"),
           glm("weather", city=CITY, days="3") + "\n" + glm("add", a="-5")),
    Family("harmony", "<|channel|> <|message|>",
           f"{TO}weather <|constrain|>json<|message|>{ARGUMENTS}",
           before="<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"),
]  # fmt: skip
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def without_ids(parsed: tuple[list[Any], str]) -> tuple[list[Any], str]:
    parts, fault = parsed
    return [{**each, "id": ""} if isinstance(each, dict) else each for each in parts], fault


def parse_for(form: OutputFormat, pieces: list[str]) -> tuple[list[Any], str]:
    return without_ids(parse(form, pieces, tools=(WEATHER, ADD)))


def called(parts: list[Any]) -> list[tuple[str, Any]]:
    return [
        (each["name"], json.loads(each["arguments"])) for each in parts if isinstance(each, dict)
    ]


def test_every_syntax_has_a_case() -> None:
    assert sorted(PARSERS) == sorted(family.name for family in FAMILIES)


@each_family
def test_the_template_shows_the_family(family: Family) -> None:
    form = detect_format(family.template)
    assert form.syntax is PARSERS[family.name]
    assert detect_format("no signs", family.name).syntax is form.syntax
    assert detect_format(family.template, "none").syntax is None


@each_family
def test_calls_are_found(family: Family) -> None:
    form = detect_format(family.template)
    weather = ("weather", {"city": CITY, "days": 3})
    for text, expected in ((family.one, [weather]), (family.two, [weather, ("add", {"a": -5})])):
        if text:
            parts, fault = parse_for(form, [f"{family.before}{text}"])
            assert (called(parts), fault) == (expected, "")
            rest = [each for each in parts if not isinstance(each, dict)]
            expected_text = [("reasoning", "Hm.")] if family.name == "harmony" else []
            if family.before == "Look.":
                expected_text = [("text", "Look.")]
            assert rest == expected_text


@pytest.mark.parametrize("name", ["kimi", "deepseek", "deepseek_v3"])
@pytest.mark.parametrize("wrong", ['{"city": "Bad", "is": fasle', '{"a": 1]'])
def test_a_broken_call_ends_at_its_mark(name: str, wrong: str) -> None:
    family = next(each for each in FAMILIES if each.name == name)
    form = detect_format(family.template)
    broken = family.two.replace(ARGUMENTS, wrong, 1)
    parts, fault = parse_for(form, [broken])
    first, second = parts
    # The code block of V3 is part of what the model wrote.
    assert first["arguments"].removesuffix("\n```") == wrong and "call 0" in fault
    assert (second["name"], json.loads(second["arguments"])) == ("add", {"a": -5})
    assert parse_for(form, list(broken)) == (parts, fault)
    alone, _ = parse_for(form, [family.one.replace(ARGUMENTS, wrong, 1)])
    assert alone == parts[:1]


@pytest.mark.integration
@each_family
@given(data=st.data())
def test_the_parts_do_not_depend_on_the_cuts(family: Family, data: st.DataObject) -> None:
    form = detect_format(family.template)
    text = family.before + (family.two or family.one)
    # Damage: some characters are left out or doubled.
    for at in sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)), reverse=True):
        text = text[:at] + text[at + data.draw(st.integers(-3, 6)) :]
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    pieces = [text[start:end] for start, end in pairwise(sorted({0, len(text), *places}))]
    whole = parse_for(form, [text])
    assert parse_for(form, pieces) == whole
    assert parse_for(form, list(text)) == whole


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ANSWERS = [
    (Grammar(kind="json_schema", source=json.dumps(SCHEMA)), '{"a": 5}', '{"a": "x"}'),
    (Grammar(kind="json_object"), '{"x": [1]}', "[1]"),
    (Grammar(kind="regex", source=r"a/b\/c?"), "a/b/", "ab"),
    (Grammar(kind="choice", source='["yes/no", "no"]'), "yes/no", "maybe"),
]


def accepts(tokenizer: Tokenizer, grammar: Grammar | None, text: str) -> bool:
    """Return whether a text as a whole fits a grammar."""
    assert grammar is not None and grammar.kind == "lark"
    compiled = LLTokenizer(tokenizer.fast.to_str(), n_vocab=tokenizer.vocab_size)
    matcher = LLMatcher(compiled, LLMatcher.grammar_from_lark(grammar.source), log_level=0)
    assert not matcher.is_error(), matcher.get_error() + grammar.source
    for token_id in tokenizer.encode(text):
        if not matcher.validate_tokens([token_id]):
            return False
        matcher.consume_token(token_id)
    return bool(matcher.is_accepting())


@each_family
def test_the_grammar_of_forced_calls(family: Family, byte_level: Tokenizer) -> None:
    form = detect_format(family.template)

    def is_whole(text: str, is_parallel: bool) -> bool:
        grammar = form.grammar(
            (WEATHER, ADD), byte_level, use="forced", thinking="free", is_parallel=is_parallel
        )
        return accepts(byte_level, grammar, text)

    assert is_whole(family.one, is_parallel=False)
    assert not is_whole("Sunny.", is_parallel=True)
    assert not is_whole(family.one.replace("weather", "wetter"), is_parallel=False)
    if family.two:
        assert is_whole(family.two, is_parallel=True)
        assert not is_whole(family.two, is_parallel=False)


@each_family
def test_the_grammar_without_calls(family: Family, byte_level: Tokenizer) -> None:
    form = detect_format(family.template)
    grammar = form.grammar((), byte_level, use="none", thinking="free")
    if form.syntax is None or not form.syntax.openers:
        assert grammar is None
        return
    assert accepts(byte_level, grammar, "Sunny <b>.</b>\n")
    assert accepts(byte_level, grammar, "")
    assert accepts(byte_level, grammar, f"Look.\n{family.one}") is form.syntax.is_bare


@each_family
@pytest.mark.parametrize("is_thinking", [False, True])
@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case[0].kind)
def test_a_schema_holds_for_answers_beside_reasoning_and_calls(
    family: Family, byte_level: Tokenizer, is_thinking: bool, case: tuple[Grammar, str, str]
) -> None:
    answer, good, bad = case
    form = detect_format(family.template)
    if is_thinking and form.thinking is None:
        return
    tools = (WEATHER, ADD)
    if form.syntax is not None and form.syntax.is_bare:
        with pytest.raises(UnsupportedParameter, match="combined with tools"):
            form.grammar(tools, byte_level, use="free", thinking="free", answer=answer)
        return
    grammar = form.grammar(
        tools, byte_level, use="free", thinking="open" if is_thinking else "free", answer=answer
    )
    before = "Hm.</think>\n\n" if is_thinking else ""
    if family.name == "harmony":
        before = f"{family.before}<|channel|>final<|message|>"
        assert accepts(byte_level, grammar, family.before + family.one)
    assert accepts(byte_level, grammar, before + good)
    assert not accepts(byte_level, grammar, before + bad)
    assert accepts(byte_level, grammar, family.one) is not is_thinking
    alone = form.grammar(
        (), byte_level, use="free", thinking="open" if is_thinking else "free", answer=answer
    )
    if form.thinking is None and family.name != "harmony":
        assert alone is answer
    else:
        assert accepts(byte_level, alone, before + good)
        assert not accepts(byte_level, alone, before + bad)


def test_the_prompt_shows_the_state_of_the_reasoning(byte_level: Tokenizer) -> None:
    form = detect_format("tools <tool_call> <think> </think>")
    answer = ANSWERS[0][0]
    for prompt, state in (
        ("assistant\n<think>\n", "open"),
        ("assistant\n<think>\n\n</think>\n\n", "closed"),
        ("assistant\n", "free"),
    ):
        found = form.thinking_in(byte_level, byte_level.encode(prompt))
        assert found == state
        grammar = form.grammar((), byte_level, use="free", thinking=found, answer=answer)
        assert (grammar is answer) is (state == "closed")


def test_strict_tools_called_freely_follow_their_schemas() -> None:
    folder = Path(yaie.__file__).parent / "models/builtin"
    tokenizer = load_tokenizer(folder)  # has tokens for the marks
    form = detect_format("tools <tool_call>")
    strict = replace(WEATHER, is_strict=True)
    grammar = form.grammar((strict, ADD), tokenizer, use="free", thinking="free")
    two = tagged(*XML, JSON_CALL, JSON_ADD)
    for text in ("Sunny.", "", two, f"Look.\n{two}"):
        assert accepts(tokenizer, grammar, text), text
    for text in (two.replace("days", "hours"), two.replace("-5", '"x"'), f"{two} and"):
        assert not accepts(tokenizer, grammar, text), text
    one = form.grammar((strict,), tokenizer, use="free", thinking="free", is_parallel=False)
    assert accepts(tokenizer, one, tagged(*XML, JSON_CALL))
    assert not accepts(tokenizer, one, tagged(*XML, JSON_CALL, JSON_CALL))
    assert form.grammar((WEATHER, ADD), tokenizer, use="free", thinking="free") is None


def test_parsers_are_the_settings_choices() -> None:
    assert sorted({"auto", "none", *PARSERS}) == sorted(get_args(ToolCallParser))


def test_a_bare_object_is_a_call_only_of_a_tool() -> None:
    form = detect_format("tools")
    for text in ('{"name": "Ann", "age": 5}', '{"age": 5}', "[1, 2]", '{"name": 3'):
        assert parse_for(form, [text]) == ([("text", text)], "")


def test_harmony_channels() -> None:
    form = detect_format("<|channel|> <|message|>")
    text = (
        "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary"
        "<|message|>I will look.<|end|><|start|>assistant to=functions.weather<|channel|>"
        'commentary json<|message|>{"city": "Rome", "days": 1}'
    )
    parts, fault = parse_for(form, [text])
    assert parts[:2] == [("reasoning", "Think."), ("text", "I will look.")]
    assert (called(parts), fault) == ([("weather", {"city": "Rome", "days": 1})], "")
    thought = "<|channel|>analysis<|message|>Hm.<|end|>"
    final = f"{thought}<|start|>assistant<|channel|>final<|message|>Hi"
    assert parse_for(form, [final]) == ([("reasoning", "Hm."), ("text", "Hi")], "")
    assert parse_for(form, ["Hi there"]) == ([("text", "Hi there")], "")


@pytest.mark.parametrize(
    ("written", "schema", "value"),
    [
        ("5", {"type": "integer"}, 5),
        ("5", {"type": "string"}, "5"),
        ("5", {"type": ["string", "null"]}, "5"),
        ("null", {"type": ["string", "null"]}, None),
        ("5", {}, 5),
        ("5.5", {"type": "number"}, 5.5),
        ("true", {"type": "boolean"}, True),
        ("True", {"type": "boolean"}, True),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("two\nlines", {"type": "string"}, "two\nlines"),
        ('say "x" <b>', {"type": "string"}, 'say "x" <b>'),
        ("b", {"enum": ["a", "b"]}, "b"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, 5),
    ],
)
def test_tagged_values_have_the_types_of_the_schema(
    written: str, schema: dict[str, Any], value: Any
) -> None:
    tool = Tool("f", {"type": "object", "properties": {"x": schema}})
    form = detect_format("", "qwen3_coder")
    text = f"<tool_call>\n<function=f>\n<parameter=x>\n{written}\n</parameter>\n</function>\n"
    parts, fault = parse(form, [text], tools=(tool,))
    assert (json.loads(parts[0]["arguments"]), fault) == ({"x": value}, "")
