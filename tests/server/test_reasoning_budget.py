"""Limits on the tokens of the reasoning, in the fields of three endpoints."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from tests.server.test_tools import TEMPLATE
from yaie.base.types import ReasoningLimit

OPENER, CLOSER = 300, 301
THINKS = {"chat_template_kwargs": {"think": True}}
MESSAGES = [{"role": "user", "content": "x"}]
CHAT, RESPONSES, CLAUDE = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def limit(max_tokens: int, is_open: bool) -> ReasoningLimit:
    return ReasoningLimit(
        max_tokens=max_tokens, opener_id=OPENER, closer_id=CLOSER, is_open=is_open
    )


@pytest.fixture
def made(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> tuple[TestClient, ScriptedClient]:
    """A server whose model has tokens for its marks of reasoning."""
    http, engine = make_app()
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", TEMPLATE)
    monkeypatch.setattr(loaded, "marker_ids", {"<think>": OPENER, "</think>": CLOSER})
    return http, engine


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (CHAT, {"messages": MESSAGES, "thinking_token_budget": 7}),
        (RESPONSES, {"input": "x", "thinking_token_budget": 7}),
        (
            CLAUDE,
            {
                "messages": MESSAGES,
                "max_tokens": 9,
                "thinking": {"type": "enabled", "budget_tokens": 7},
            },
        ),
    ],
)
def test_the_limit_reaches_the_engine(made: Any, path: str, fields: dict[str, Any]) -> None:
    http, engine = made
    for more, is_open in (({}, False), (THINKS, True)):
        response = http.post(path, json=fields | more)
        assert response.status_code == 200, response.text
        named = response.headers.get("X-YAIE-Ignored-Params", "")
        assert "budget" not in named
        assert engine.requests[-1].reasoning_limit == limit(7, is_open)


def test_no_limit(made: Any) -> None:
    http, engine = made
    http.post(CHAT, json={"messages": MESSAGES, "thinking_token_budget": -1})
    http.post(CHAT, json={"messages": MESSAGES, "thinking_token_budget": None})
    adaptive = {"type": "adaptive", "budget_tokens": 7}
    http.post(CLAUDE, json={"messages": MESSAGES, "max_tokens": 9, "thinking": adaptive})
    assert [request.reasoning_limit for request in engine.requests] == [None] * 3


@pytest.mark.parametrize("markers", [{}, {"<think>": OPENER}, {"<think>": 5, "</think>": 999_999}])
def test_a_limit_without_tokens_for_the_marks_is_reported(
    made: Any, markers: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = made
    loaded = http.app.state.service.model().tokenizer
    monkeypatch.setattr(loaded, "marker_ids", markers)
    response = http.post(CHAT, json={"messages": MESSAGES, "thinking_token_budget": 7})
    assert response.headers["X-YAIE-Ignored-Params"] == "thinking_token_budget"
    assert engine.requests[-1].reasoning_limit is None


def test_a_wrong_limit_is_refused(made: Any) -> None:
    http, _ = made
    for value in (-2, "7", 1.5):
        response = http.post(CHAT, json={"messages": MESSAGES, "thinking_token_budget": value})
        assert response.status_code == 400
        assert response.json()["error"]["param"] == "thinking_token_budget"
    for value in (-1, "7", True):
        thinking = {"type": "enabled", "budget_tokens": value}
        body = {"messages": MESSAGES, "max_tokens": 9, "thinking": thinking}
        response = http.post(CLAUDE, json=body)
        assert response.status_code == 400
        assert "thinking.budget_tokens must be" in response.json()["error"]["message"]
