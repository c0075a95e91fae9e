"""Contents of messages reach each chat template in a form that it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.text.small_tokenizers import write_byte_level
from yaie.base.errors import UnsupportedParameter
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import load_tokenizer

# As LLaVA's: parts only, and a string would vanish.
PARTS = (
    "{% for m in messages %}{{ m['role'].upper() }}: "
    "{% for c in m['content'] | selectattr('type', 'equalto', 'image') %}<image>{% endfor %}"
    "{% for c in m['content'] | selectattr('type', 'equalto', 'text') %}{{ c['text'] }} "
    "{% endfor %}{% endfor %}"
)
# As some of fine-tuned models: a string fails in answers and system messages.
FIRST_PART = (
    "{% for m in messages %}{% if m['role'] == 'user' %}"
    "{% for c in m['content'] %}{{ c['text'] }}|{% endfor %}"
    "{% else %}{{ m['content'][0]['text'] + '/' }}{% endif %}{% endfor %}"
)
# As Qwen2.5-VL's: both, and parts are put together without a line between.
BOTH = (
    "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% elif 'text' in c %}{{ c.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}"
)
TEXT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
TRIMMED = "{% for m in messages %}<{{ m.role }}>{{ m.content.strip() }}{% endfor %}"
ONE_USER = (
    "{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception('only users') }}{% endif %}"
    "{% for c in m.content %}{{ c.text }}{% endfor %}{% endfor %}"
)
TWO = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


def chat_of(folder: Path, template: str | None) -> ChatTemplate:
    tokenizer = load_tokenizer(write_byte_level(folder))
    tokenizer.hf.chat_template = template
    return ChatTemplate(tokenizer)


@pytest.mark.parametrize(
    ("template", "text", "parts"),
    [
        (PARTS, "USER: hello ", "USER: one two "),
        (FIRST_PART, "hello|", "one|two|"),
        (BOTH, "<user>hello", "<user>onetwo"),
        (TEXT, "<user>hello", "<user>one\ntwo"),
        (TRIMMED, "<user>hello", "<user>one\ntwo"),
        (ONE_USER, "hello", "onetwo"),
    ],
    ids=["parts", "first-part", "both", "text", "trimmed", "one-user"],
)
def test_string_and_parts(template: str, text: str, parts: str, tmp_path: Path) -> None:
    chat = chat_of(tmp_path, template)
    assert chat.render_text([{"role": "user", "content": "hello"}]) == text
    assert chat.render_text([{"role": "user", "content": TWO}]) == parts


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        (PARTS, "SYSTEM: s USER: u ASSISTANT: a "),
        (FIRST_PART, "s/u|a/"),
        (BOTH, "<system>s<user>u<assistant>a"),
        (TEXT, "<system>s<user>u<assistant>a"),
    ],
    ids=["parts", "first-part", "both", "text"],
)
@pytest.mark.parametrize("listed", [False, True])
def test_every_role(template: str, wanted: str, listed: bool, tmp_path: Path) -> None:
    def message(role: str, text: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}] if listed else text
        return {"role": role, "content": content}

    messages = [message("system", "s"), message("user", "u"), message("assistant", "a")]
    assert chat_of(tmp_path, template).render_text(messages) == wanted


def test_a_continued_answer(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "begun"}]
    text = chat_of(tmp_path, PARTS).render_text(
        messages, add_generation_prompt=False, continue_final_message=True
    )
    assert text.endswith("ASSISTANT: begun")


@pytest.mark.parametrize("kind", ["image_url", "image", "input_audio", "video", "file"])
def test_other_parts_are_refused_by_their_field(kind: str, tmp_path: Path) -> None:
    content = [TWO[0], {"type": kind, kind: {"url": "data:,"}}]
    with pytest.raises(UnsupportedParameter, match="served for text only") as refused:
        chat_of(tmp_path, BOTH).render_text([{"role": "user", "content": content}])
    assert refused.value.param == "messages[0].content[1].type"
    assert repr(kind) in refused.value.message


@pytest.mark.parametrize("name", ["chat_template.json", "processor_config.json"])
def test_a_template_beside_the_tokenizer(name: str, tmp_path: Path) -> None:
    folder = write_byte_level(tmp_path)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    assert load_tokenizer(folder).chat_template_fault == "no chat template"
    (folder / name).write_text(json.dumps({"chat_template": PARTS}))
    chat = ChatTemplate(load_tokenizer(folder))
    assert chat.render_text([{"role": "user", "content": "hi"}]) == "USER: hi "
    (folder / name).write_text("[1")
    assert load_tokenizer(folder).chat_template_fault == "no chat template"
