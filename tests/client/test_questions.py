"""Queries and their answers: over the wire, in this process, and when the engine fails."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.client.asking import ENDLESS, ask, drawn
from tests.client.fake_engine import running, settle
from tests.client.local_calls import Core, drain, until
from tests.client.scripted_core import CRASH
from yaie.base.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    InvalidRequest,
    RequestFailed,
)
from yaie.base.queries import DescribeCache, ExplainPrompt, Explanation, FlushCache
from yaie.base.types import EngineState
from yaie.client.local_client import LocalClient
from yaie.client.wire import Ask, QueryReply

QUERY = ExplainPrompt(token_ids=(1, 2, 3))


async def test_a_question_is_answered_between_two_steps() -> None:
    async with running() as bench:
        found = await bench.client.ask(QUERY)
        assert isinstance(found, Explanation) and found.num_tokens == 3
        answers = await asyncio.gather(
            drawn(bench.client, ask("a")), *(bench.client.ask(QUERY) for _ in range(50))
        )
        assert answers[0] == [10, 11, 12, 13, 14]
        assert [each.num_tokens for each in answers[1:]] == [3] * 50
        assert bench.clock.pauses in ([5.0], [])


async def test_the_error_of_a_query_is_its_own() -> None:
    async with running() as bench:
        with pytest.raises(InvalidRequest, match="nothing to flush") as refused:
            await bench.client.ask(FlushCache())
        assert refused.value.param == "query"
        with pytest.raises(RequestFailed, match="a bug in answer"):
            await bench.client.ask(DescribeCache())
        assert await drawn(bench.client, ask("a")) == [10, 11, 12, 13, 14]


async def test_a_question_needs_a_ready_engine() -> None:
    async with running(ready=False) as bench:
        with pytest.raises(EngineStarting):
            await bench.client.ask(QUERY)
    with pytest.raises(EngineDraining):
        await bench.client.ask(QUERY)


@pytest.mark.parametrize("how", ["die", "close"])
async def test_a_question_ends_with_the_engine(how: str) -> None:
    async with running() as bench:
        bench.engine.child.hangs = True
        asked = asyncio.create_task(bench.client.ask(QUERY))
        await settle()
        if how == "die":
            bench.engine.child.die()
            with pytest.raises(EngineDied):
                await asked
            assert bench.client.state is EngineState.DEAD
            return
        await asyncio.gather(bench.client.close(), asked, return_exceptions=True)
        assert isinstance(asked.exception(), EngineDraining)


async def test_a_question_is_given_up_after_its_time_and_its_late_reply_dropped() -> None:
    async with running() as bench:
        child = bench.engine.child
        child.hangs = True
        with pytest.raises(EngineUnavailable, match="did not answer within") as busy:
            await bench.client.ask(QUERY, timeout_s=0.01)
        assert busy.value.code == "engine_busy" and busy.value.status == 503
        (late,) = (message for message in child.sent if isinstance(message, Ask))
        child._report(QueryReply(late.number, Explanation(3, 0, 0, None, 0)))
        child.hangs = False
        assert isinstance(await bench.client.ask(QUERY), Explanation)


async def test_an_engine_that_leaves_a_question_unanswered_is_hung() -> None:
    async with running(stall_s=60) as bench:
        bench.engine.child.hangs = True
        asked = asyncio.create_task(bench.client.ask(QUERY))
        await settle()
        bench.clock.advance(61)
        assert bench.client.state is EngineState.STALLED
        bench.engine.child.die()
        with pytest.raises(EngineDied):
            await asked


async def test_an_answered_question_leaves_no_engine_to_be_hung() -> None:
    async with running(stall_s=60) as bench:
        await bench.client.ask(QUERY)
        await settle()
        bench.clock.advance(600)
        assert bench.client.state is EngineState.READY


# -- in this process ----------------------------------------------------------------------------


def test_a_local_question_needs_no_request(client: LocalClient) -> None:
    found = client.ask(QUERY)
    assert isinstance(found, Explanation) and found.num_tokens == 3
    with pytest.raises(InvalidRequest, match="nothing to flush"):
        client.ask(FlushCache())
    with pytest.raises(KeyError):
        client.ask(DescribeCache())
    assert drain(client, ask("a", max_tokens=2)) == {"a": [10, 11]}


def test_a_local_question_is_answered_while_another_thread_steps(
    client: LocalClient, core: Core
) -> None:
    core.step_s = 0.002
    worker = threading.Thread(target=drain, args=(client, ask("a", max_tokens=200)))
    worker.start()
    until(lambda: client.stats.num_running)
    found = client.ask(QUERY)
    assert isinstance(found, Explanation) and 0 < found.num_held < 200
    worker.join()


def test_a_local_question_gets_the_error_of_the_engine(client: LocalClient) -> None:
    with pytest.raises(EngineDied):
        drain(client, ask("crash", first=CRASH, max_tokens=ENDLESS))
    with pytest.raises(EngineDied):
        client.ask(QUERY)
    client.close()
    with pytest.raises(EngineUnavailable):
        client.ask(QUERY)
