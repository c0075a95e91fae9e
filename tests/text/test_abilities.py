"""Abilities of models as their chat templates show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.text.small_tokenizers import write_byte_level
from yaie.models.builtin import BUILTIN_MODEL_DIR
from yaie.text.template_features import TemplateAbilities, abilities_of
from yaie.text.tokenizer import Tokenizer, load_tokenizer


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    return load_tokenizer(write_byte_level(tmp_path))


def of(tokenizer: Tokenizer, template: object) -> TemplateAbilities:
    tokenizer.hf.chat_template = template
    return abilities_of(tokenizer)


@pytest.mark.parametrize("template", [None, "", {}])
def test_without_a_template_there_is_no_chat(tokenizer: Tokenizer, template: object) -> None:
    assert of(tokenizer, template) == TemplateAbilities()


def test_a_plain_template_chats(tokenizer: Tokenizer) -> None:
    found = of(tokenizer, "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}")
    assert found == TemplateAbilities(chat=True, tools=True, tool_format="hermes")


def test_tools_that_no_parser_reads_are_no_ability(tokenizer: Tokenizer) -> None:
    tokenizer.hf.chat_template = "{{ messages }}"
    assert abilities_of(tokenizer, "none") == TemplateAbilities(chat=True)


def test_variables_are_those_that_the_template_reads_and_does_not_set(
    tokenizer: Tokenizer,
) -> None:
    found = of(
        tokenizer,
        "{%- set own = 1 -%}{% if tools %}{{ tools }}{% endif %}{% for m in messages %}"
        "{%- generation -%}{{ own + m.x }}{%- endgeneration -%}{% continue %}{% endfor %}"
        "{% if enable_thinking is defined and mood %}{{ bos_token }}</think>{% endif %}",
    )
    expected = TemplateAbilities(True, True, True, ("enable_thinking", "mood"), "json")
    assert found == expected


def test_variables_that_a_branch_sets_are_the_templates_own(tokenizer: Tokenizer) -> None:
    found = of(
        tokenizer,
        "{%- if messages[0].role == 'system' -%}{%- set sys = messages[0] -%}"
        "{%- set loop_messages = messages[1:] -%}{%- else -%}"
        "{%- set loop_messages = messages -%}{%- endif -%}"
        "{%- if not date_string is defined -%}{%- set date_string = '26 Jul 2024' -%}{%- endif -%}"
        "{%- set thinking = thinking or false -%}"
        "{%- for m in loop_messages -%}{%- for k in m -%}{%- if k -%}{%- set c = k -%}{%- endif -%}"
        "{{ c + sys + date_string }}{%- endfor -%}{%- endfor -%}",
    )
    assert found.variables == ("date_string", "thinking")


def test_named_templates_show_their_abilities_together(tokenizer: Tokenizer) -> None:
    found = of(tokenizer, {"tool_use": "{{ messages }}{{ tools }}", "rag": "{{ mood }}"})
    assert found == TemplateAbilities(True, True, False, ("mood",), "json")


def test_a_broken_template_has_no_variables(tokenizer: Tokenizer) -> None:
    assert of(tokenizer, "{% if %}").variables == ()


def test_the_built_in_model_calls_tools() -> None:
    found = abilities_of(load_tokenizer(BUILTIN_MODEL_DIR))
    assert (found.tools, found.tool_format) == (True, "hermes")
    named = abilities_of(load_tokenizer(BUILTIN_MODEL_DIR), "mistral")
    assert named.tool_format == "mistral"
