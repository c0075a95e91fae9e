"""Replicas that answer by a script, behind the handle that `RayClient` has in place of Ray's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from yaie.base.errors import EngineUnavailable
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    RequestError,
    TokenDelta,
)
from yaie.ray.engine_replica import ReplicaStatus, encode
from yaie.ray.radix_placement import Placement
from yaie.ray.route import Route

INFO = EngineInfo(
    model="m", model_path="m", architecture="x", dtype="float32", kv_dtype="float32",
    device="cpu", attention_backend="cpu", vocab_size=100, max_model_len=64, num_slots=100,
    kv_bytes_per_token=1, weight_bytes=1, num_parameters=1, policy="fcfs", eviction="lru",
    max_step_rows=8, max_running=4, max_waiting=5,
)  # fmt: skip
_requests = msgspec.msgpack.Decoder(GenerationRequest)


class ActorLost(Exception):
    """Error of Ray for an actor that has died."""


class Tokens:
    """A step of a script: deltas with these tokens; `ends` adds the last one."""

    def __init__(self, *token_ids: int, ends: bool = False, cached: int = 0) -> None:
        self.token_ids, self.ends, self.cached = token_ids, ends, cached


class Failure:
    """A step of a script: a delta with an error."""

    def __init__(self, code: str, status: int = 503) -> None:
        self.code, self.status = code, status


Step = Tokens | Failure | Exception | None  # None: wait for ever


class Stream:
    """One attempt at one replica."""

    def __init__(self, request: GenerationRequest, steps: list[Step]) -> None:
        self.request, self._steps = request, steps
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            await asyncio.sleep(0)
            if step is None:
                await asyncio.Event().wait()
            if isinstance(step, Exception):
                raise step
            yield encode([self._delta(step)])

    def _delta(self, step: Step) -> TokenDelta:
        plain = TokenDelta(request_id=self.request.request_id, submission=99, index=0)
        if isinstance(step, Failure):
            error = RequestError("it failed", step.status, step.code)
            return msgspec.structs.replace(plain, finish_reason="error", error=error)
        assert isinstance(step, Tokens)
        return msgspec.structs.replace(
            plain,
            token_ids=step.token_ids,
            num_cached_tokens=step.cached,
            finish_reason="length" if step.ends else None,
        )


class ScriptedReplicas:
    """Handle and connection: attempt `i` goes to replica `r{i}` and runs `scripts[i]`."""

    def __init__(self, *scripts: list[Step], num_replicas: int = 2) -> None:
        self._scripts: Iterator[list[Step]] = iter(scripts)
        self.streams: list[Stream] = []
        self.routes: list[Route] = []
        self.expected: list[Route] = []
        self.statuses = [self.status(f"r{each}") for each in range(num_replicas)]
        self.calls: list[tuple[Any, ...]] = []
        self.is_closed = False
        self.hangs = False  # a replica, which makes Ray wait for all answers

    @staticmethod
    def status(name: str, state: str = "ready", **stats: float) -> ReplicaStatus:
        return ReplicaStatus(
            replica=name,
            state=EngineState(state),
            reason="",
            info=INFO,
            stats=EngineStats(**stats),  # type: ignore[arg-type]
            num_restarts=0,
            pid=1,
            engine_pid=2,
        )

    def generate(self, packed: bytes, route: Route) -> Stream:
        name = f"r{len(self.streams)}"
        stream = Stream(_requests.decode(packed), next(self._scripts))
        self.streams.append(stream)
        self.routes.append(route)
        route.placement = Placement(name, "cold", 0)
        return stream

    def expect(self, prompt: ExpectedPrompt, route: Route) -> None:
        self.expected.append(route)

    async def ask_all(self, method: str, *arguments: Any, timeout_s: float) -> list[Any]:
        self.calls.append((method, *arguments))
        if self.hangs:
            await asyncio.sleep(0)
            raise TimeoutError
        if not self.statuses:
            raise EngineUnavailable("no replica runs")
        return list(self.statuses)

    async def open(self) -> ScriptedReplicas:
        return self

    async def check(self, *, is_starting: bool) -> None:
        """Report no failure."""

    async def close(self) -> None:
        self.is_closed = True
