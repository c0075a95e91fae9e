"""Requests and closing of `ProcessClient`, over an engine without a process."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.client.asking import ENDLESS, ask, collect, drawn, generate, until
from tests.client.fake_engine import running, settle
from tests.client.scripted_core import INFO, RAISE_IN_ADD, REFUSE
from yaie.base.cache_changes import BlocksCleared, BlocksStored
from yaie.base.errors import (
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    InvalidRequest,
)
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineState, GenerationRequest, TokenDelta
from yaie.client import process_client
from yaie.client.engine_client import EngineClient
from yaie.client.process_client import ProcessClient
from yaie.client.supervision import FIRST_BACK_OFF_S
from yaie.client.wire import Abort, Shutdown, Submit

# -- requests -----------------------------------------------------------------------------------


async def test_answers_a_request_in_order_and_reports_its_state() -> None:
    async with running(ready=False) as bench:
        client = bench.client
        assert client.state == "starting"
        assert client.info is None
        with pytest.raises(EngineStarting):
            await collect(client, ask("early"))
        assert await client.wait_ready(30) == INFO
        assert client.state is EngineState.READY
        assert await drawn(client, ask("a")) == [10, 11, 12, 13, 14]
        assert client.stats.num_steps == 5
        assert client.num_restarts == 0
    assert client.state_reason == "the engine was stopped"
    with pytest.raises(EngineDraining):
        await collect(client, ask("late"))


async def test_is_an_engine_client() -> None:
    def accepts(client: EngineClient) -> EngineState:
        return client.state

    assert accepts(ProcessClient(EngineConfig())) is EngineState.STARTING


async def test_requests_run_in_common_steps_and_get_their_own_deltas() -> None:
    async with running() as bench:
        requests = [ask(f"r{i}", first=i, max_tokens=1 + i % 7) for i in range(300)]
        answers = await asyncio.gather(*(drawn(bench.client, each) for each in requests))
        assert answers == [list(range(i, i + 1 + i % 7)) for i in range(300)]
        assert bench.client.stats.num_steps < 20


async def test_all_sequences_of_a_request_end() -> None:
    async with running() as bench:
        deltas = await collect(bench.client, ask("n", n=4, max_tokens=3))
        for index in range(4):
            own = [delta for delta in deltas if delta.index == index]
            assert [t for d in own for t in d.token_ids] == [10 + index + i for i in range(3)]
            assert own[-1].finish_reason == "length"


async def test_deltas_are_pushed_once_and_none_after_closing() -> None:
    async with running() as bench:
        pushed: list[TokenDelta] = []
        submission = bench.client.submit(ask("a", max_tokens=ENDLESS, n=2), pushed.append)
        await until(lambda: len(pushed) >= 8)
        by_index = [[d.token_ids[0] for d in pushed if d.index == index] for index in range(2)]
        assert all(b == a + 1 for own in by_index for a, b in pairwise(own))
        submission.close()
        submission.close()
        num_pushed = len(pushed)
        await settle()
        assert len(pushed) == num_pushed
        assert bench.client.stats.num_aborted == 2
        assert bench.client.stats.num_running == 0


async def test_one_sequence_can_be_aborted_and_the_others_go_on() -> None:
    async with running() as bench:
        deltas: list[TokenDelta] = []

        def take(delta: TokenDelta) -> None:
            if not deltas:
                submission.abort(1)
            deltas.append(delta)

        submission = bench.client.submit(ask("n", n=3, max_tokens=50), take)
        await until(lambda: not submission.is_open)
        ends = {delta.index: delta.finish_reason for delta in deltas if delta.finish_reason}
        assert ends == {0: "length", 1: "abort", 2: "length"}
        sent = len(bench.engine.child.sent)
        submission.abort(1)  # it has ended
        submission.close()
        assert len(bench.engine.child.sent) == sent


async def test_late_deltas_of_an_abandoned_request_are_dropped() -> None:
    async with running() as bench:
        client = bench.client
        for first in range(20, 200, 10):
            stream = generate(client, ask("again", first=first, max_tokens=ENDLESS, n=2))
            begin = [(await anext(stream)).token_ids for _ in range(2)]
            assert begin == [(first,), (first + 1,)]
            await stream.aclose()
        for kind in (RAISE_IN_ADD, REFUSE):
            (failed,) = await collect(client, ask("again", first=kind))
            assert failed.finish_reason == "error"
        assert await drawn(client, ask("again")) == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("by", ["closing", "abort"])
async def test_a_delayed_request_is_sent_before_its_abort(by: str) -> None:
    """While another request of a burst is read; in the reverse order it would run for ever."""
    async with running() as bench:
        deltas: list[TokenDelta] = []
        with bench.client.expect_request():
            submission = bench.client.submit(ask("held", max_tokens=ENDLESS), deltas.append)
            assert bench.engine.child.sent == []
            if by == "abort":
                submission.abort(0)
            else:
                submission.close()
            assert [type(message) for message in bench.engine.child.sent] == [Submit, Abort]
        await settle()
        assert bench.client.stats.num_aborted == 1
        assert [d.finish_reason for d in deltas] == (["abort"] if by == "abort" else [])


async def test_refusals_and_bugs_in_add_belong_to_the_request() -> None:
    async with running() as bench:
        other = asyncio.create_task(drawn(bench.client, ask("other", max_tokens=40)))
        (refused,) = await collect(bench.client, ask("no", first=REFUSE, n=3))
        assert (refused.finish_reason, refused.error.status) == ("error", 400)
        assert refused.error.code == "context_length_exceeded"
        (failed,) = await collect(bench.client, ask("bug", first=RAISE_IN_ADD))
        assert (failed.finish_reason, failed.error.status) == ("error", 500)
        assert "a bug in add" in failed.error.message
        assert len(await other) == 40
        assert bench.client.num_restarts == 0


async def test_a_value_that_cannot_be_sent_is_refused() -> None:
    async with running() as bench:
        client = bench.client
        with pytest.raises(InvalidRequest, match="cannot take"):
            await collect(client, ask("big", first=2**64))
        with pytest.raises(InvalidRequest, match="cannot take"):
            await collect(client, ask("half \ud800 pair"))
        with pytest.raises(InvalidRequest, match="request_id"):
            await collect(client, ask(7))  # type: ignore[arg-type]
        wrong = GenerationRequest(request_id="text", prompt_token_ids=("a",))  # type: ignore[arg-type]
        (refused,) = await collect(client, wrong)
        assert (refused.finish_reason, refused.error.status) == ("error", 400)
        assert await drawn(client, ask("ok", max_tokens=1)) == [10]
        assert client.num_restarts == 0


async def test_an_id_in_use_is_refused() -> None:
    async with running() as bench:
        stream = generate(bench.client, ask("twin", max_tokens=ENDLESS))
        await anext(stream)
        with pytest.raises(InvalidRequest, match="twin"):
            await collect(bench.client, ask("twin"))
        await anext(stream)  # the first one is not disturbed
        await stream.aclose()


# -- closing ------------------------------------------------------------------------------------


async def test_waiting_for_a_slow_start_ends_and_so_does_closing() -> None:
    async with running(ready=False) as bench:
        bench.engine.loads = False
        await settle()
        with pytest.raises(EngineStarting, match=r"within 0\.01 s"):
            await bench.client.wait_ready(0.01)
    assert bench.engine.child.sent == []  # it does not listen while it loads


async def test_closing_ends_requests_and_the_engine() -> None:
    async with running() as bench:
        task = asyncio.create_task(collect(bench.client, ask("a", max_tokens=ENDLESS)))
        await until(lambda: bench.client.stats.num_running == 1)
        await bench.client.close()
        await bench.client.close()
        with pytest.raises(EngineDraining):
            await task
        assert isinstance(bench.engine.child.sent[-1], Shutdown)
        assert bench.client.state is EngineState.DEAD
        with pytest.raises(EngineUnavailable):
            await bench.client.wait_ready(1)


async def test_a_hung_engine_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_client, "SHUTDOWN_S", 0.01)
    async with running() as bench:
        monkeypatch.setattr(bench.engine.child, "send", lambda message: None)
        task = asyncio.create_task(collect(bench.client, ask("a")))
        await settle()
    with pytest.raises(EngineDraining):
        await task
    assert bench.client.pid is None


@pytest.mark.parametrize("is_pausing", [True, False])
async def test_closing_during_a_restart_waits_for_no_engine(is_pausing: bool) -> None:
    async with running() as bench:
        bench.engine.loads = False
        bench.engine.child.die()
        await settle()
        if not is_pausing:
            bench.clock.advance(FIRST_BACK_OFF_S)
            await settle()
    assert bench.client.pid is None
    assert len(bench.engine.children) == (1 if is_pausing else 2)
    assert bench.engine.child.sent == []


async def test_cache_changes_arrive_in_order_and_end_with_the_engine() -> None:
    async with running() as bench:
        received = bench.cache_changes
        stored = BlocksStored(b"12345678", None, bytes(64), 16)
        core = bench.engine.child.core
        core.cache_changes = (stored,)
        await drawn(bench.client, ask("a"))
        assert received == [stored]
        bench.engine.child.die()
        await settle()
        assert received == [stored, BlocksCleared()]
