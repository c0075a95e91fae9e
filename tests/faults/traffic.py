"""Random requests to a server: every API, streamed and whole, also left in every phase."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
from dataclasses import dataclass
from typing import Any

WORDS = ("one two three red", "green blue plan", "list", "file river", "stone cloud")
SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["cat", "dog"]}, "alive": {"type": "boolean"}},
    "required": ["kind", "alive"],
}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
PHASES = ("in the head", "in the body", "before the answer", "in the answer", "late in the answer")
WAYS = ("FIN", "RST", "DELETE")


@dataclass(frozen=True)
class Call:
    """A path and the body for it."""

    path: str
    body: dict[str, Any]

    def encode(self, request_id: str) -> bytes:
        """Return the request as HTTP/1.1; the server closes the connection after its answer."""
        body = json.dumps(self.body).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nX-Request-ID: {request_id}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def draw_call(rng: random.Random, models: tuple[str, ...], max_tokens: int) -> Call:
    """Return a request of a random API and kind."""
    text = " ".join(rng.choices(WORDS, k=rng.choice((1, 5, 20, 150))))
    common = {
        "model": rng.choice(models),
        "stream": rng.random() < 0.6,
        "temperature": rng.choice((0, 0.8)),
    }
    messages = [{"role": "user", "content": text}]
    limit = {"max_tokens": rng.randint(1, max_tokens), "ignore_eos": True}
    kind = rng.choice(("chat", "chat", "choices", "tools", "schema", "text", "response", "message"))
    if kind == "text":
        return Call("/v1/completions", {**common, **limit, "prompt": [text, text + " and"]})
    if kind == "response":
        return Call("/v1/responses", {**common, "input": text, "max_output_tokens": max_tokens})
    if kind == "message":
        return Call("/v1/messages", {**common, **limit, "messages": messages})
    body = {**common, **limit, "messages": messages}
    if kind == "choices":
        body |= {"n": 3, "logprobs": True, "top_logprobs": 3}
    elif kind == "tools":
        body |= {"tools": [TOOL], "tool_choice": rng.choice(("auto", "required"))}
    elif kind == "schema":
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": f"s{rng.randrange(200)}", "schema": SCHEMA, "strict": True},
        }
    return Call("/v1/chat/completions", body)


async def send(port: int, call: Call, request_id: str) -> bytes:
    """Return the whole answer, head and body. Raises `OSError`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(call.encode(request_id))
        return await reader.read()
    finally:
        writer.close()


class LeavingClient:
    """A client that leaves in a phase of its request."""

    def __init__(self, rng: random.Random, port: int, call: Call, request_id: str) -> None:
        self.phase = rng.choice(PHASES)
        self._rng, self._port, self._call, self._id = rng, port, call, request_id
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def begin(self) -> None:
        """Send the request up to its phase, and read the answer up to it."""
        data = self._call.encode(self._id)
        head = data.index(b"\r\n\r\n")
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        if self.phase == "in the head":
            data = data[: self._rng.randrange(1, head)]
        elif self.phase == "in the body":
            data = data[: self._rng.randrange(head + 4, len(data))]
        self._writer.write(data)
        if self.phase in ("in the answer", "late in the answer"):
            await self._reader.read(1)
        if self.phase == "late in the answer":
            await asyncio.sleep(self._rng.random() / 5)

    async def leave(self) -> None:
        """Close the connection, reset it, or end the request by its id and close."""
        if self._writer is None:  # it had not connected yet
            return
        way = self._rng.choice(WAYS)
        if way == "DELETE" and "answer" in self.phase:
            head = f"DELETE /v1/requests/{self._id} HTTP/1.1\r\nHost: localhost\r\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(f"{head}Connection: close\r\n\r\n".encode())
            await reader.read()
            writer.close()
        elif way == "RST":
            end = self._writer.get_extra_info("socket")
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.close()
