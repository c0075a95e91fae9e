"""Sends a workload to a server over streaming HTTP and notes when each token arrives.

Two dialects: OpenAI's `/v1/completions` with the extensions that vLLM and YAIE share, and
llama.cpp's own `/completion`, which alone gives token ids there. Called by the runner.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, Protocol

import httpx

from yaie.bench.peers.figures import Answer
from yaie.bench.peers.workloads import Shape, Workload
from yaie.errors import YaieError

# A turn of a conversation needs the ids of the answer before it.
_NO_IDS = "it gives no token ids, so the next turn cannot be written"


class PeerFailed(YaieError):
    """A peer cannot be started, or did not answer as it should."""

    code = "peer_failed"


class Dialect(Protocol):
    """How one kind of server is asked and how its events are read."""

    path: str

    def body(self, prompt: Sequence[int], shape: Shape) -> dict[str, Any]:
        """The request for one prompt."""
        ...

    def read(self, event: dict[str, Any], answer: Answer, now_s: float) -> None:
        """Note one event of the stream."""
        ...


class OpenAiDialect:
    """`/v1/completions`, streamed, with `ignore_eos`, `min_tokens` and `return_token_ids`."""

    path = "/v1/completions"

    def __init__(self, model: str) -> None:
        self._model = model

    def body(self, prompt: Sequence[int], shape: Shape) -> dict[str, Any]:
        """The request for one prompt. No seed: not every peer survives one beside `n`."""
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
        """Note one event of the stream."""
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
        """The request for one prompt."""
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
        """Note one event. The last of each sample repeats nothing and holds its counts."""
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
    """Run all conversations at once and return every answer.

    Raises `PeerFailed` if a request is refused, breaks off, or takes longer than `timeout_s`.
    """
    return asyncio.run(_send_all(base_url, dialect, workload, timeout_s))


async def _send_all(
    base_url: str, dialect: Dialect, workload: Workload, timeout_s: float
) -> list[Answer]:
    # A new connection for each request: some servers close idle ones just when they are reused.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(
        base_url=base_url,
        timeout=httpx.Timeout(timeout_s),
        limits=limits,
        trust_env=False,
        verify=False,  # plain HTTP to this machine; reading certificates takes time
    ) as client:
        try:
            async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(_converse(client, dialect, workload.shape, turns))
                    for turns in workload.conversations
                ]
        except TimeoutError:
            raise PeerFailed(f"{workload.name} took longer than {timeout_s:g} s") from None
        except ExceptionGroup as errors:  # the first that failed; the group cancelled the others
            first = errors.exceptions[0]
            if not isinstance(first, PeerFailed | httpx.HTTPError):
                raise first from None
            what = str(first) or type(first).__name__
            raise PeerFailed(f"{workload.name}: {what}") from None
    return [answer for task in tasks for answer in task.result()]


async def _converse(
    client: httpx.AsyncClient, dialect: Dialect, shape: Shape, turns: Sequence[Sequence[int]]
) -> list[Answer]:
    answers: list[Answer] = []
    history: list[int] = []
    for turn in turns:
        if answers:
            ids = answers[-1].token_ids.get(0, [])
            if len(ids) != shape.output_len:
                raise PeerFailed(_NO_IDS if not ids else f"{len(ids)} tokens came back")
            history += ids
        history += turn
        answers.append(await _ask(client, dialect, shape, history))
    return answers


async def _ask(
    client: httpx.AsyncClient, dialect: Dialect, shape: Shape, prompt: Sequence[int]
) -> Answer:
    body = json.dumps(dialect.body(prompt, shape)).encode()
    headers = {"content-type": "application/json"}
    answer = Answer(len(prompt), time.perf_counter())
    async with client.stream("POST", dialect.path, content=body, headers=headers) as response:
        if response.status_code != httpx.codes.OK:
            text = (await response.aread()).decode(errors="replace")
            raise PeerFailed(f"HTTP {response.status_code}: {text[:300]}")
        pending = b""
        async for part in response.aiter_raw():
            now_s = time.perf_counter()
            *lines, pending = (pending + part).split(b"\n")
            for line in lines:
                _read_line(line.strip(), dialect, answer, now_s)
    answer.end_s = time.perf_counter()
    return answer


def _read_line(line: bytes, dialect: Dialect, answer: Answer, now_s: float) -> None:
    name, _, payload = line.partition(b":")
    if name not in (b"data", b"error") or payload.strip() in (b"", b"[DONE]"):
        return
    event = json.loads(payload)
    if name == b"error" or "error" in event:
        raise PeerFailed(f"an error in the stream: {payload.decode(errors='replace')[:300]}")
    dialect.read(event, answer, now_s)
