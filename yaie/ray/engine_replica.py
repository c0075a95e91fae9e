"""`EngineReplica`: one engine in a Ray actor, and the messages between it and `RayClient`.

The actor supervises the engine process as the server does (`ProcessClient`). Deltas travel as
msgpack; Ray pickles the rest, all of it plain values.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from yaie.base.cache_changes import unpack_names
from yaie.base.errors import EngineUnavailable, StartupError, YaieError
from yaie.base.queries import Answer, Blocks, ListBlocks, Query
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    TokenDelta,
)
from yaie.client.engine_process import EngineProcess
from yaie.client.process_client import ProcessClient
from yaie.client.submission import Submission
from yaie.models.load.folder import names_repository, open_folder
from yaie.models.load.folder_process import find_folder
from yaie.process.log_format import LogFormat
from yaie.ray.autoscaling import QUEUED, RUNNING
from yaie.ray.radix_placement import ReplicaReport
from yaie.ray.route import Route

encode = msgspec.msgpack.encode
_requests = msgspec.msgpack.Decoder(GenerationRequest)
_deltas = msgspec.msgpack.Decoder(list[TokenDelta])


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """Server settings that concern one engine."""

    stall_s: float
    warms_up: bool
    log_format: LogFormat


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """State of one replica."""

    replica: str
    state: EngineState
    reason: str
    info: EngineInfo | None
    stats: EngineStats
    num_restarts: int
    pid: int
    engine_pid: int | None


def read_request(packed: bytes) -> GenerationRequest:
    """Return the request of one message."""
    return _requests.decode(packed)


def read_deltas(packed: bytes) -> list[TokenDelta]:
    """Return the deltas of one message."""
    return _deltas.decode(packed)


def read_report(stats: dict[str, Any]) -> ReplicaReport:
    """Return a replica's `record_routing_stats`."""
    return ReplicaReport(**{**stats, "names": unpack_names(stats["names"])})


class EngineReplica:
    """One engine. Requests that it cannot take raise `EngineUnavailable`."""

    async def __init__(  # type: ignore[misc]  # Ray waits for it
        self, config: EngineConfig, options: ReplicaOptions
    ) -> None:
        """Start the engine and wait until it is ready. Raises `StartupError`."""
        from ray import serve

        self._name = serve.get_replica_context().replica_id.unique_id
        spawn = functools.partial(
            EngineProcess.spawn, warms_up=options.warms_up, log_format=options.log_format
        )
        config = await _local_config(config)
        self._has_names = config.cache_events != "off"
        self._client = ProcessClient(config, stall_s=options.stall_s, spawn=spawn)
        self._open: dict[str, Submission] = {}
        await self._client.start()
        await self._client.wait_ready()

    async def generate(self, packed: bytes, *, route: Route) -> AsyncIterator[bytes]:
        """Answer a request; each message has every delta that waits. `route` is the router's.

        Raises `EngineUnavailable` or `InvalidRequest` for a request that is not taken.
        """
        request = read_request(packed)
        arrived: list[TokenDelta] = []
        wake = asyncio.Event()

        def push(delta: TokenDelta) -> None:
            arrived.append(delta)
            wake.set()

        submission = self._client.submit(request, push)
        self._open[request.request_id] = submission
        try:
            while submission.is_open or arrived:
                await wake.wait()
                wake.clear()
                deltas, arrived[:] = list(arrived), ()
                if deltas:
                    yield encode(deltas)
        finally:  # also when the client leaves
            del self._open[request.request_id]
            submission.close()

    async def abort(self, request_id: str, index: int) -> None:
        """End one sequence, if the request is answered here."""
        submission = self._open.get(request_id)
        if submission is not None:
            submission.abort(index)

    async def expect(self, prompt: ExpectedPrompt, *, route: Route) -> None:
        """Have the engine compute the beginning of a later prompt; see `EngineClient`."""
        self._client.expect_prompt(prompt)

    async def ask(self, query: Query) -> Answer:
        """Ask the engine."""
        return await self._client.ask(query)

    async def status(self) -> ReplicaStatus:
        """Return the state now."""
        client = self._client
        return ReplicaStatus(
            replica=self._name,
            state=client.state,
            reason=client.state_reason,
            info=client.info,
            stats=client.stats,
            num_restarts=client.num_restarts,
            pid=os.getpid(),
            engine_pid=client.pid,
        )

    # -- called by Ray --------------------------------------------------------------------------

    async def record_routing_stats(self) -> dict[str, Any]:
        """Return the fields of a `ReplicaReport`, for the routers; the names are packed."""
        client = self._client
        info, stats, names = client.info, client.stats, b""
        if self._has_names and client.state is EngineState.READY:
            with contextlib.suppress(EngineUnavailable):  # it may end meanwhile
                blocks = await client.ask(ListBlocks())
                assert isinstance(blocks, Blocks)
                names = blocks.names
        return {
            "names": names,
            "num_slots": 0 if info is None else info.num_slots,
            "queued_tokens": stats.num_waiting_tokens,
            "running_rows": stats.num_running,
            "ready": client.state is EngineState.READY,
            "free_slots": stats.num_free_slots,
        }

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """Return the load, for the policy of `yaie.ray.autoscaling`."""
        info, stats = self._client.info, self._client.stats
        most = 1 if info is None else info.max_running
        return {QUEUED: stats.num_waiting_tokens, RUNNING: stats.num_running / most}

    async def check_health(self) -> None:
        """Raise while the engine hangs, or if it cannot start; Ray then replaces the actor.

        The hang lasts until another engine is ready here.
        """
        if self._client.state in (EngineState.FAILED, EngineState.STALLED):
            raise EngineUnavailable(self._client.state_reason)

    async def __del__(self) -> None:
        await self._client.close()


async def _local_config(config: EngineConfig) -> EngineConfig:
    """Return the settings with block names, and the model's folder here, downloaded if need be."""
    name = config.model_name
    if names_repository(config.source):
        path: Path = await find_folder(config.source)
    else:
        path = (await asyncio.to_thread(open_folder, config.source)).path
    if config.prefix_cache and config.cache_events == "off":
        config = replace(config, cache_events="names")
    return replace(config, model=str(path), revision=None, served_model_name=name)


def failure_of(error: Exception) -> YaieError | None:
    """Return the error that a replica raised on purpose; None if the replica is gone or broken."""
    cause = getattr(error, "cause", error)  # Ray wraps what an actor raises
    return cause if isinstance(cause, YaieError) and not isinstance(cause, StartupError) else None
