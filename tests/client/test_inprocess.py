"""The in-process client: the same door as the process, without its safety."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.client.scripted_core import CRASH, INFO, RAISE_IN_ADD, REFUSE, ScriptedCore
from tests.client.test_process import (
    ENDLESS,
    ask,
    collect,
    drawn,
    run,
    until,
    use_one_id_again_and_again,
)
from yaie.client.base import EngineClient
from yaie.client.inprocess import InProcessClient
from yaie.client.process import ProcessClient
from yaie.config import EngineConfig
from yaie.errors import EngineDied, EngineDraining, EngineStarting, InvalidRequest
from yaie.types import EngineState


def make_core() -> ScriptedCore:
    return ScriptedCore(EngineConfig(model="scripted"))


@asynccontextmanager
async def running() -> AsyncIterator[tuple[InProcessClient, ScriptedCore]]:
    core = make_core()
    client = InProcessClient(core)
    await client.start()
    try:
        yield client, core
    finally:
        await client.close()


def test_both_clients_are_engine_clients() -> None:
    def accepts(client: EngineClient) -> EngineState:
        return client.state

    async def test() -> None:
        assert accepts(InProcessClient(make_core())) is EngineState.STARTING
        assert accepts(ProcessClient(EngineConfig())) is EngineState.STARTING

    run(test)


def test_requests_are_answered_and_the_core_is_closed_at_the_end() -> None:
    async def test() -> None:
        async with running() as (client, core):
            assert await client.wait_ready() == client.info == INFO
            assert client.num_restarts == 0
            answers = await asyncio.gather(
                *(drawn(client, ask(f"r{i}", first=i, max_tokens=1 + i % 7)) for i in range(100))
            )
            assert answers == [list(range(i, i + 1 + i % 7)) for i in range(100)]
            assert 7 <= client.stats.num_steps < 100
        assert core.closed
        assert client.state is EngineState.DEAD
        with pytest.raises(EngineDied, match="stopped"):
            await collect(client, ask("late"))

    run(test)


def test_leaving_a_stream_aborts_and_one_sequence_can_be_aborted() -> None:
    async def test() -> None:
        async with running() as (client, core):
            stream = client.generate(ask("left", max_tokens=ENDLESS))
            await anext(stream)
            with pytest.raises(InvalidRequest):
                await collect(client, ask("left"))
            await stream.aclose()
            await until(lambda: client.stats.num_aborted == 1 and not core.has_work)
            reasons: dict[int, str | None] = {}
            async for delta in client.generate(ask("n", n=2, max_tokens=30)):
                if not reasons:
                    await client.abort("n", 1)
                reasons[delta.index] = delta.finish_reason
            assert reasons == {0: "length", 1: "abort"}

    run(test)


def test_an_id_may_be_used_again_at_once() -> None:
    async def test() -> None:
        async with running() as (client, _):
            await use_one_id_again_and_again(client)

    run(test)


def test_refusals_belong_to_the_request_and_a_failed_step_is_the_end() -> None:
    async def test() -> None:
        async with running() as (client, core):
            (refused,) = await collect(client, ask("no", first=REFUSE))
            assert refused.error.status == 400
            (failed,) = await collect(client, ask("bug", first=RAISE_IN_ADD))
            assert failed.error.status == 500
            other = asyncio.create_task(collect(client, ask("other", max_tokens=ENDLESS)))
            await until(lambda: client.stats.num_running == 1)
            with pytest.raises(EngineDied, match="a kernel failed"):
                await collect(client, ask("bad", first=CRASH))
            with pytest.raises(EngineDied):
                await other
            assert client.state is EngineState.DEAD
            assert "a kernel failed" in client.state_reason
            assert core.closed
            with pytest.raises(EngineDied, match="a kernel failed"):
                await collect(client, ask("next"))

    run(test)


def test_closing_ends_what_is_in_flight() -> None:
    async def test() -> None:
        async with running() as (client, _):
            task = asyncio.create_task(collect(client, ask("a", max_tokens=ENDLESS)))
            await until(lambda: client.stats.num_running == 1)
            await client.close()
            await client.close()
            with pytest.raises(EngineDraining):
                await task

    run(test)


def test_a_client_that_was_never_started_says_so_and_can_be_closed() -> None:
    async def test() -> None:
        core = make_core()
        client = InProcessClient(core)
        with pytest.raises(EngineStarting):
            await collect(client, ask("a"))
        with pytest.raises(EngineStarting):
            await client.wait_ready()
        await client.close()
        assert core.closed

    run(test)


def test_an_idle_thread_uses_no_processor_time() -> None:
    async def test() -> None:
        async with running() as (client, _):
            await drawn(client, ask("warm"))
            before, began = time.process_time(), time.monotonic()
            await asyncio.sleep(1)
            assert (time.process_time() - before) / (time.monotonic() - began) < 0.01

    run(test)
