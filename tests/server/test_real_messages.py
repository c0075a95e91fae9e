"""`/v1/messages` of a server process with a real engine, over a socket."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.real_server import Server
from tests.server.test_messages import read_events

pytestmark = pytest.mark.integration
BODY: dict[str, Any] = {
    "model": "tiny",
    "system": "The tree is the engine. " * 4,
    "messages": [{"role": "user", "content": "the plan?"}],
    "max_tokens": 12,
}


def test_a_stream_is_the_whole_message(server: Server) -> None:
    whole = server.post("/v1/messages", BODY).json()
    events = read_events(server.post("/v1/messages", BODY | {"stream": True}).text)
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    text = "".join(delta["text"] for delta in deltas)
    assert [{"type": "text", "text": text}] == whole["content"]
    assert events[-2]["delta"]["stop_reason"] == whole["stop_reason"]


def test_apis_share_prefixes(server: Server) -> None:
    """A conversation in OpenAI's form is cached for Anthropic's."""
    system = "A prefix of this test alone. " * 4
    chat = {
        "messages": [{"role": "system", "content": system}, *BODY["messages"]],
        "max_tokens": 1,
    }
    first = server.post("/v1/chat/completions", chat).json()["usage"]
    usage = server.post("/v1/messages", BODY | {"system": system}).json()["usage"]
    assert usage["input_tokens"] == 1, "the last token is computed for its logits"
    assert usage["cache_read_input_tokens"] == first["prompt_tokens"] - 1


def test_counts_are_those_of_the_usage(server: Server) -> None:
    usage = server.post("/v1/messages", BODY).json()["usage"]
    counted = server.post("/v1/messages/count_tokens", BODY).json()["input_tokens"]
    assert counted == usage["input_tokens"] + usage["cache_read_input_tokens"]


def test_no_tokens_warm_the_cache(server: Server) -> None:
    body = BODY | {"system": "Another prefix of this test. " * 4}
    warmed = server.post("/v1/messages", body | {"max_tokens": 0}).json()
    assert warmed["content"] == [] and warmed["usage"]["output_tokens"] == 0
    usage = server.post("/v1/messages", body).json()["usage"]
    assert usage["input_tokens"] == 1


def test_tokens_of_a_text(server: Server) -> None:
    listed = server.post("/tokenize", {"prompt": "the plan 🙂"}).json()
    assert (
        server.post("/detokenize", {"tokens": listed["tokens"]})
        .json()["prompt"]
        .endswith("the plan 🙂")
    )
