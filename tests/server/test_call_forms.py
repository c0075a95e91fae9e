"""Calls as items of `/v1/responses`, and the text of custom tools: properties for any arguments."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yaie.server.replies.custom_input import CustomInput
from yaie.server.responses_api.call_forms import CALL_FORMS, ClientTool, tool_of

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


@given(TEXTS, st.booleans(), st.integers(1, 5))
def test_input_of_custom_tools_does_not_depend_on_cuts(
    text: str, is_ascii: bool, size: int
) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=is_ascii)
    reader = CustomInput()
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    assert "".join([*map(reader.push, pieces), reader.end()]) == text


ESCAPED = st.lists(
    st.sampled_from(['"', "\\", "\\u", "\\ud83d", "\\ude42", "a", "1", "{", "}", "\n"])
)


@given(ESCAPED.map("".join), st.integers(1, 5), st.booleans())
def test_wrong_arguments_of_custom_tools_are_text(text: str, size: int, is_begun: bool) -> None:
    arguments = '{"input": "' + text if is_begun else text
    found = []
    for step in (size, len(arguments) or 1):
        reader = CustomInput()
        pieces = [arguments[at : at + step] for at in range(0, len(arguments), step)]
        found.append("".join([*map(reader.push, pieces), reader.end()]))
    assert found[0] == found[1]
    found[0].encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
NAMES = ("command", "commands", "env", "timeout_ms", "user", "type", "path", "diff")


@given(
    st.sampled_from(list(CALL_FORMS.values())),
    st.dictionaries(st.sampled_from(NAMES), JSON),
    st.integers(0, 99),
)
def test_any_arguments_make_an_item_that_can_be_sent_back(
    form: Any, arguments: Any, cut: int
) -> None:
    tool = ClientTool(form, "f" if form.has_name else "")
    text = json.dumps(arguments)
    for given_text in (text, text[:cut]):
        item = tool.item("c", given_text, "completed")
        assert tool_of(item) == tool
        again = tool.item("c", form.arguments(item), "completed")
        if not form.event:
            assert again == item
