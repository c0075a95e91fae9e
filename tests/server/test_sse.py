"""Server-sent events: those that differ in one text equal the ones that are encoded whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.conftest import MakeApp
from yaie.base.types import TokenDelta
from yaie.server.replies.chunked_reply import TextEvents
from yaie.server.replies.reply import GenerationReply, encode_event


def chunk(model: str, text: str) -> bytes:
    return encode_event(
        msgspec.json.encode({"model": model, "delta": {"content": text}, "end": None})
    )


@given(st.text(), st.text())
def test_a_filled_in_text_gives_the_same_bytes(model: str, text: str) -> None:
    events = TextEvents(chunk(model, TextEvents.PLACEHOLDER))
    assert events.encode(text) == chunk(model, text)


def test_a_name_that_equals_the_placeholder_is_left_alone() -> None:
    events = TextEvents(chunk(TextEvents.PLACEHOLDER, TextEvents.PLACEHOLDER))
    assert events.encode("a") == chunk(TextEvents.PLACEHOLDER, "a")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
@pytest.mark.parametrize("options", [{}, {"stream_options": {"include_usage": True}}, {"n": 2}])
def test_chunks_equal_those_that_are_encoded_whole(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, path: str, options: dict[str, Any]
) -> None:
    http, engine = make_app()
    engine.script = lambda request: token_by_token(engine.say(request))
    prompt = {"messages": [{"role": "user", "content": "x"}]} if "chat" in path else {"prompt": "x"}
    body = {**prompt, **options, "stream": True, "max_tokens": 50}
    filled_in = read_chunks(http.post(path, json=body).text)
    make = GenerationReply.__init__

    def make_whole(self: GenerationReply, *arguments: Any) -> None:
        make(self, *arguments)
        self._is_text_only = False

    monkeypatch.setattr(GenerationReply, "__init__", make_whole)
    whole = read_chunks(http.post(path, json=body).text)
    assert take_texts(filled_in) == take_texts(whole)
    # Few or many tokens are in a chunk: what is left is compared as a set.
    assert {msgspec.json.encode(chunk) for chunk in filled_in} == {
        msgspec.json.encode(chunk) for chunk in whole
    }


async def token_by_token(deltas: AsyncIterator[TokenDelta]) -> AsyncGenerator[TokenDelta, None]:
    """Yield deltas at such a distance that the server writes them as several chunks."""
    async for delta in deltas:
        yield delta
        await asyncio.sleep(0.005)


def read_chunks(text: str) -> list[dict[str, Any]]:
    """Return the chunks of a stream without the fields that differ between two."""
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    chunks: list[dict[str, Any]] = [msgspec.json.decode(line) for line in lines[:-1]]
    for chunk in chunks:
        for name in ("processing_time", "tokens_per_second"):
            (chunk.get("usage") or {}).pop(name, None)
    return [chunk | {"id": "", "created": 0} for chunk in chunks]


def take_texts(chunks: list[dict[str, Any]]) -> dict[int, str]:
    """Take the texts out of the chunks, and return them by choice."""
    texts: dict[int, str] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            holder, field = (choice, "text") if "text" in choice else (choice["delta"], "content")
            texts[choice["index"]] = texts.get(choice["index"], "") + holder.get(field, "")
            if holder.get(field):
                holder[field] = "..."
    return texts
