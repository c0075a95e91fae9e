"""Conversations through the model's template; bad fields are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers.processors import TemplateProcessing

from tests.text.small_tokenizers import write_byte_level
from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.text.chat_template import ChatTemplate
from yaie.text.plain_messages import MAX_MESSAGES, MAX_TOOLS, read_calls
from yaie.text.tokenizer import Tokenizer, load_tokenizer


@pytest.fixture
def chat(byte_level: Tokenizer) -> ChatTemplate:
    return ChatTemplate(byte_level)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_same_as_transformers(chat: ChatTemplate, byte_level: Tokenizer) -> None:
    messages = [{"role": "system", "content": "Be brief."}, user("Grüße 🙂")]
    wanted = byte_level.hf.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=False
    )
    assert chat.render(messages) == wanted
    text = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nGrüße 🙂<|im_end|>\n"
    assert chat.render_text(messages) == text + "<|im_start|>assistant\n"
    assert chat.render_text(messages, add_generation_prompt=False) == text


def test_a_prompt_begins_once(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    begin = "<|im_start|>"
    begin_id = tokenizer.fast.token_to_id(begin)
    tokenizer.fast.post_processor = TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, begin_id)]
    )
    assert tokenizer.encode("hi")[0] == begin_id  # the tokenizer adds the token
    assert ChatTemplate(tokenizer).render([user("hi")])[:2].count(begin_id) == 1


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "has no chat template;"),
        ({}, "has no chat template;"),
        ({"rag": 5}, "not text: '5'"),
        (5, "not text: '5'"),
        ("{% for x %}", "template is broken"),
    ],
)
def test_a_broken_template_is_named_as_the_fault(
    tmp_path: Path, template: Any, message: str
) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    tokenizer.hf.chat_template = template
    with pytest.raises(InvalidRequest, match=message) as refused:
        ChatTemplate(tokenizer).render_text([user("hi")])
    assert "a prompt instead" in refused.value.message


def test_named_templates_with_a_default(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    tokenizer.hf.chat_template = {"default": "{{ messages[0].content }}!", "rag": "x"}
    assert ChatTemplate(tokenizer).render_text([user("hi")]) == "hi!"


@pytest.mark.parametrize(
    ("names", "without_tools", "with_tools"),
    [
        (("default", "rag", "tool_use"), "default", "tool_use"),
        (("tool_use", "rag"), "tool_use", "tool_use"),
        (("rag", "tool_use", "chat"), "chat", "tool_use"),
        (("rag", "chat"), "chat", "chat"),
        (("rag",), "rag", "rag"),
    ],
)
def test_named_templates_by_use(
    tmp_path: Path, names: tuple[str, ...], without_tools: str, with_tools: str
) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    tokenizer.hf.chat_template = {
        name: name + ": {{ messages[0].content }}{% if tools %}{{ tools|length }}{% endif %}"
        for name in names
    }
    tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
    chat = ChatTemplate(tokenizer)
    assert chat.render_text([user("hi")]) == f"{without_tools}: hi"
    assert chat.render_text([user("hi")], []) == f"{without_tools}: hi"
    assert chat.render_text([user("hi")], [tool]) == f"{with_tools}: hi1"


def test_parts_tools_and_variables(chat: ChatTemplate) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert "user\none\ntwo<" in chat.render_text([user(parts)])
    tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
    assert '"name": "add"' in chat.render_text([user("x")], tools=[tool])
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    text = chat.render_text([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert "add [('a', 1)]" in text
    refused = [{"type": "refusal", "refusal": "not that"}]
    assert "not that<" in chat.render_text([{"role": "assistant", "content": refused}])
    assert chat.render_text([user("x")], template_kwargs={"shout": "hey"}).endswith("HEY")
    assert chat.render_text([{"role": "developer", "content": "d"}]).startswith(
        "<|im_start|>system"
    )


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        (["hello"], "messages[0]"),
        ([user("a"), {"role": "king", "content": "x"}], "messages[1].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([user(7)], "messages[0].content"),
        ([user([7])], "messages[0].content[0]"),
        ([user([{"type": "text"}])], "messages[0].content[0].text"),
        ([{"role": "assistant", "tool_calls": 5}], "messages[0].tool_calls"),
        ([{"role": "assistant", "tool_calls": [{}]}], "messages[0].tool_calls[0].function"),
        ([{"role": "function", "content": "x"}], "messages"),  # the template raises
        ([user("x")] * (MAX_MESSAGES + 1), "messages"),
    ],
)
def test_bad_messages_are_refused(chat: ChatTemplate, messages: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        chat.render(messages)
    assert caught.value.param == param
    assert len(caught.value.message) < 500


def test_images_are_refused_by_name(chat: ChatTemplate) -> None:
    image = {"type": "image_url", "image_url": {"url": "http://x"}}
    with pytest.raises(UnsupportedParameter) as caught:
        chat.render([user([{"type": "text", "text": "a"}, image])])
    assert caught.value.param == "messages[0].content[1].type"


@pytest.mark.parametrize("name", ["chat_template", "tokenize", "tools", "padding", "self"])
def test_a_request_cannot_change_the_renderer(chat: ChatTemplate, name: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        chat.render([user("x")], template_kwargs={name: "{{ 1 }}"})
    assert caught.value.param == f"chat_template_kwargs.{name}"


def test_too_many_tools(chat: ChatTemplate) -> None:
    with pytest.raises(InvalidRequest, match="tools has"):
        chat.render([user("x")], tools=[{}] * (MAX_TOOLS + 1))


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"tools": 5}, "tools"),
        ({"tools": {"type": "function"}}, "tools"),
        ({"tools": ["add"]}, "tools[0]"),
        ({"tools": [{}, None]}, "tools[1]"),
        ({"template_kwargs": 5}, "chat_template_kwargs"),
    ],
)
def test_options_of_a_wrong_type_are_refused_by_name(
    chat: ChatTemplate, options: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidRequest, match="must be") as caught:
        chat.render([user("x")], **options)
    assert caught.value.param == param


@pytest.mark.parametrize("written", ["5", "null", "[1]", '"x"'])
def test_tool_arguments_that_are_no_object_stay_text(chat: ChatTemplate, written: str) -> None:
    """Templates iterate over their items, or print them; a number has no items."""
    calls = read_calls([{"function": {"name": "f", "arguments": written}}], "here")
    assert calls[0]["function"]["arguments"] == written


def test_no_template(tmp_path: Path) -> None:
    chat = ChatTemplate(load_tokenizer(write_byte_level(tmp_path, chat_template=None)))
    with pytest.raises(InvalidRequest, match=r"no chat template.*LLM\.generate"):
        chat.render([user("x")])


def test_the_sandbox_holds(tmp_path: Path) -> None:
    template = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    chat = ChatTemplate(load_tokenizer(write_byte_level(tmp_path, chat_template=template)))
    with pytest.raises(InvalidRequest, match="template refuses"):
        chat.render([user("x")])


def test_tool_arguments_that_are_no_json_stay_text(tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m.tool_calls[0].function.arguments }}{% endfor %}"
    chat = ChatTemplate(load_tokenizer(write_byte_level(tmp_path, chat_template=template)))
    call = {"function": {"name": "f", "arguments": '{"city": '}}
    assert chat.render_text([{"role": "assistant", "tool_calls": [call]}]) == '{"city": '


def test_a_template_that_appends_arguments_gets_them_as_text(
    byte_level: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [{"type": "function", "function": {"name": "f", "arguments": '{"a": "\u00e9"}'}}]
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    template = ChatTemplate(byte_level)
    arguments = "messages[1].tool_calls[0].function.arguments"
    for source, rendered in (
        (f"{{{{ 'args ' + {arguments} }}}}", 'args {"a": "\u00e9"}'),
        (f"{{{{ {arguments}.a }}}}", "\u00e9"),
    ):
        monkeypatch.setattr(byte_level.hf, "chat_template", source)
        assert template.render_text(messages) == rendered
    monkeypatch.setattr(byte_level.hf, "chat_template", "{{ 1 + messages[0].content }}")
    with pytest.raises(InvalidRequest, match="cannot render"):
        template.render_text(messages)


def test_past_reasoning_reaches_the_template(
    byte_level: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "{{ messages[0].reasoning_content }}{{ messages[0].thinking }}"
    monkeypatch.setattr(byte_level.hf, "chat_template", source)
    template = ChatTemplate(byte_level)
    for name in ("reasoning_content", "reasoning"):
        message = {"role": "assistant", "content": "x", name: "Hm."}
        assert template.render_text([message]) == "Hm.Hm."
        with pytest.raises(InvalidRequest, match=name):
            template.render_text([{**message, name: 5}])
