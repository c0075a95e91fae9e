"""Chats through the AI SDK and its provider for OpenAI-compatible servers."""

from __future__ import annotations

import pytest

from tests.clients import js_cases


@pytest.mark.parametrize("feature", js_cases.features("ai_sdk"))
def test_case(feature: str) -> None:
    js_cases.run("ai_sdk", feature)
