"""The chat template as a setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.text.small_tokenizers import write_byte_level
from yaie.base.errors import ConfigError
from yaie.text.chat_template import ChatTemplate
from yaie.text.template_features import set_chat_template
from yaie.text.tokenizer import load_tokenizer

TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Bye"},
]


def test_a_model_without_a_template_gets_the_plain_format(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    before = ChatTemplate(tokenizer).render_text(TURNS)
    set_chat_template(tokenizer, "plain")
    assert ChatTemplate(tokenizer).render_text(TURNS) == before  # its own stays
    tokenizer.hf.chat_template = None
    tokenizer.__dict__.pop("chat_template_fault")
    assert not tokenizer.has_chat_template
    set_chat_template(tokenizer, "plain")
    said = "System: Be brief.\nUser: Hi\nAssistant: Hello\nUser: Bye\n"
    assert ChatTemplate(tokenizer).render_text(TURNS) == f"{said}Assistant:"
    assert ChatTemplate(tokenizer).render_text(TURNS, add_generation_prompt=False) == said


def test_a_file_takes_the_place_of_the_models_template(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    file = tmp_path / "mine.jinja"
    file.write_text("{{ messages[-1].content }}?")
    set_chat_template(tokenizer, str(file))
    assert ChatTemplate(tokenizer).render_text(TURNS) == "Bye?"
    file.write_text(" ")
    for wrong, reason in ((file, "is empty"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(ConfigError, match=reason):
            set_chat_template(tokenizer, str(wrong))
