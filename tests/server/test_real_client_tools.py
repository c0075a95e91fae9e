"""Tools of every form on a server process, by the strict `openai` client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import openai
import pytest
import requests

from tests.server.real_server import WAIT_S, Server
from yaie.models.builtin import BUILTIN_MODEL_DIR

pytestmark = pytest.mark.integration
SUM = 'start: INT ("+" INT)~1..3\n%import common.INT'
FORM = {"type": "grammar", "syntax": "lark", "definition": SUM}
LONG = "mcp.docs/search:" + "x" * 240  # 256 characters
HOSTED = [{"type": "web_search"}, {"type": "image_generation"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(BUILTIN_MODEL_DIR, tmp_path_factory.mktemp("log") / "server.log")
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=server.url + "/v1", api_key="none", _strict_response_validation=True
    ) as client:
        yield client


def function(name: str) -> Any:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 9, "minimum": 0}},
        "required": ["n"],
        "additionalProperties": False,
    }
    return {"type": "function", "name": name, "parameters": schema, "strict": False}


SPACE = {
    "type": "namespace",
    "name": "agents",
    "description": "Agents",
    "tools": [function("close"), function("open")],
}
CASES: list[tuple[Any, Any, str]] = [
    (
        {"type": "custom", "name": "calculate", "format": FORM},
        {"type": "custom", "name": "calculate"},
        "custom_tool_call",
    ),
    (SPACE, {"type": "function", "name": "close"}, "function_call"),
    ({"type": "local_shell"}, "required", "local_shell_call"),
    ({"type": "shell", "environment": {"type": "local"}}, {"type": "shell"}, "shell_call"),
    ({"type": "apply_patch"}, {"type": "apply_patch"}, "apply_patch_call"),
    (function(LONG), {"type": "function", "name": LONG}, "function_call"),
]


@pytest.mark.parametrize(("tool", "choice", "kind"), CASES)
def test_a_forced_call_streams_and_is_continued(
    client: openai.OpenAI, tool: Any, choice: Any, kind: str
) -> None:
    body: Any = {"model": "tiny", "tools": [*HOSTED, tool], "parallel_tool_calls": False}
    events = list(
        client.responses.create(
            **body, input="What is 1 + 2?", tool_choice=choice, max_output_tokens=600, stream=True
        )
    )
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete")
    (call,) = last.response.output
    assert call.type == kind
    if kind == "custom_tool_call" and last.type == "response.completed":
        assert re.fullmatch(r"[0-9]+(\+[0-9]+){1,3}", call.input)
    if tool is SPACE:
        assert (call.name, call.namespace) == ("close", "agents")
    if tool.get("name") == LONG:
        assert call.name == LONG
    result: Any = {"type": f"{kind}_output", "call_id": call.call_id, "output": "3"}
    if kind == "shell_call":
        outcome = {"type": "exit", "exit_code": 0}
        result["output"] = [{"stdout": "3", "stderr": "", "outcome": outcome}]
    if kind == "apply_patch_call":
        result["status"] = "completed"
    if kind == "local_shell_call":
        result["id"] = result.pop("call_id")
    later = client.responses.create(
        **body,
        input=[result],
        previous_response_id=last.response.id,
        tool_choice="none",
        max_output_tokens=8,
    )
    assert later.status in ("completed", "incomplete")
    stored = client.responses.input_items.list(later.id, order="asc")
    assert [item.type for item in stored] == ["message", kind, f"{kind}_output"]


def test_a_forced_text_of_a_chat_is_continued(client: openai.OpenAI) -> None:
    form: Any = {"type": "grammar", "grammar": {"syntax": "lark", "definition": SUM}}
    tool: Any = {"type": "custom", "custom": {"name": "calculate", "format": form}}
    choice: Any = {"type": "custom", "custom": {"name": "calculate"}}
    body: Any = {"model": "tiny", "tools": [tool], "max_completion_tokens": 200}
    user: Any = {"role": "user", "content": "What is 1 + 2?"}
    answer = client.chat.completions.create(**body, messages=[user], tool_choice=choice)
    message = answer.choices[0].message
    assert message.tool_calls is not None
    (call,) = message.tool_calls
    assert call.type == "custom"
    assert re.fullmatch(r"[0-9]+(\+[0-9]+){1,3}", call.custom.input)
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "3"}
    later = client.chat.completions.create(
        **body, messages=[user, message, result], tool_choice="none"
    )
    assert later.choices[0].message.content is not None


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_long_names_are_called_on_every_api(server: Server, path: str) -> None:
    tool = function(LONG)
    body: dict[str, Any] = {
        "model": "tiny",
        "max_tokens": 600,
        "messages": [{"role": "user", "content": "5?"}],
    }
    if path == "/v1/messages":
        schema = tool["parameters"]
        body |= {"tools": [{"name": LONG, "input_schema": schema}], "tool_choice": {"type": "any"}}
    else:
        inner = {"name": LONG, "parameters": tool["parameters"]}
        body |= {"tools": [{"type": "function", "function": inner}], "tool_choice": "required"}
    answer = requests.post(server.url + path, json=body, timeout=WAIT_S)
    assert answer.status_code == 200, answer.text
    assert f'"name":"{LONG}"' in answer.text


def test_a_running_response_is_neither_deleted_nor_continued(
    server: Server, client: openai.OpenAI
) -> None:
    extra: Any = {"ignore_eos": True}
    begun = client.responses.create(
        model="tiny", input="Count.", background=True, max_output_tokens=3000, extra_body=extra
    )
    items = client.responses.input_items.list(begun.id)
    assert [item.type for item in items] == ["message"]
    for ask in (
        lambda: client.responses.delete(begun.id),
        lambda: client.responses.create(model="tiny", input="a", previous_response_id=begun.id),
    ):
        with pytest.raises(openai.BadRequestError) as refused:
            ask()
        assert refused.value.code == "response_in_progress"
    assert client.responses.cancel(begun.id).status == "cancelled"
    client.responses.delete(begun.id)


def test_an_empty_input_with_one_token_is_answered(client: openai.OpenAI) -> None:
    probe = client.responses.create(model="tiny", input=[], max_output_tokens=16)
    assert probe.usage is not None and probe.usage.output_tokens > 0
