"""Tools on a template that shows none: forced and free calls, and their results."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO
from tests.server.test_chat import chat
from tests.text.published_shapes import CHATML, GEMMA
from tests.text.test_format_families import accepts
from yaie.text.tokenizer import Tokenizer

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize("template", [CHATML, GEMMA])
@pytest.mark.parametrize(
    "choice", ["auto", "required", {"type": "function", "function": {"name": "f"}}]
)
def test_calls_are_forced_and_read(
    make_app: MakeApp,
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    template: str,
    choice: Any,
) -> None:
    http, engine = make_app()
    engine.info = replace(INFO, max_model_len=4096)
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", template)
    engine.answer = tokenizer.encode(CALL)
    asked = {"messages": [{"role": "user", "content": "u"}], "tools": [TOOL]}
    answer = chat(http, **asked, tool_choice=choice)
    (choice_of_answer,) = answer["choices"]
    assert choice_of_answer["finish_reason"] == "tool_calls"
    (call,) = choice_of_answer["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("f", {"a": 1})
    request = engine.requests[-1]
    assert '"name": "f"' in tokenizer.decode(list(request.prompt_token_ids))
    assert (request.grammar is None) is (choice == "auto")
    if request.grammar is not None:
        assert accepts(tokenizer, request.grammar, CALL)
    result = {"role": "tool", "tool_call_id": call["id"], "content": "2"}
    chat(http, **{**asked, "messages": [*asked["messages"], choice_of_answer["message"], result]})
    prompt = tokenizer.decode(list(engine.requests[-1].prompt_token_ids))
    assert f"{CALL}" in prompt and "<tool_response>\n2\n</tool_response>" in prompt
