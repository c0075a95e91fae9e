"""Replay of a workload against a server over streaming HTTP, with the model's own answers.

Prompts have the lengths and the overlaps of the workload. A segment that a call has written is
replaced by the tokens that the server wrote for it, so each turn continues the one before it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.client import AnswerStream, Dialect
from benchmarks.peers.exchange import PeerFailed, exchange, post_request
from benchmarks.peers.figures import Answer
from benchmarks.peers.workloads import Shape
from benchmarks.schedule.sessions import Call, Session
from benchmarks.schedule.workloads import Workload
from yaie.kvcache.node import Tokens


class Words:
    """Token ids of a model for the segments of a workload; another seed gives other ids."""

    def __init__(self, vocabulary: Sequence[int], seed: int) -> None:
        self.vocabulary = vocabulary
        self._ids = np.array(vocabulary)
        self._seed = seed
        self._written: dict[int, list[int]] = {}  # by the first id of the scripted segment

    def write(self, segment: Tokens, token_ids: Sequence[int]) -> None:
        """Replace a scripted output by the tokens that the model wrote."""
        self._written[int(segment[0])] = list(token_ids[: len(segment)])

    def of(self, segment: Tokens) -> list[int]:
        """Return the token ids of a segment."""
        first = int(segment[0])
        if first not in self._written:
            random = np.random.default_rng((self._seed, first))
            drawn = random.integers(len(self._ids), size=len(segment))
            self._written[first] = self._ids[drawn].tolist()
        return self._written[first]

    def prompt(self, call: Call) -> list[int]:
        """Return the prompt of a call."""
        return [token_id for segment in call.prompt for token_id in self.of(segment)]


@dataclass(frozen=True, slots=True)
class Replayed:
    """An answered call."""

    call: Call
    answer: Answer


def replay(
    base_url: str, dialect: Dialect, workload: Workload, words: Words, *, timeout_s: float
) -> list[Replayed]:
    """Send all sessions at once, each call after the one that releases it; return every answer.

    Raises `PeerFailed` if a request is rejected, breaks off, or the replay exceeds `timeout_s`.
    """
    return asyncio.run(Replay(base_url, dialect, words).run(workload, timeout_s))


class Replay:
    """All sessions of a workload, while they run; a subclass may use several servers."""

    def __init__(self, base_url: str, dialect: Dialect, words: Words) -> None:
        self._base_url, self._dialect, self._words = base_url, dialect, words
        self._done: list[Replayed] = []

    async def run(
        self, workload: Workload, timeout_s: float, arrivals_s: Iterable[float] = ()
    ) -> list[Replayed]:
        """Send every session, at once or at its time; return every answer. Raises `PeerFailed`."""
        starts = itertools.chain(arrivals_s, itertools.repeat(0.0))
        first = [
            (at_s, session, call, self._request(call))
            for at_s, session in zip(starts, workload.sessions, strict=False)
            for call in session.first()
        ]
        try:
            async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
                for at_s, session, call, request in first:  # bytes before any clock starts
                    group.create_task(self._start(group, at_s, session, call, request))
        except TimeoutError:
            raise PeerFailed(f"{workload.name} took longer than {timeout_s:g} s") from None
        except ExceptionGroup as errors:  # the first that failed; the group cancelled the others
            first_error = errors.exceptions[0]
            if not isinstance(first_error, PeerFailed):
                raise first_error from None
            raise PeerFailed(f"{workload.name}: {first_error}") from None
        return self._done

    async def _start(
        self, group: asyncio.TaskGroup, at_s: float, session: Session, call: Call, request: bytes
    ) -> None:
        if at_s:
            await asyncio.sleep(at_s)
        await self._send(group, session, call, request)

    async def _send(
        self, group: asyncio.TaskGroup, session: Session, call: Call, request: bytes
    ) -> None:
        answer = Answer(call.prompt_len, time.perf_counter())
        await self.ask(call, request, answer)
        answer.end_s = time.perf_counter()
        self._done.append(Replayed(call, answer))
        for sample, output in enumerate(call.outputs):
            token_ids = answer.token_ids.get(sample, [])
            if len(token_ids) < len(output):
                raise PeerFailed(f"{len(token_ids)} token ids of {len(output)} came back")
            self._words.write(output, token_ids)
        for following in session.after(call):
            group.create_task(self._follow(group, session, following))

    async def ask(self, call: Call, request: bytes, answer: Answer) -> None:
        """Send the request of a call and read its answer."""
        await exchange(self._base_url, request, AnswerStream(self._dialect, answer).read)

    async def _follow(self, group: asyncio.TaskGroup, session: Session, call: Call) -> None:
        if call.think_s:
            await asyncio.sleep(call.think_s)
        await self._send(group, session, call, self._request(call))

    def _request(self, call: Call) -> bytes:
        length = max(map(len, call.outputs))
        num_samples = len(call.outputs)
        shape = Shape(
            "", 1, 0, length, num_samples=num_samples, temperature=0.8 if num_samples > 1 else 0.0
        )
        body = self._dialect.body(self._words.prompt(call), shape)
        if call.tenant:
            body["user"] = call.tenant
        return post_request(self._base_url, self._dialect.path, json.dumps(body).encode())


def figures(replayed: Sequence[Replayed]) -> dict[str, Any]:
    """Return the figures of a replay: times in seconds, tokens as the server counted them.

    `hit` is the share of prompt tokens that the server took from its cache, `computed_tokens` are
    the others. `faults` are differences from the requested work.
    """
    answers = [each.answer for each in replayed]
    first = np.array([answer.first_token_s for answer in answers], dtype=float)
    p50, p99 = np.percentile(first, (50, 99))
    prompt_tokens = sum(answer.prompt_len for answer in answers)
    cached = sum(answer.cached or 0 for answer in answers)
    return {
        "requests": len(answers),
        "prompt_tokens": prompt_tokens,
        "computed_tokens": prompt_tokens - cached,
        "hit": cached / prompt_tokens,
        "mean_s": float(first.mean()),
        "p50_s": float(p50),
        "p99_s": float(p99),
        "total_s": max(a.end_s for a in answers) - min(a.start_s for a in answers),
        "faults": list(_faults(replayed)),
    }


def _faults(replayed: Sequence[Replayed]) -> Iterable[str]:
    """Yield every difference between a server's work and the workload."""
    asked = sum(len(each.call.outputs) * max(map(len, each.call.outputs)) for each in replayed)
    arrived = sum(each.answer.num_arrived for each in replayed)
    if arrived != asked:
        yield f"{arrived} output tokens came of {asked}"
    answers = [each.answer for each in replayed]
    wrong = [a for a in answers if a.counted_prompt not in (None, a.prompt_len)]
    if wrong:
        yield f"{len(wrong)} prompts were counted with another length"
    uncounted = sum(answer.cached is None for answer in answers)
    if uncounted:
        yield f"{uncounted} answers do not say how many tokens were cached"
