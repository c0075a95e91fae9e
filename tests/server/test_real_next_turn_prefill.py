"""Turns of chats at a server with a real engine: the next one finds all that was known of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from benchmarks.growing_chats.measure import GOAL, ChatKind, ChatWorkload, Conversation
from tests.server.real_server import Server

pytestmark = pytest.mark.integration
AGAIN = "And now the tree, please."


def known_length(server: Server, messages: list[Any]) -> int:
    """Return the number of tokens before the text of the last message."""
    prompts = [
        server.post("/tokenize", {"messages": [*messages, {"role": "user", "content": text}]})
        for text in (AGAIN, "0")
    ]
    first, second = (prompt.json()["tokens"] for prompt in prompts)
    return next(at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)


def last_event(text: str) -> Any:
    data = [line for line in text.splitlines() if line.startswith("data: {")][-1]
    return json.loads(data.removeprefix("data: "))


# Temperature 3: the generated ids are seldom those of the tokenizer.
@pytest.mark.parametrize("temperature", [0.0, 3.0])
@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions(server: Server, stream: bool, temperature: float) -> None:
    asked = [{"role": "user", "content": f"Chat {stream} {temperature}?"}]
    sampling = {"max_tokens": 20, "temperature": temperature, "seed": 3}
    body = {"messages": asked, "stream": stream, **sampling}
    answer = server.post("/v1/chat/completions", body)
    if stream:
        chunks = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        deltas = [json.loads(chunk)["choices"][0]["delta"] for chunk in chunks]
        content = "".join(delta.get("content") or "" for delta in deltas)
        message = {"role": "assistant", "content": content}
    else:
        message = answer.json()["choices"][0]["message"]
    server.wait_idle()
    following = [*asked, message, {"role": "user", "content": AGAIN}]
    usage = server.post("/v1/chat/completions", {"messages": following, "max_tokens": 1}).json()
    cached = usage["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= known_length(server, [*asked, message])


@pytest.mark.parametrize("stream", [False, True])
def test_messages(server: Server, stream: bool) -> None:
    asked = [{"role": "user", "content": f"Message {stream}?"}]
    sampling = {"max_tokens": 20, "temperature": 3.0, "seed": 3}
    body = {"messages": asked, "stream": stream, **sampling}
    answer = server.post("/v1/messages", body)
    if stream:
        events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
        deltas = [json.loads(event).get("delta", {}) for event in events]
        content = "".join(delta.get("text", "") for delta in deltas)
    else:
        content = "".join(block["text"] for block in answer.json()["content"])
    server.wait_idle()
    message = {"role": "assistant", "content": content}
    following = [*asked, message, {"role": "user", "content": AGAIN}]
    usage = server.post("/v1/messages", {"messages": following, "max_tokens": 1}).json()["usage"]
    assert usage["cache_read_input_tokens"] >= known_length(server, [*asked, message])


@pytest.mark.parametrize("stream", [False, True])
def test_responses(server: Server, stream: bool) -> None:
    sampling = {"max_output_tokens": 20, "temperature": 2.0, "top_p": 1.0}
    question = f"Response {stream}?"
    answer = server.post("/v1/responses", {"input": question, "stream": stream, **sampling})
    said = last_event(answer.text)["response"] if stream else answer.json()
    server.wait_idle()
    following = {"input": AGAIN, "previous_response_id": said["id"], "max_output_tokens": 1}
    usage = server.post("/v1/responses", following).json()["usage"]
    text = "".join(part["text"] for part in said["output"][0]["content"])
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": text}]
    assert usage["input_tokens_details"]["cached_tokens"] >= known_length(server, messages)


def test_the_benchmark_finds_all_of_it_cached(server: Server) -> None:
    kind = ChatKind(tools=False, thinking=False, temperature=2.0)
    workload = ChatWorkload(turns=4, answer=12)
    with requests.Session() as http:
        report = Conversation(http, server.url, kind, workload, seed=1).run().report()
    assert report["requests"] == 3
    assert report["least_share"] >= GOAL
    assert report["idle_rows"] > 0
