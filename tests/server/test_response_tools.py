"""Tools, reasoning and forced calls of `/v1/responses` over a scripted engine."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import Response
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_responses import ask, events_of, refuse
from tests.server.test_tools import ADD, BROKEN, TEMPLATE
from yaie.text.tokenizer import Tokenizer

TOOLS = [
    {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": True}
    for name in ("add", "weather")
]


@pytest.fixture
def said(make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Any:
    http, engine = make_app()
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", TEMPLATE)

    def say(text: str) -> Any:
        engine.answer = tokenizer.encode(text)
        return http, engine

    return say


def whole(http: TestClient, **body: Any) -> Any:
    return ask(http, **body)


def streamed(http: TestClient, **body: Any) -> Any:
    """Return the last response of a stream, after a comparison with its deltas."""
    events = events_of(http, **body)
    answer = events[-1]["response"]
    for at, item in enumerate(answer["output"]):
        own = [event for event in events if event.get("output_index") == at]
        delta = "".join(event["delta"] for event in own if event["type"].endswith(".delta"))
        text = item["arguments"] if "arguments" in item else item["content"][0]["text"]
        assert delta == text
        assert own[-1]["item"] == item
    return answer


BOTH = pytest.mark.parametrize("ask_for", [whole, streamed])


@BOTH
def test_calls_are_items(said: Any, ask_for: Any) -> None:
    http, _ = said(f"Adding.\n{ADD}\n{ADD}")
    answer = ask_for(http, tools=TOOLS)
    known = Response.model_validate(answer, strict=True)
    assert [item.type for item in known.output] == ["message", "function_call", "function_call"]
    assert known.output_text == "Adding."
    first, second = answer["output"][1:]
    assert (first["name"], first["arguments"]) == ("add", '{"a": 1}')
    assert first["call_id"] != second["call_id"]
    assert first["id"].startswith("fc_")
    assert answer["status"] == "completed"


@BOTH
def test_reasoning_is_an_item_and_its_tokens_count(said: Any, ask_for: Any) -> None:
    http, _ = said("<think>\nOne.\n</think>\n\nTwo.")
    answer = ask_for(http)
    Response.model_validate(answer, strict=True)
    thought, message = answer["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "One."}]
    assert message["content"][0]["text"] == "Two."
    usage = answer["usage"]
    num_reasoning = usage["output_tokens_details"]["reasoning_tokens"]
    assert 0 < num_reasoning < usage["output_tokens"]


@BOTH
def test_a_broken_call_is_text_with_its_reason(said: Any, ask_for: Any) -> None:
    http, _ = said(BROKEN)
    answer = ask_for(http, tools=TOOLS)
    assert answer["output"][0]["content"][0]["text"] == BROKEN
    assert "not a JSON" in answer["tool_parse_error"]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", {"add", "weather"}),
        ({"type": "function", "name": "weather"}, {"weather"}),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "add"}],
            },
            {"add"},
        ),
    ],
)
def test_choices_of_tools_become_grammars(said: Any, choice: Any, names: set[str]) -> None:
    http, engine = said(ADD)
    answer = ask(http, tools=TOOLS, tool_choice=choice)
    Response.model_validate(answer, strict=True)
    assert answer["tool_choice"] == choice
    assert answer["tools"] == TOOLS
    source = engine.requests[-1].grammar.source
    source = source.replace("\\", "").replace("additionalProperties", "")
    assert {name for name in ("add", "weather") if f'"{name}' in source} == names


def test_results_of_tools_continue_the_conversation(said: Any, tokenizer: Tokenizer) -> None:
    http, engine = said(ADD)
    first = ask(http, tools=TOOLS)
    (call,) = first["output"]
    engine.answer = tokenizer.encode("One.")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "the result"}
    second = ask(http, input=[result], previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == "One."
    prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids, False)
    assert "the plan?" in prompt
    assert prompt.index("assistant") < prompt.index("the result")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tools": [{"type": "function", "name": "a b"}]}, "tools[0].name"),
        ({"tools": [*TOOLS, TOOLS[0]]}, "tools[2].name"),
        (
            {"tools": [{"type": "function", "name": "add", "parameters": 5}]},
            "tools[0].parameters",
        ),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "name": "sub"}}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
        (
            {
                "tools": TOOLS,
                "tool_choice": {
                    "type": "allowed_tools",
                    "mode": "auto",
                    "tools": [{"type": "function", "name": "sub"}],
                },
            },
            "tool_choice.tools[0]",
        ),
    ],
)
def test_errors_name_tools_as_this_api_does(http: TestClient, body: Any, param: str) -> None:
    error = refuse(http, **body)
    assert error["param"] == param
    assert ".function" not in error["message"]
