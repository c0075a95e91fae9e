"""Past tool calls reach the prompt through templates that cannot show them as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.text.test_chat import user
from yaie.base.errors import InvalidRequest
from yaie.text.chat_template import ChatTemplate
from yaie.text.formats.json_calls import COMMAND, GRANITE, HERMES, JSON, JsonCalls
from yaie.text.past_calls import with_short_ids
from yaie.text.tokenizer import Tokenizer

MARK = "<tool_call>"  # of Hermes
SHOWS_TEXT = "{% for m in messages %}({{ m.role }}: {{ m.content }}){% endfor %}{# tools #}"


def call(call_id: str | None = "call_5f0c2d", **arguments: Any) -> dict[str, Any]:
    function = {"name": "add", "arguments": json.dumps(arguments)}
    named = {} if call_id is None else {"id": call_id}
    return {**named, "type": "function", "function": function}


def said(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(call_id: str = "call_5f0c2d") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "3"}


@pytest.fixture
def chat(byte_level: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Any:
    def with_template(source: str) -> ChatTemplate:
        monkeypatch.setattr(byte_level.hf, "chat_template", source)
        return ChatTemplate(byte_level)

    return with_template


@pytest.mark.parametrize("content", [None, "", "I add."])
def test_hidden_calls_become_text_as_the_model_writes_it(chat: Any, content: str | None) -> None:
    template = chat("{% if tools %}Write " + MARK + ".{% endif %}" + SHOWS_TEXT)
    messages = [user("1 + 2?"), said(call(a=1, b=2), call(a=3), content=content), result()]
    written = (
        '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>\n'
        '<tool_call>\n{"name": "add", "arguments": {"a": 3}}\n</tool_call>'
    )
    text = f"{content}\n{written}" if content else written
    shown = f"(user: 1 + 2?)(assistant: {text})(tool: 3)"
    for _ in range(2):  # the second time the template is known
        assert template.render_text(messages) == shown


def test_a_template_that_shows_calls_gets_none_as_text(chat: Any) -> None:
    source = (
        "{% if tools %}"
        + MARK
        + "{% endif %}"
        + SHOWS_TEXT.replace(
            "{{ m.content }}",
            "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}",
        )
    )
    assert chat(source).render_text([user("x"), said(call(a=1))]) == "(user: x)(assistant: add)"


def test_a_template_without_tools_gets_calls_and_results_as_text(chat: Any) -> None:
    template = chat(SHOWS_TEXT.replace("tools", ""))
    messages = [user("x"), said(call(a=1)), result(), result(), user("and?")]
    response = "<tool_response>\n3\n</tool_response>"
    assert template.render_text(messages) == (
        '(user: x)(assistant: <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>)'
        f"(user: {response}\n\n{response}\n\nand?)"
    )


def test_a_template_without_tools_gets_them_in_the_system_turn(chat: Any) -> None:
    template = chat(SHOWS_TEXT.replace("tools", ""))
    tool = {"type": "function", "function": {"name": "add", "description": "Grüße"}}
    without = template.make_prompt([user("x")], [tool])
    assert without.text.startswith("(system: # Tools")
    assert json.dumps(tool, ensure_ascii=False) in without.text
    assert '<tool_call>\n{"name": ' in without.text and without.text.endswith("(user: x)")
    assert without.folds == ("tools-in-system",)
    said_before = template.render_text(
        [{"role": "system", "content": "Be brief."}, user("x")], [tool]
    )
    assert said_before == without.text.replace("(system: ", "(system: Be brief.\n\n")
    assert template.reads("tools")


def test_without_a_parser_there_are_no_tools(byte_level: Tokenizer) -> None:
    source = SHOWS_TEXT.replace("tools", "")
    tool = {"type": "function", "function": {"name": "add"}}
    byte_level.hf.chat_template, own = source, byte_level.hf.chat_template
    try:
        template = ChatTemplate(byte_level, "none")
        assert template.render_text([user("x")], [tool]) == "(user: x)"
        assert not template.reads("tools")
    finally:
        byte_level.hf.chat_template = own


def test_broken_arguments_are_written_as_they_are(chat: Any) -> None:
    template = chat("{{ tools }}" + MARK + SHOWS_TEXT)
    broken = call(a=1)
    broken["function"]["arguments"] = '{"a": '
    assert '"arguments": {"a": }' in template.render_text([user("x"), said(broken)])


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        (HERMES, '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n' * 2),
        (GRANITE, '<|tool_call|>[{"name": "f", "arguments": {}}, {"name": "f", "arguments": {}}]'),
        (JSON, '{"name": "f", "arguments": {}}\n' * 2),
        (
            COMMAND,
            '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}, '
            '{"tool_name": "f", "parameters": {}}]<|END_ACTION|>',
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_the_text_of_calls(syntax: JsonCalls, text: str) -> None:
    assert syntax.text_of([("f", "{}"), ("f", "{}")]) == text.strip()


NINE = """{% for m in messages %}
{%- for c in m.tool_calls or [] %}
{%- if c.id|length != 9 %}{{ raise_exception('Tool call IDs should be ... length 9!') }}{% endif %}
{{- c.id }} {% endfor %}
{%- if m.role == 'tool' %}{% if m.tool_call_id|length != 9 %}
{{- raise_exception('Tool call IDs should be ... length 9!') }}{% endif %}
{{- m.tool_call_id }}{% endif %}
{%- endfor %}"""


def test_ids_of_other_servers_fit_templates_of_mistral(chat: Any) -> None:
    template = chat(NINE)
    first, second = template.render_text([user("x"), said(call(a=1)), result()]).split()
    assert first == second and len(first) == 9 and first.isalnum()
    own = [user("x"), said(call("abcDEF123", a=1)), result("abcDEF123")]
    assert template.render_text(own) == "abcDEF123 abcDEF123"


def test_a_refusal_that_no_change_mends_is_told(chat: Any) -> None:
    with pytest.raises(InvalidRequest, match="length 9"):
        chat(NINE).render_text([user("x"), said(call(None, a=1))])
    with pytest.raises(InvalidRequest, match="no"):
        chat("{{ raise_exception('no') }}").render_text([user("x"), said(call(a=1))])


def test_short_ids_differ_and_keep_those_that_fit() -> None:
    ids = [with_short_ids(result(f"call_{number}"))["tool_call_id"] for number in range(100)]
    assert len(set(ids)) == 100
    assert with_short_ids(result("abcDEF123"))["tool_call_id"] == "abcDEF123"
    assert with_short_ids(user("x")) == user("x")


SHOWS_CALLS = (
    "{% for m in messages %}{% for c in m.tool_calls or [] %}({{ c.function.name }}ARGUMENTS)"
    "{% endfor %}{% endfor %}"
)
# Ways in which templates write arguments: from objects, from text, from either.
WAYS = {
    "qwen3_coder": "{% for k, v in c.function.arguments|items %} {{ k }}={{ v }}{% endfor %}",
    "glm": "{% for k, v in c.function.arguments.items() %} {{ k }}={{ v }}{% endfor %}",
    "deepseek": "{{ ' ' + c.function.arguments }}",
    "hermes": " {{ c.function.arguments | tojson }}",
    "either": " {% if c.function.arguments is string %}{{ c.function.arguments }}"
    "{% else %}{{ c.function.arguments | tojson }}{% endif %}",
    "as it is": " {{ c.function.arguments }}",
}
BROKEN = [
    '{"path": "x',
    '{"path": "x"',
    '{"path": "x"}<pa',
    '{"path": "x", "lines": [1, 2',
    '{"path": "x", "lines": {"a": tr',
    '{"path": "x", "to',
    '{"path": "x", "n": NaNa}',
    '{"path": "x',
    "[1, 2]",
    '"x"',
    "x",
    "{",
    "null",
    "7",
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("broken", [*BROKEN, "", None, {"path": "x"}, [1]], ids=str)
def test_broken_arguments_reach_every_template(chat: Any, way: str, broken: Any) -> None:
    template = chat(SHOWS_CALLS.replace("ARGUMENTS", WAYS[way]))
    bad = call(a=1)
    bad["function"]["arguments"] = broken
    text = template.render_text([user("x"), said(bad, call(path="y"))])
    assert text.count("(add") == 2
    assert '"y"' in text or "path=y" in text
    if isinstance(broken, str) and "path" in broken:
        assert "path" in text


@pytest.mark.parametrize(
    ("broken", "shown"),
    [
        *((text, "(add path=x)") for text in ('{"path": "x', '{"path": "x"}<pa', '{"path":"x","t')),
        ('{"path": "x", "lines": [1, 2', "(add path=x lines=[1, 2])"),
        ('{"path": "x", "lines": [1, tr', "(add path=x lines=[1])"),
        ('{"path": "a\\', "(add)"),
        ('{"path": "two\nlines', "(add path=two\nlines)"),
        ("[1, 2]", "(add arguments=[1, 2])"),
        ("text", "(add arguments=text)"),
    ],
)
def test_a_template_of_objects_gets_what_can_be_read(chat: Any, broken: str, shown: str) -> None:
    template = chat(SHOWS_CALLS.replace("ARGUMENTS", WAYS["glm"]))
    bad = call(a=1)
    bad["function"]["arguments"] = broken
    assert template.render_text([user("x"), said(bad)]) == shown


def test_a_template_that_prints_arguments_gets_json(chat: Any) -> None:
    template = chat(SHOWS_CALLS.replace("ARGUMENTS", WAYS["as it is"]))
    shown = '(add {"a": "it\'s", "b": [true, null], "c": {"d": 1}})'
    made = call(a="it's", b=[True, None], c={"d": 1})
    assert template.render_text([user("x"), said(made)]) == shown


@pytest.mark.parametrize("ending", [" ", "\n", "\n\n", ""])
@pytest.mark.parametrize("content", ["{{ m.content | trim }}", "{{ m.content }}"])
def test_a_continued_message_keeps_its_last_blanks(chat: Any, content: str, ending: str) -> None:
    template = chat("{% for m in messages %}[" + content + "]\n{% endfor %}")
    said = {"role": "assistant", "content": f" It is{ending}"}
    text = template.render_text(
        [user("x"), said], add_generation_prompt=False, continue_final_message=True
    )
    assert text.endswith(f"It is{ending}") and text.startswith("[x]")


def test_ids_of_other_servers_name_the_function_for_kimi(chat: Any) -> None:
    source = (
        "{# tools <|tool_calls_section_begin|> #}{% for m in messages %}"
        "{% for c in m.tool_calls or [] %}{{ c.id }} {% endfor %}{{ m.tool_call_id }} {% endfor %}"
    )
    own = said(call("functions.add:0", a=1), call("call_b", a=2))
    messages = [user("x"), own, result("functions.add:0"), result("call_b"), said(call("c", a=1))]
    assert chat(source).render_text(messages).split() == [
        *("functions.add:0", "functions.add:1"),
        *("functions.add:0", "functions.add:1"),
        "functions.add:2",
    ]
