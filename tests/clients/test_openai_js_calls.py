"""Documented calls of the `openai` package of npm."""

from __future__ import annotations

import pytest

from tests.clients import js_cases


@pytest.mark.parametrize("calls", js_cases.features("openai_js_calls"))
def test_calls(calls: str) -> None:
    js_cases.run("openai_js_calls", calls)
