"""Tool calls and thinking below `/api/chat`, from a scripted engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.test_next_turn_prefill import expected
from tests.server.test_ollama import CHAT, GENERATE, TURN, ask, stream
from tests.server.test_tools import ADD, BROKEN, TOOLS, said  # noqa: F401  the fixture
from yaie.server.models import next_turn_prefill
from yaie.server.ollama.ollama_turns import call_id, chat_turns, count_calls

ONE = TOOLS[:1]  # within the small context
CALL = {"function": {"name": "add", "arguments": {"a": 1}}}


def whole(http: Any, path: str = CHAT, **fields: Any) -> Any:
    return ask(http, path, **fields)


def streamed(http: Any, path: str = CHAT, **fields: Any) -> Any:
    """Return the answer that a client puts together."""
    *lines, answer = stream(http, path, **fields)
    if path == GENERATE:
        for name in ("response", "thinking"):
            answer[name] = "".join(line.get(name, "") for line in lines)
        return answer
    message = answer["message"]
    for name in ("content", "thinking"):
        message[name] = "".join(line["message"].get(name, "") for line in lines)
    calls = [call for line in lines for call in line["message"].get("tool_calls", [])]
    if calls:
        message["tool_calls"] = calls
    return answer


FORMS = pytest.mark.parametrize("form", [whole, streamed])


@FORMS
def test_calls_have_objects(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said(f"Adding.\n{ADD}\n{ADD}")
    answer = form(http, tools=ONE)
    message = answer["message"]
    assert message["content"] == "Adding."
    assert message["tool_calls"] == [{"id": "call_0", **CALL}, {"id": "call_1", **CALL}]
    assert answer["done_reason"] == "stop"


@FORMS
def test_calls_are_numbered_over_the_conversation(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said(ADD)
    turns = [
        TURN,
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "2", "tool_name": "add"},
    ]
    (call,) = form(http, messages=turns, tools=ONE)["message"]["tool_calls"]
    assert call["id"] == "call_1"


@FORMS
def test_thinking_is_apart(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said("<think>\nOne.\n</think>\n\nTwo.")
    message = form(http)["message"]
    assert (message["thinking"], message["content"]) == ("One.", "Two.")
    answer = form(http, GENERATE)
    assert (answer["thinking"], answer["response"]) == ("One.", "Two.")


@FORMS
def test_a_broken_call_is_text_with_its_reason(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said(BROKEN)
    answer = form(http, tools=ONE)
    assert answer["message"]["content"] == BROKEN
    assert "not a JSON" in answer["tool_parse_error"]


@FORMS
def test_an_answer_cut_inside_a_call(said: Any, form: Any) -> None:  # noqa: F811
    http, _ = said(ADD)
    for limit in range(1, 80):
        answer = form(http, tools=ONE, options={"num_predict": limit})
        for call in answer["message"].get("tool_calls", []):
            assert call["function"]["arguments"] in ({}, {"a": 1})
        if answer["done_reason"] == "stop":
            break
    assert answer["message"]["tool_calls"] == [{"id": "call_0", **CALL}]


def test_think_is_a_variable_of_the_template(
    said: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    http, engine = said("x")
    loaded = http.app.state.service.model().tokenizer
    template = "{{ enable_thinking }} {{ reasoning_effort }}{% for m in messages %}{% endfor %}"

    def prompt_for(think: Any) -> str:
        ask(http, CHAT, think=think)
        return str(loaded.decode(engine.requests[-1].prompt_token_ids, True)).strip()

    monkeypatch.setattr(loaded.hf, "chat_template", template)
    assert prompt_for(True).startswith("True") and prompt_for(False).startswith("False")
    assert prompt_for("low").endswith("low") and not prompt_for(None)
    monkeypatch.setattr(loaded.hf, "chat_template", template.replace("reasoning_effort", "x"))
    assert prompt_for("high").startswith("True")


def test_a_turn_with_results_is_that_of_a_chat(said: Any) -> None:  # noqa: F811
    http, engine = said("3")
    called = {"function": {"name": "add", "arguments": {"a": 1}}}
    turns = [
        TURN,
        {"role": "assistant", "content": "Adding.", "thinking": "One.", "tool_calls": [called]},
        {"role": "tool", "content": "2", "tool_name": "add"},
    ]
    ask(http, CHAT, messages=turns, tools=ONE)
    function = {"name": "add", "arguments": '{"a": 1}'}
    theirs = [
        TURN,
        {
            "role": "assistant",
            "content": "Adding.",
            "reasoning_content": "One.",
            "tool_calls": [{"id": "call_0", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_0", "name": "add", "content": "2"},
    ]
    http.post("/v1/chat/completions", json={"messages": theirs, "tools": ONE})
    one, other = engine.requests
    assert one.prompt_token_ids == other.prompt_token_ids


def test_results_follow_ids_then_names_then_the_order() -> None:
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("add", "weather", "add")]
    asked = {"role": "assistant", "tool_calls": calls}

    def answered(*results: dict[str, Any]) -> list[str]:
        turns = chat_turns([asked, *({"role": "tool", "content": "x", **each} for each in results)])
        return [turn["tool_call_id"] for turn in turns[1:]]

    assert answered({}, {}, {}) == ["call_0", "call_1", "call_2"]
    named = ({"tool_name": "weather"}, {"tool_name": "add"}, {"tool_name": "add"})
    assert answered(*named) == ["call_1", "call_0", "call_2"]
    assert answered({"tool_call_id": "call_2"}, {"tool_name": "add"}) == ["call_2", "call_0"]
    assert answered({"tool_call_id": "of another server"}) == ["of another server"]


_CALLS = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": st.sampled_from(("add", "weather"))})},
        optional={"id": st.sampled_from(("call_0", "x"))},
    ),
    max_size=3,
)
_RESULTS = st.fixed_dictionaries(
    {"role": st.just("tool"), "content": st.text(max_size=4)},
    optional={"tool_name": st.sampled_from(("add", "weather", "none"))},
)
_ANSWERS = st.builds(lambda calls: {"role": "assistant", "tool_calls": calls}, _CALLS)


@given(st.lists(st.one_of(st.just(TURN), _ANSWERS, _RESULTS), max_size=8))
def test_a_conversation_without_ids_keeps_its_calls(conversation: list[Any]) -> None:
    """Each call has an id; a result of a known call names it, and each call has one result."""
    turns = chat_turns(conversation)
    assert [turn["role"] for turn in turns] == [each["role"] for each in conversation]
    assert count_calls(turns) == count_calls(conversation)
    number = 0
    for turn, given_turn in zip(turns, conversation, strict=True):
        given_calls = given_turn.get("tool_calls", [])
        for call, given_call in zip(turn.get("tool_calls", []), given_calls, strict=True):
            assert call["id"] == given_call.get("id", call_id(number))
            number += 1
    without_ids = [
        {**each, "tool_calls": [{"function": call["function"]} for call in each["tool_calls"]]}
        if "tool_calls" in each
        else each
        for each in conversation
    ]
    answered = [t["tool_call_id"] for t in chat_turns(without_ids) if "tool_call_id" in t]
    assert len(set(answered)) == len(answered)


def test_the_next_turn_is_prepared(
    said: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The prompt of the next turn is known, although its client sends no ids."""
    monkeypatch.setattr(next_turn_prefill, "PAUSE_S", 0.0)
    http, engine = said(ADD)
    ask(http, CHAT, tools=ONE)
    known = expected(engine)[0]
    answer = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    result = {"role": "tool", "content": "2", "tool_name": "add"}
    ask(http, CHAT, messages=[TURN, answer, result], tools=ONE)
    assert engine.requests[-1].prompt_token_ids[: len(known)] == known
