"""Chats through the `openai` package of npm."""

from __future__ import annotations

import pytest

from tests.clients import js_cases


@pytest.mark.parametrize("feature", js_cases.features("openai_js"))
def test_case(feature: str) -> None:
    js_cases.run("openai_js", feature)
