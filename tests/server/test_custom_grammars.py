"""Grammars of custom tools on `/v1/responses`."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_client_tools import TEMPLATE
from tests.server.test_responses import ask, refuse
from tests.text.test_format_families import accepts
from yaie.server.requests.lark_pattern import NoPattern, pattern_of
from yaie.server.responses_api.client_tools import read_tools
from yaie.text.tokenizer import Tokenizer

PATCHES = r"""start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
// what may be changed
hunk: add_hunk
    | delete_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
%import common.LF
"""
SUMS = """?start: product ("+" product)~0..3
product: [sign] "1".."9" | "("i DIGIT ")"
sign.2: "-"
%import common (DIGIT, LF)"""


@pytest.mark.parametrize(
    ("definition", "right", "wrong"),
    [
        (
            PATCHES,
            ["*** Begin Patch\n*** Add File: a\n+a\n+\n*** Delete File: b\n*** End Patch"],
            ["*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Add File: a\n*** End Patch"],
        ),
        (SUMS, ["1", "-9+(0)", "1+2+3+4"], ["", "0", "1+", "1+2+3+4+5", "10"]),
    ],
)
def test_grammars_without_recursion_are_patterns(
    definition: str, right: list[str], wrong: list[str]
) -> None:
    pattern = pattern_of(definition, "lark")
    assert [text for text in right if not re.fullmatch(pattern, text)] == []
    assert [text for text in wrong if re.fullmatch(pattern, text)] == []


@pytest.mark.parametrize(
    "definition",
    [
        'start: "(" start? ")"',
        "start: missing",
        "other: /a/",
        "start: @",
        "start: (",
        'start: "a"\n%ignore " "',
        "%import python.NAME\nstart: NAME",
        'start: "a"~99999',
        "\n".join(["start: a0 a0", *(f"a{n}: a{n + 1} a{n + 1}" for n in range(40)), 'a40: "x"']),
    ],
)
def test_other_grammars_are_told(definition: str) -> None:
    with pytest.raises(NoPattern):
        pattern_of(definition, "lark")
    form = {"type": "grammar", "syntax": "lark", "definition": definition}
    tool = {"type": "custom", "name": "edit", "format": form}
    tools = read_tools([tool], {"type": "custom", "name": "edit"})
    assert tools.ignored == ["tools.custom.format"]
    assert read_tools([tool], "auto").ignored == []


@given(st.text('()[]|?*+~.:"/ai1\n-> startLF%import', max_size=40))
def test_any_text_is_a_grammar_or_not(text: str) -> None:
    with contextlib.suppress(NoPattern):
        pattern_of(text, "lark")


@pytest.mark.parametrize("parser", ["hermes", "qwen3_coder"])
@pytest.mark.parametrize("syntax", ["lark", "regex"])
def test_forced_input_follows_its_grammar(
    make_app: MakeApp,
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    parser: str,
    syntax: str,
) -> None:
    http, engine = make_app(tool_call_parser=parser)
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", TEMPLATE)
    definition = (
        "start: DIGIT LF DIGIT\n%import common (DIGIT, LF)" if syntax == "lark" else r"\d\n\d"
    )
    form = {"type": "grammar", "syntax": syntax, "definition": definition}
    tool = {"type": "custom", "name": "edit", "format": form}
    ask(http, tools=[tool], tool_choice={"type": "custom", "name": "edit"})
    grammar = engine.requests[-1].grammar

    def written(text: str) -> str:
        if parser == "hermes":
            call = json.dumps({"name": "edit", "arguments": {"input": text}})
            return f"<tool_call>\n{call}\n</tool_call>"
        parameter = f"<parameter=input>\n{text}\n</parameter>"
        return f"<tool_call>\n<function=edit>\n{parameter}\n</function>\n</tool_call>"

    assert accepts(tokenizer, grammar, written("1\n2"))
    assert not accepts(tokenizer, grammar, written("1"))
    assert not accepts(tokenizer, grammar, written("a\nb"))


@pytest.mark.parametrize(
    ("form", "param"),
    [
        ({"syntax": "ebnf", "definition": "x"}, "tools[0].format.syntax"),
        ({"syntax": "lark"}, "tools[0].format.definition"),
    ],
)
def test_a_wrong_format_is_named(http: TestClient, form: Any, param: str) -> None:
    tool = {"type": "custom", "name": "edit", "format": {"type": "grammar", **form}}
    assert refuse(http, tools=[tool])["param"] == param


def test_the_model_is_shown_the_grammar() -> None:
    form = {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}
    tool = {"type": "custom", "name": "edit", "description": "Edit.", "format": form}
    (shown,) = read_tools([tool]).functions
    assert shown["function"]["description"].startswith("Edit.\n\n")
    assert shown["function"]["description"].endswith("[0-9]+")
    assert "pattern" not in json.dumps(shown)
