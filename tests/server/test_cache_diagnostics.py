"""Explanations and diagnostics of the cache inside answers, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_openapi import check_described
from yaie.server.requests.comparison import Compared, openai_diagnostics
from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.message_replies import MessageDocument
from yaie.server.schemas.response_replies import ResponseDocument

TURN = [{"role": "user", "content": "What is a radix tree?"}]
NEXT = [*TURN, {"role": "assistant", "content": "A plan."}, {"role": "user", "content": "Why?"}]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": TURN},
    TEXT: {"prompt": "What is a radix tree?"},
    MESSAGES: {"messages": TURN, "max_tokens": 5},
    RESPONSES: {"input": "What is a radix tree?"},
}


def post(http: TestClient, path: str, body: dict[str, Any], key: str = "") -> Any:
    headers = {"X-API-Key": key} if key else {}
    response = http.post(path, json=body, headers=headers)
    assert response.status_code == 200, response.text
    if not body.get("stream"):
        return response.json()
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def usage_of(answer: Any) -> dict[str, Any]:
    """Return the usage of an answer, or of the events that have a whole one."""
    for each in answer if isinstance(answer, list) else [answer]:
        usage = each.get("message", each.get("response", each)).get("usage")
        if usage and "cache_explanation" in usage:
            return dict(usage)
    raise AssertionError(answer)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_an_answer_explains_its_cached_tokens(http: TestClient, path: str, stream: bool) -> None:
    body = {**BODIES[path], "explain_cache": True, "stream": stream}
    cold = usage_of(post(http, path, body))["cache_explanation"]
    check_described(UsageExplanation, cold)
    assert (cold["cached_tokens"], cold["cause"]) == (0, "never_seen")
    warm = usage_of(post(http, path, body))["cache_explanation"]
    assert warm["cause"] is None and warm["cached_tokens"] == cold["prompt_tokens"] - 1
    assert "cache_explanation" not in str(post(http, path, BODIES[path]))


def test_an_answer_tells_a_changed_system_prompt(http: TestClient) -> None:
    body: dict[str, Any] = {**BODIES[MESSAGES], "explain_cache": True}
    post(http, MESSAGES, {**body, "system": "Today is Monday, and you plan."})
    told = usage_of(post(http, MESSAGES, {**body, "system": "Today is Friday, and you plan."}))
    assert told["cache_explanation"]["cause"] == "template_changed"
    assert told["cache_explanation"]["divergence"]["field"] == "system"


def test_an_answer_to_several_prompts_is_not_explained(http: TestClient) -> None:
    body = {"prompt": ["a", "b"], "explain_cache": True}
    assert http.post(TEXT, json=body).status_code == 400


TOOL = {"name": "find", "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.integration
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"messages": NEXT}, None),
        ({"messages": TURN}, None),
        ({"messages": [{"role": "user", "content": "Why?"}]}, "messages_changed"),
        ({"messages": NEXT, "system": "Briefly."}, "system_changed"),
        ({"messages": NEXT, "tools": [TOOL]}, "tools_changed"),
        ({"messages": NEXT, "chat_template_kwargs": {"shout": "x"}}, "messages_changed"),
        ({"messages": NEXT, "cache_salt": "x"}, "unavailable"),
    ],
)
def test_a_message_is_compared(
    http: TestClient, changes: dict[str, Any], reason: str | None, stream: bool
) -> None:
    first = post(http, MESSAGES, {**BODIES[MESSAGES], "diagnostics": {"previous_message_id": None}})
    assert first["diagnostics"] is None
    asked = {"diagnostics": {"previous_message_id": first["id"]}, "stream": stream}
    answer = post(http, MESSAGES, {**BODIES[MESSAGES], **asked, **changes})
    message = answer[0]["message"] if stream else answer
    if not stream:
        check_described(MessageDocument, message)
    if reason is None:
        assert message["diagnostics"] is None
        return
    found = message["diagnostics"]["cache_miss_reason"]
    assert found["type"] == reason
    if reason.endswith("_changed") and not stream:
        usage = first["usage"]
        cached = message["usage"]["cache_read_input_tokens"]
        missed = usage["input_tokens"] + usage["cache_read_input_tokens"] - cached
        assert found["cache_missed_input_tokens"] == max(0, missed)


def test_a_message_of_another_key_is_not_found(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="one,two")
    first = post(http, MESSAGES, BODIES[MESSAGES], "one")
    body = {**BODIES[MESSAGES], "diagnostics": {"previous_message_id": first["id"]}}
    assert post(http, MESSAGES, body, "one")["diagnostics"] is None
    other = post(http, MESSAGES, body, "two")["diagnostics"]
    assert other == {"cache_miss_reason": {"type": "previous_message_not_found"}}


def test_a_response_is_compared(http: TestClient) -> None:
    first = post(http, RESPONSES, {"input": "What is a radix tree?"})
    assert "prompt_cache_diagnostics" not in first

    def compared(**changes: Any) -> Any:
        options = {"comparison_response_id": first["id"]}
        body = {"input": "What is a radix tree?", "prompt_cache_options": options, **changes}
        answer = post(http, RESPONSES, body)
        check_described(ResponseDocument, answer)
        return answer["prompt_cache_diagnostics"]

    assert compared() == {"type": "cache_hit"}
    assert compared(previous_response_id=first["id"], input="Why?") == {"type": "cache_hit"}
    missed = compared(tools=[{"type": "function", "name": "find", "parameters": {}}])
    assert (missed["type"], missed["reason"]) == ("cache_miss", "tools_changed")
    assert missed["comparison_reusable_tokens"] == first["usage"]["input_tokens"]
    assert compared(instructions="Briefly.")["reason"] == "input_changed"
    assert compared(input="Why?")["reason"] == "input_changed"
    unknown = compared(prompt_cache_options={"comparison_response_id": "resp_0"})
    assert unknown == {"type": "comparison_response_not_found"}
    assert compared(prompt_cache_options={}) is None


def test_a_lost_prefix_is_told_from_a_changed_one() -> None:
    same = Compared(None, num_tokens=100)
    assert msgspec.to_builtins(openai_diagnostics(same, 150, 99)) == {"type": "cache_hit"}
    assert msgspec.to_builtins(openai_diagnostics(same, 150, 60)) == {
        "type": "cache_miss",
        "reason": "evicted",
        "cache_missed_tokens": 40,
        "comparison_reusable_tokens": 100,
    }


@pytest.mark.parametrize(
    ("path", "field", "name"),
    [
        (MESSAGES, "diagnostics", "previous_message_id"),
        (RESPONSES, "prompt_cache_options", "comparison_response_id"),
    ],
)
def test_an_id_must_be_text(http: TestClient, path: str, field: str, name: str) -> None:
    body = {**BODIES.get(path, {"input": "x"}), field: {name: 7}}
    response = http.post(path, json=body)
    assert response.status_code == 400 and f"{field}.{name}" in response.text
