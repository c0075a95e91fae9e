"""Sends a workload to a server over streaming HTTP and records the arrival of each token.

Two dialects: OpenAI's `/v1/completions` with the extensions of vLLM and YAIE, and llama.cpp's
`/completion`, its only endpoint with token ids. Called by the runner.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, Protocol

from benchmarks.peers.exchange import PeerFailed, exchange, post_request
from benchmarks.peers.figures import Answer
from benchmarks.peers.workloads import Shape, Workload

# A turn of a conversation needs the ids of the answer before it.
_NO_IDS = "it gives no token ids, so the next turn cannot be written"


class Dialect(Protocol):
    """Request and event format of one kind of server."""

    path: str

    def body(self, prompt: Sequence[int], shape: Shape) -> dict[str, Any]:
        """Return the request for one prompt."""
        ...

    def read(self, event: dict[str, Any], answer: Answer, now_s: float) -> None:
        """Record one event of the stream."""
        ...


class OpenAiDialect:
    """`/v1/completions`, streamed, with `ignore_eos`, `min_tokens` and `return_token_ids`."""

    path = "/v1/completions"

    def __init__(self, model: str) -> None:
        self._model = model

    def body(self, prompt: Sequence[int], shape: Shape) -> dict[str, Any]:
        """Return the request for one prompt."""
        return {
            "model": self._model,
            "prompt": list(prompt),
            "max_tokens": shape.output_len,
            "min_tokens": shape.output_len,
            "ignore_eos": True,
            "temperature": shape.temperature,
            "n": shape.num_samples,
            "return_token_ids": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def read(self, event: dict[str, Any], answer: Answer, now_s: float) -> None:
        """Record one event of the stream."""
        for choice in event.get("choices") or ():
            ids = choice.get("token_ids") or []
            if ids or choice.get("text"):
                answer.add(choice.get("index", 0), ids, len(ids) or 1, now_s)
        usage = event.get("usage")
        if usage:
            answer.counted_prompt = usage.get("prompt_tokens")
            answer.counted_output = usage.get("completion_tokens")
            details = usage.get("prompt_tokens_details") or {}
            answer.cached = details.get("cached_tokens", answer.cached)


class LlamaCppDialect:
    """llama-server's `/completion`."""

    path = "/completion"

    def body(self, prompt: Sequence[int], shape: Shape) -> dict[str, Any]:
        """Return the request for one prompt."""
        body: dict[str, Any] = {
            "prompt": list(prompt),
            "n_predict": shape.output_len,
            "ignore_eos": True,
            "temperature": shape.temperature,
            "cache_prompt": True,
            "return_tokens": True,
            "stream": True,
        }
        if shape.num_samples > 1:
            body["n_cmpl"] = shape.num_samples
        if shape.temperature == 0.0:
            body["top_k"] = 1
        return body

    def read(self, event: dict[str, Any], answer: Answer, now_s: float) -> None:
        """Record one event of the stream."""
        sample = event.get("index", 0)
        if not event.get("stop"):
            ids = event.get("tokens") or []
            if ids:
                answer.add(sample, ids, len(ids), now_s)
            return
        answer.counted_output = (answer.counted_output or 0) + event.get("tokens_predicted", 0)
        if answer.counted_prompt is None:  # the samples of one prompt share it
            answer.counted_prompt = event.get("tokens_evaluated")
            answer.cached = (event.get("timings") or {}).get("cache_n")


def send_workload(
    base_url: str, dialect: Dialect, workload: Workload, *, timeout_s: float
) -> list[Answer]:
    """Run all conversations at once and return every answer, conversation by conversation.

    Raises `PeerFailed` if a request is rejected, breaks off, or takes longer than `timeout_s`.
    """
    return asyncio.run(_send_all(base_url, dialect, workload, timeout_s))


async def _send_all(
    base_url: str, dialect: Dialect, workload: Workload, timeout_s: float
) -> list[Answer]:
    conversations = [
        _Conversation(base_url, dialect, workload.shape, turns) for turns in workload.conversations
    ]
    try:
        async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
            for conversation in conversations:
                group.create_task(conversation.run())
    except TimeoutError:
        raise PeerFailed(f"{workload.name} took longer than {timeout_s:g} s") from None
    except ExceptionGroup as errors:  # the first that failed; the group cancelled the others
        first = errors.exceptions[0]
        if not isinstance(first, PeerFailed):
            raise first from None
        raise PeerFailed(f"{workload.name}: {first}") from None
    return [answer for conversation in conversations for answer in conversation.answers]


class _Conversation:
    """The turns of one conversation, in sequence."""

    def __init__(
        self, base_url: str, dialect: Dialect, shape: Shape, turns: Sequence[Sequence[int]]
    ) -> None:
        self._base_url = base_url
        self._dialect = dialect
        self._shape = shape
        self._turns = turns
        self._history = list(turns[0])
        self._request = self._next_request()  # before any clock starts
        self.answers: list[Answer] = []

    async def run(self) -> None:
        for turn in self._turns:
            if self.answers:
                self._history += [*self._last_answer(), *turn]
                self._request = self._next_request()
            answer = Answer(len(self._history), time.perf_counter())
            self.answers.append(answer)
            await exchange(self._base_url, self._request, AnswerStream(self._dialect, answer).read)
            answer.end_s = time.perf_counter()

    def _next_request(self) -> bytes:
        body = json.dumps(self._dialect.body(self._history, self._shape)).encode()
        return post_request(self._base_url, self._dialect.path, body)

    def _last_answer(self) -> list[int]:
        ids = self.answers[-1].token_ids.get(0, [])
        if len(ids) != self._shape.output_len:
            raise PeerFailed(_NO_IDS if not ids else f"{len(ids)} tokens came back")
        return ids


class AnswerStream:
    """A streamed response, read into an answer as its parts arrive."""

    def __init__(self, dialect: Dialect, answer: Answer) -> None:
        self._dialect, self._answer = dialect, answer
        self._unread = b""

    def read(self, part: bytes) -> None:
        """Record the events that a part of the body completes. Raises `PeerFailed`."""
        now_s = time.perf_counter()
        *lines, self._unread = (self._unread + part).split(b"\n")
        for line in lines:
            _read_line(line.strip(), self._dialect, self._answer, now_s)


def _read_line(line: bytes, dialect: Dialect, answer: Answer, now_s: float) -> None:
    name, _, payload = line.partition(b":")
    if name not in (b"data", b"error") or payload.strip() in (b"", b"[DONE]"):
        return
    try:
        event = json.loads(payload)
    except ValueError:
        said = payload.strip()[:300].decode(errors="replace")
        raise PeerFailed(f"{said!r} came in the stream, which is no JSON") from None
    if name == b"error" or "error" in event:
        raise PeerFailed(f"an error in the stream: {payload.decode(errors='replace')[:300]}")
    dialect.read(event, answer, now_s)
