"""Tool calls and thinking below `/v1/messages`, from a scripted engine."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.test_messages import MESSAGES, ask, stream
from tests.server.test_tools import ADD, BROKEN, said  # noqa: F401  the fixture
from yaie.server.anthropic.message_reply import Block
from yaie.text.output_parts import ReasoningPart, TextPart, ToolCallPart
from yaie.text.tokenizer import Tokenizer

TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("add", "weather")]
THINKS = {"chat_template_kwargs": {"think": True}}
Blocks = list[dict[str, Any]]


def streamed(http: TestClient, **fields: Any) -> tuple[Blocks, Any]:
    """Return the blocks that a client puts together, and the last delta."""
    blocks: Blocks = []
    for event in stream(http, **fields):
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(event["content_block"] | {"json": ""})
        elif event["type"] == "content_block_delta":
            assert event["index"] == len(blocks) - 1
            add(blocks[-1], event["delta"])
        elif event["type"] == "message_delta":
            end = event["delta"]
    for block in blocks:
        arguments = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(arguments or "{}")
    return blocks, end


def add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    kind = delta.pop("type")
    if kind == "input_json_delta":
        assert block["type"] == "tool_use"
        block["json"] += delta["partial_json"]
        return
    ((name, value),) = delta.items()
    assert kind in {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": ""}
    block[name] += value


def whole(http: TestClient, **fields: Any) -> tuple[Blocks, Any]:
    answer = ask(http, **fields)
    return answer["content"], {name: answer[name] for name in ("stop_reason", "stop_sequence")}


def without_ids(blocks: Blocks) -> Blocks:
    ids = [block.pop("id") for block in blocks if block["type"] == "tool_use"]
    assert len(set(ids)) == len(ids) and all(ids)
    return blocks


USE = {"type": "tool_use", "name": "add", "input": {"a": 1}}


@pytest.mark.parametrize("form", [whole, streamed])
def test_calls_are_blocks(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said(f"Adding.\n{ADD}\n{ADD}")
    blocks, end = form(http, tools=TOOLS, max_tokens=200)
    assert without_ids(blocks) == [{"type": "text", "text": "Adding."}, USE, USE]
    assert end == {"stop_reason": "tool_use", "stop_sequence": None}


@pytest.mark.parametrize("form", [whole, streamed])
def test_a_single_call(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said(f"{ADD}\n{ADD}")
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    blocks, end = form(http, tools=TOOLS, tool_choice=choice)
    assert without_ids(blocks) == [USE]
    assert end["stop_reason"] == "tool_use"


@pytest.mark.parametrize("form", [whole, streamed])
def test_thinking_is_a_block_before_the_text(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said("So it is.\n</think>\n\nYes.")
    thinking, text = form(http, **THINKS)[0]
    assert thinking.pop("signature")
    assert thinking == {"type": "thinking", "thinking": "So it is."}
    assert text == {"type": "text", "text": "Yes."}
    hidden, text = form(http, **THINKS, thinking={"type": "adaptive", "display": "omitted"})[0]
    assert (hidden["thinking"], text["text"]) == ("", "Yes.")
    assert hidden["signature"]


@pytest.mark.parametrize("variable", ["enable_thinking", "thinking"])
def test_thinking_and_effort_reach_the_template(
    said: Any,  # noqa: F811
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    http, engine = said("x")
    template = "{% if " + variable + " %}deep{% endif %}{{ reasoning_effort }} plan"
    loaded = http.app.state.service.model().tokenizer
    monkeypatch.setattr(loaded.hf, "chat_template", template)
    for kind, text in (("enabled", "deephigh plan"), ("disabled", "high plan")):
        fields = {"thinking": {"type": kind}, "output_config": {"effort": "high"}}
        ask(http, **fields)
        assert tokenizer.decode(engine.requests[-1].prompt_token_ids).strip() == text


@pytest.mark.parametrize(
    ("choice", "is_forced"),
    [({"type": "any"}, True), ({"type": "tool", "name": "add"}, True), ({"type": "auto"}, False)],
)
def test_forced_calls_have_a_grammar(said: Any, choice: Any, is_forced: bool) -> None:  # noqa: F811
    http, engine = said(ADD)
    ask(http, tools=TOOLS, tool_choice=choice)
    assert (engine.requests[-1].grammar is not None) == is_forced


def test_a_format_is_a_grammar(said: Any) -> None:  # noqa: F811
    http, engine = said("x")
    form = {"type": "json_schema", "schema": {"type": "object"}}
    ask(http, output_config={"format": form})
    grammar = engine.requests[-1].grammar
    assert grammar.param == "output_config.format", "the compiler's errors name the field"


def test_markup_without_tools_stays_text(said: Any) -> None:  # noqa: F811
    http, _ = said(ADD)
    (block,), _ = whole(http, tools=TOOLS, tool_choice={"type": "none"})
    assert block == {"type": "text", "text": ADD}


def test_a_broken_call_is_text_and_reported(said: Any) -> None:  # noqa: F811
    http, _ = said(BROKEN)
    body = {"messages": MESSAGES, "max_tokens": 99, "tools": TOOLS}
    response = http.post("/v1/messages", json=body)
    assert response.json()["content"] == [{"type": "text", "text": BROKEN}]
    assert response.json()["stop_reason"] == "end_turn"
    assert response.headers["X-YAIE-Tool-Parse-Error"]
    assert stream(http, tools=TOOLS)[-2]["tool_parse_error"]


def test_an_answer_cut_inside_a_call(said: Any) -> None:  # noqa: F811
    http, engine = said(ADD)
    num_tokens = len(engine.answer)
    for limit in range(1, num_tokens):
        blocks, end = whole(http, tools=TOOLS, max_tokens=limit)
        if end["stop_reason"] == "tool_use":  # the call was whole
            assert without_ids(blocks) == [USE]
            continue
        assert end["stop_reason"] == "max_tokens"
        for block in blocks:
            assert block["type"] == "text" or isinstance(block["input"], dict)


def test_a_turn_with_results_is_that_of_a_chat(said: Any) -> None:  # noqa: F811
    http, engine = said("Two.")
    turns = [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Sum.", "signature": "s"},
            {"type": "text", "text": "I add."},
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "2", "is_error": True},
            {"type": "text", "text": "Well?"},
        ]},
    ]  # fmt: skip
    # One tool: the context of the scripted engine has 256 tokens.
    http.post("/v1/messages", json={"messages": turns, "tools": TOOLS[:1], "max_tokens": 1})
    chat = [
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": "I add.", "reasoning_content": "Sum.", "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
        ]},
        {"role": "tool", "tool_call_id": "t1", "name": "add", "content": "Error: 2"},
        {"role": "user", "content": "Well?"},
    ]  # fmt: skip
    tools = [
        {"type": "function", "function": {"name": tool["name"], "parameters": {"type": "object"}}}
        for tool in TOOLS[:1]
    ]
    http.post("/v1/chat/completions", json={"messages": chat, "tools": tools, "max_tokens": 1})
    first, second = (request.prompt_token_ids for request in engine.requests)
    assert first == second


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"tools": [{"name": "a b", "input_schema": {}}]}, "tools[0].name must be"),
        ({"tools": [*TOOLS, TOOLS[0]]}, "tools[2].name is 'add', which an earlier tool has"),
        ({"tools": [{"name": "a", "input_schema": {"type": "string"}}]},
         "tools[0].input_schema.type must be 'object'"),
        ({"tool_choice": {"type": "any"}}, "tool_choice requires a call, but tools is empty"),
        ({"tools": TOOLS, "tool_choice": {"type": "tool", "name": "sub"}},
         "'sub' is not one of the tools"),
        ({"tools": TOOLS, "tool_choice": {"type": "tool"}}, "tool_choice.name must be a string"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(said: Any, fields: Any, fault: str) -> None:  # noqa: F811
    http, _ = said("x")
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        response = http.post(path, json={"messages": MESSAGES, "max_tokens": 9, **fields})
        assert response.status_code == 400, response.text
        assert fault in response.json()["error"]["message"]
        assert "function" not in response.json()["error"]["message"]


TEXTS = st.lists(st.text(max_size=3), min_size=1, max_size=4)


@given(pieces=TEXTS, kind=st.sampled_from(["text", "thinking", "tool_use"]))
def test_deltas_add_up_to_the_block(pieces: list[str], kind: str) -> None:
    if kind == "tool_use":
        pieces = ['{"a": ', *(json.dumps(piece)[1:-1] for piece in ["", *pieces, ""]), "}"]
        pieces[1], pieces[-2] = '"', '"'
    makers = {
        "text": TextPart,
        "thinking": ReasoningPart,
        "tool_use": lambda text: ToolCallPart(0, name="f", arguments=text),
    }
    parts = [makers[kind](piece) for piece in pieces]
    block = Block(parts[0], shows_thinking=True)
    grown = msgspec.to_builtins(block.start()) | {"json": ""}
    for part in parts:
        assert block.holds(part)
        if (delta := block.add(part)) is not None:
            add(grown, delta)
    if (delta := block.last_delta()) is not None:
        add(grown, delta)
    arguments = grown.pop("json")
    if kind == "tool_use":
        grown["input"] = json.loads(arguments)
    assert grown == msgspec.to_builtins(block.whole())
