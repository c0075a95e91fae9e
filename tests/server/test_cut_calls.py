"""An answer that was cut inside a call continues by its id, on templates that read arguments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO
from tests.text.published_shapes import CHATML, GEMMA, LLAMA3, MISTRAL, QWEN35
from yaie.text.tokenizer import Tokenizer

CUT_CALLS = {
    "chatml": (CHATML, '<tool_call>\n{"name": "f", "arguments": {"a": "x'),
    "gemma": (GEMMA, '<tool_call>\n{"name": "f", "arguments": {"a": "x'),
    "qwen3.5": (QWEN35, "</think>\n\n<tool_call>\n<function=f>\n<parameter=a>\nx"),
    "mistral": (MISTRAL, '[TOOL_CALLS][{"name": "f", "arguments": {"a": "x'),
    "llama3": (LLAMA3, '{"name": "f", "parameters": {"a": "x'),
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
TOOL = {"type": "function", "name": "f", "parameters": SCHEMA}


@pytest.mark.parametrize("shape", CUT_CALLS)
def test_a_cut_call_continues_by_previous_response_id(
    make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    template, answer = CUT_CALLS[shape]
    http, engine = make_app()
    engine.info = replace(INFO, max_model_len=4096)
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", template)
    engine.answer = tokenizer.encode(f"{answer}{'y' * 20}")
    body = {"tools": [TOOL], "max_output_tokens": len(engine.answer) - 10}
    first = http.post("/v1/responses", json={**body, "input": "go"})
    assert first.status_code == 200, first.text
    assert first.json()["status"] == "incomplete"
    (call,) = [item for item in first.json()["output"] if item["type"] == "function_call"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "cut"}
    following = {**body, "previous_response_id": first.json()["id"], "input": [result]}
    second = http.post("/v1/responses", json=following)
    assert second.status_code == 200, second.text
    prompt = tokenizer.decode(list(engine.requests[-1].prompt_token_ids))
    assert "x" in prompt.partition("go")[2] and "cut" in prompt
