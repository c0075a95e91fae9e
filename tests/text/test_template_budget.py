"""Templates rendered in this process: the same text as elsewhere, or none within a budget."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizes import large, size
from tests.text.test_template_renderer import BOMBS, CHAT, ECHO, ESCAPES, HELLO, LOOP, TEMPLATES
from yaie.base.errors import TemplateTooCostly
from yaie.text.template_budget import MAX_CHARS, MAX_INPUT_BYTES, budgeted
from yaie.text.template_renderer import TemplateFault, TemplateRenderer

GROWING = {
    **{name: template for name, (template, _) in BOMBS.items()},
    "concat": "{% set n = namespace(x='a') %}{% for a in range(99) %}{% set n.x = n.x ~ n.x %}"
    "{% endfor %}",
    "add": "{% set n = namespace(x='a') %}{% for a in range(99) %}{% set n.x = n.x + n.x %}"
    "{% endfor %}",
    "block": "{% set n = namespace(x='a') %}{% for a in range(99) %}{% set b %}{{ n.x }}{{ n.x }}"
    "{% endset %}{% set n.x = b %}{% endfor %}",
    "macro": "{% macro f(x) %}{{ x }}{{ x }}{% endmacro %}{% set n = namespace(x='a') %}"
    "{% for a in range(99) %}{% set n.x = f(n.x) %}{% endfor %}",
    "replaced": "{% set n = namespace(x='aa') %}{% for a in range(99) %}"
    "{% set n.x = n.x.replace('a', 'aa') %}{% endfor %}",
    "replaced by a filter": "{% set n = namespace(x='aa') %}{% for a in range(99) %}"
    "{% set n.x = n.x | replace('a', 'aa') %}{% endfor %}",
    "empty replaced": "{{ 'abc'.replace('', messages[0].content) }}",
    "calls": "{% macro f(x) %}{% if x > 0 %}{{ f(x - 1) }}{{ f(x - 1) }}{% endif %}{% endmacro %}"
    "{{ f(90) }}",
    "endless calls": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "slices": "{% set n = namespace(x='') %}{% for a in range(99999) %}"
    "{% set n.x = messages[0].content[:] ~ 'x' %}{% endfor %}",
    "copies": "{% for a in range(99999) %}{% set x = messages[0].content.split('x') %}{% endfor %}",
    "stripped": "{{ messages[0].content.strip(messages[0].content) }}",
    "printed": "{% for a in range(99) %}{{ messages }}{% endfor %}",
    "json": "{% for a in range(99999) %}{% set x = messages | tojson %}{% endfor %}",
    "indent": "{{ messages | tojson(indent=99999999) }}",
    "nested": "{% set n = namespace(x=messages) %}{% for a in range(99) %}"
    "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
    "spaces": "{% set n = namespace() %}{% set n.a = namespace(b=n) %}{{ n }}",
    "numbers": "{% set n = namespace(x=9) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}"
    "{% endfor %}{{ n.x % 7 }}",
    "ranges": "{{ range(100000) | list | length }}",
    "searched ranges": "{% set r = range(99999) %}" + "{{ 'a' in r }}" * 700,
    "searched contents": "{{ messages[0].content in messages[0].content }}" * 400,
    "time": "{{ strftime_now('%c' * 99) }}",
    "time of a content": "{{ strftime_now(messages[0].content) }}",
}


# These join lists, pass objects that they make, or pad texts.
UNKNOWN = {"SYSTEMS_FIRST", "mistral.jinja", "qwen.jinja"}


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[TemplateRenderer]:
    made = TemplateRenderer(has_budget=False)
    yield made
    made.close()


def as_elsewhere(elsewhere: TemplateRenderer, template: str, variables: Any) -> str | None:
    try:
        return elsewhere.render(template, variables, 2**20)
    except (TemplateFault, TemplateTooCostly):
        return None


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - {"everything"}))
def test_the_templates_of_most_models_have_a_known_cost(name: str) -> None:
    assert (budgeted(TEMPLATES[name]) is None) == (name in UNKNOWN)


@pytest.mark.parametrize("name", GROWING)
def test_a_bomb_costs_little_before_it_is_given_away(name: str) -> None:
    content = "x" * (MAX_INPUT_BYTES - 100)
    variables = {"messages": [{"role": "user", "content": content}]}
    template = budgeted(GROWING[name])
    if template is None:
        return
    begun = time.thread_time()
    tracemalloc.start()
    try:
        text = template.render(variables)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text is None or name == "numbers"
    assert peak < 48 * 2**20
    assert time.thread_time() - begun < 5  # what only a hang would take


def test_a_template_that_is_given_away_is_not_tried_for_ever() -> None:
    template = budgeted(LOOP + "{{ tried }}")
    assert template is not None
    for _ in range(3):
        assert template.render(HELLO) is None
    begun = time.thread_time()
    for _ in range(1000):
        assert template.render(HELLO) is None
    assert time.thread_time() - begun < 5


@pytest.mark.parametrize("name", ESCAPES)
def test_the_sandbox_holds_here_too(name: str) -> None:
    template = budgeted(ESCAPES[name])
    assert template is None or template.render(HELLO) in (None, "")


@large
@given(chat=CHAT, name=st.sampled_from(sorted(TEMPLATES)))
@settings(max_examples=size(1000), deadline=None)
def test_the_text_is_the_same_here_and_elsewhere(
    elsewhere: TemplateRenderer, chat: dict[str, Any], name: str
) -> None:
    variables = {"documents": None, "eos_token": "</s>", "bos_token": "<s>", **chat}
    template = budgeted(TEMPLATES[name])
    text = None if template is None else template.render(variables)
    assert text is None or text == as_elsewhere(elsewhere, TEMPLATES[name], variables)


ATOMS = st.sampled_from(
    [
        "'a'", "'ab c'", "0", "3", "true", "none", "x", "n.x", "messages", "messages[0]", "missing",
        "messages[0].content", "messages[0]['role']", "messages[1:]", "[1, 'a']", "loop.index",
        "{'a': 1}", "range(3)",
    ]
)  # fmt: skip
UNARY = [
    "({0}) | trim", "({0}) | tojson", "({0}) | length", "({0}) | upper", "({0}) | first",
    "({0}) | last", "({0}) | default('d')", "({0}) | string", "({0}) | list", "({0}) | items",
    "({0}) is defined", "({0}) is string", "({0}) is mapping", "not ({0})", "({0}).strip()",
    "({0}).split(' ')", "({0}).items()", "({0}).upper()", "({0})[0]", "({0})[::-1]", "({0})[1:]",
    "({0}).get('role')", "f({0})", "-({0})", "({0}) | capitalize", "({0}) | replace('a', 'bb')",
]  # fmt: skip
BINARY = [
    "({0}) ~ ({1})", "({0}) + ({1})", "({0}) - ({1})", "({0}) % ({1})", "({0}) == ({1})",
    "({0}) in ({1})", "({0}) and ({1})", "({0}) or ({1})", "({0}) if ({1}) else ''",
    "({0}) > ({1})", "({0}).startswith({1})", "({0}).replace('a', {1})", "({0})[{1}]",
]  # fmt: skip
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(lambda form, one: form.format(one), st.sampled_from(UNARY), inner),
        st.builds(
            lambda form, one, two: form.format(one, two), st.sampled_from(BINARY), inner, inner
        ),
    ),
    max_leaves=5,
)
STATEMENTS = st.recursive(
    st.one_of(
        EXPRESSIONS.map("{{{{ {0} }}}}".format),
        EXPRESSIONS.map("{{% set x = {0} %}}".format),
        EXPRESSIONS.map("{{% set n.x = {0} %}}".format),
    ),
    lambda inner: st.one_of(
        st.builds("{{% for x in {0} %}}{1}{{% endfor %}}".format, EXPRESSIONS, inner),
        st.builds(
            "{{% if {0} %}}{1}{{% else %}}{2}{{% endif %}}".format, EXPRESSIONS, inner, inner
        ),
        st.builds("{{% set x %}}{0}{{% endset %}}".format, inner),
        st.builds("{0} {1}".format, inner, inner),
    ),
    max_leaves=6,
)
BEFORE = "{% set n = namespace(x='q') %}{% macro f(a) %}<{{ a }}>{% endmacro %}"


@large
@given(program=STATEMENTS)
@settings(max_examples=size(3000), deadline=None)
def test_any_program_of_the_known_parts_has_the_same_text(
    elsewhere: TemplateRenderer, program: str
) -> None:
    messages = [{"role": "user", "content": " a b "}, {"role": "assistant", "content": "ß"}]
    template = budgeted(BEFORE + program)
    text = None if template is None else template.render({"messages": messages})
    assert text is None or text == as_elsewhere(elsewhere, BEFORE + program, {"messages": messages})


def test_short_conversations_need_no_other_process_and_long_ones_do() -> None:
    renderer = TemplateRenderer()
    assert renderer.render(ECHO, HELLO, 99) == "hello"  # another process has parsed it
    renderer.close()
    assert renderer.render(ECHO, HELLO, 99) == "hello"
    assert renderer.pids == []
    content = "x" * MAX_INPUT_BYTES
    assert renderer.render(ECHO, {"messages": [{"role": "user", "content": content}]}, MAX_CHARS)
    assert len(renderer.pids) == 1
    renderer.close()
