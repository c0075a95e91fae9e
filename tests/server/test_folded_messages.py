"""Orders of roles that a template refuses, on every API: folded, and told in a header."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.text.published_shapes import CHATML, GEMMA, MISTRAL, QWEN35
from yaie.text.tokenizer import Tokenizer

HEADER = "X-YAIE-Folded-Messages"
NOTE = "<system_note>\n{}\n</system_note>"
QWEN_TURNS = "<|im_start|>system\none\n\ntwo<|im_end|>\n<|im_start|>user\nthe plan?<|im_end|>\n"
USER, ANSWER = {"role": "user", "content": "the plan?"}, {"role": "assistant", "content": "yes"}
LATE = [USER, {"role": "system", "content": "note"}]
LATE_IN_QWEN = f"<|im_start|>user\nthe plan?\n\n{NOTE.format('note')}<|im_end|>\n"


def post(http: TestClient, path: str, body: dict[str, Any]) -> tuple[str, str | None]:
    """Return the text of the prompt, and the changes that the header tells."""
    response = http.post(path, json={"max_tokens": 20, **body})
    assert response.status_code == 200, response.text
    engine = http.app.state.engine_of_test  # type: ignore[attr-defined]
    loaded: Tokenizer = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    prompt = loaded.decode(engine.requests[-1].prompt_token_ids, skip_special_tokens=False)
    return prompt, response.headers.get(HEADER)


@pytest.fixture
def app(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> Any:
    http, engine = make_app()
    http.app.state.engine_of_test = engine  # type: ignore[attr-defined]
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]

    def with_template(template: str) -> TestClient:
        monkeypatch.setattr(loaded.hf, "chat_template", template)
        return http

    return with_template


@pytest.mark.parametrize(
    ("path", "body", "shown", "told"),
    [
        (
            "/v1/chat/completions",
            {
                "messages": [
                    {"role": "system", "content": "one"},
                    {"role": "developer", "content": "two"},
                    USER,
                ]
            },
            QWEN_TURNS,
            "merged-system",
        ),
        (
            "/v1/responses",
            {
                "instructions": "one",
                "input": [{"role": "developer", "content": "two"}, USER],
                "max_tokens": None,
            },
            QWEN_TURNS,
            "merged-system",
        ),
        (
            "/v1/messages",
            {"system": "one", "messages": [{"role": "system", "content": "\ntwo"}, USER]},
            QWEN_TURNS,
            None,  # this API joins them itself
        ),
        *(
            (path, {field: LATE, "max_tokens": 20 if path == "/v1/messages" else None},
             LATE_IN_QWEN, "system-as-user, joined-turns")
            for path, field in (
                ("/v1/chat/completions", "messages"),
                ("/v1/responses", "input"),
                ("/v1/messages", "messages"),
            )
        ),
    ],
)  # fmt: skip
def test_system_messages_anywhere_reach_qwen(
    app: Any, path: str, body: dict[str, Any], shown: str, told: str | None
) -> None:
    prompt, header = post(app(QWEN35), path, body)
    assert prompt == shown + "<|im_start|>assistant\n<think>\n"
    assert header == told


@pytest.mark.parametrize(
    ("template", "first", "between"),
    [(GEMMA, "<start_of_turn>user\n", "<end_of_turn>"), (MISTRAL, "[INST]", "[/INST]")],
)
def test_consecutive_user_turns_are_joined(
    app: Any, template: str, first: str, between: str
) -> None:
    body = {"messages": [USER, USER, ANSWER, USER]}
    prompt, header = post(app(template), "/v1/chat/completions", body)
    assert f"{first}the plan?\n\nthe plan?{between}" in prompt
    assert header == "joined-turns"


def test_a_conversation_that_the_template_takes_has_no_header(app: Any) -> None:
    for template in (QWEN35, GEMMA, MISTRAL, CHATML):
        body = {"messages": [USER, ANSWER, USER]}
        assert post(app(template), "/v1/chat/completions", body)[1] is None
    assert post(app(CHATML), "/v1/chat/completions", {"messages": LATE})[1] is None


def test_streams_and_prompts_alone_tell_it_too(app: Any) -> None:
    http = app(QWEN35)
    body = {"messages": LATE, "stream": True}
    assert HEADER in http.post("/v1/chat/completions", json=body).headers
    assert HEADER in http.post("/v1/chat/completions/render", json={"messages": LATE}).headers
