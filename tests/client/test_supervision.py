"""Deaths, restarts and stalls of a supervised engine, in a time moved by the tests."""

from __future__ import annotations

import asyncio

import pytest

from tests.client.asking import ENDLESS, ask, collect, drawn, generate, until
from tests.client.fake_engine import Bench, running, settle
from tests.client.scripted_core import CRASH
from yaie.base.errors import EngineDied, EngineUnavailable, ModelNotFound, StartupError
from yaie.base.types import EngineState, ExpectedPrompt
from yaie.client import process_client
from yaie.client.supervision import FIRST_BACK_OFF_S, MAX_BACK_OFF_S
from yaie.process.session_work import SessionWork

STALL_S = 60.0


@pytest.fixture(autouse=True)
def _stacks_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_client, "STACK_DUMP_S", 0.0)


async def stalled(bench: Bench) -> None:
    """Wait until the hung engine was killed."""
    child = bench.engine.child
    await until(lambda: child is not bench.engine.child or bench.client.pid is None)


# -- deaths and restarts ------------------------------------------------------------------------


async def test_a_dead_engine_ends_its_requests_and_is_restarted() -> None:
    async with running() as bench:
        client = bench.client
        streams = [generate(client, ask(f"s{i}", max_tokens=ENDLESS)) for i in range(32)]
        await asyncio.gather(*(anext(stream) for stream in streams))
        bench.engine.child.die()
        ends = await asyncio.gather(*map(drain, streams), return_exceptions=True)
        assert all(isinstance(end, EngineDied) for end in ends)
        assert "SIGKILL" in str(ends[0])
        await settle()
        assert client.state is EngineState.DEAD
        assert client.pid is None
        assert client.stats.num_steps == 0
        with pytest.raises(EngineUnavailable, match="being restarted"):
            await collect(client, ask("between"))
        await bench.restart(FIRST_BACK_OFF_S)
        assert client.num_restarts == 1
        assert client.pid == 2
        assert await drawn(client, ask("s0", max_tokens=2)) == [10, 11]


async def drain(stream: object) -> None:
    async for _ in stream:  # type: ignore[attr-defined]
        pass


async def test_a_step_that_raises_ends_all_requests() -> None:
    async with running() as bench:
        other = asyncio.create_task(collect(bench.client, ask("other", max_tokens=ENDLESS)))
        await until(lambda: bench.client.stats.num_running == 1)
        with pytest.raises(EngineDied, match="a kernel failed"):
            await collect(bench.client, ask("bad", first=CRASH))
        with pytest.raises(EngineDied, match="a kernel failed"):
            await other
        await bench.restart(FIRST_BACK_OFF_S)
        assert await drawn(bench.client, ask("next", max_tokens=1)) == [10]


async def test_pauses_between_restarts_double_until_an_engine_answers() -> None:
    async with running() as bench:
        client, pauses = bench.client, []
        for _ in range(10):  # each dies as soon as it is ready
            bench.engine.child.die()
            await settle()
            assert client.state is EngineState.DEAD
            (pause_s,) = bench.clock.pauses
            pauses.append(pause_s)
            bench.clock.advance(0.99 * pause_s)
            await settle()
            assert client.state is EngineState.DEAD
            bench.clock.advance(0.01 * pause_s)
            await settle()
            assert client.state is EngineState.READY
        doubled = [min(FIRST_BACK_OFF_S * 2**number, MAX_BACK_OFF_S) for number in range(10)]
        assert pauses == pytest.approx(doubled)
        assert await drawn(client, ask("a", max_tokens=1)) == [10]
        bench.engine.child.die()
        await settle()
        assert bench.clock.pauses == pytest.approx([FIRST_BACK_OFF_S])


async def test_an_engine_that_lives_long_is_of_use() -> None:
    async with running() as bench:
        for lived_s, pause_s in ((0.0, 0.1), (MAX_BACK_OFF_S - 1, 0.2), (MAX_BACK_OFF_S, 0.1)):
            bench.clock.advance(lived_s)
            bench.engine.child.die()
            await settle()
            assert bench.clock.pauses == pytest.approx([pause_s])
            await bench.restart(pause_s)


async def test_a_restart_that_fails_is_tried_again() -> None:
    async with running() as bench:
        bench.engine.error = OSError("no more processes")
        bench.engine.child.die()
        for pause_s in (0.1, 0.2, 0.4):
            await bench.restart(pause_s)
            assert bench.client.state is EngineState.DEAD
            assert "no more processes" in bench.client.state_reason
        bench.engine.error = None
        await bench.restart(0.8)
        assert await drawn(bench.client, ask("a", max_tokens=1)) == [10]


async def test_an_engine_that_cannot_start_is_not_restarted() -> None:
    async with running("missing", ready=False) as bench:
        with pytest.raises(ModelNotFound, match="there is no model 'missing'"):
            await bench.client.wait_ready(10)
        assert bench.client.state is EngineState.FAILED
        assert bench.client.state_reason == "there is no model 'missing'"
        with pytest.raises(EngineUnavailable, match="there is no model 'missing'"):
            await collect(bench.client, ask("a"))
        bench.clock.advance(3600)
        await settle()
        assert len(bench.engine.children) == 1
    assert bench.client.state is EngineState.FAILED


async def test_a_first_start_that_dies_is_final() -> None:
    async with running(ready=False) as bench:
        bench.engine.loads = False
        await settle()
        bench.engine.child.die("the engine process was ended by signal SIGKILL")
        with pytest.raises(StartupError, match=r"while it was starting, .* SIGKILL"):
            await bench.client.wait_ready(10)
        assert bench.client.state is EngineState.FAILED


# -- stalls -------------------------------------------------------------------------------------


async def test_a_hung_step_is_ended_after_the_limit() -> None:
    async with running(stall_s=STALL_S) as bench:
        client, child = bench.client, bench.engine.child
        child.hangs = True
        hung = asyncio.create_task(collect(client, ask("hung")))
        await settle()
        bench.clock.advance(STALL_S - 1)
        await settle()
        assert client.state is EngineState.READY
        bench.clock.advance(1)
        assert client.state is EngineState.STALLED
        assert child.has_dumped_stacks
        with pytest.raises(EngineDied, match="gave no sign of life for 60 s"):
            await hung
        await bench.restart(FIRST_BACK_OFF_S)
        assert await drawn(client, ask("next", max_tokens=1)) == [10]


async def test_each_step_has_the_whole_limit() -> None:
    async with running(stall_s=STALL_S) as bench:
        stream = generate(bench.client, ask("long", max_tokens=ENDLESS))
        for _ in range(5):
            await anext(stream)
            bench.clock.advance(0.9 * STALL_S)
        assert bench.client.state is EngineState.READY
        await stream.aclose()


async def test_callers_that_leave_early_do_not_hide_a_hung_engine() -> None:
    """Each leaves before the limit; together they wait longer."""
    async with running(stall_s=STALL_S) as bench:
        bench.engine.child.hangs = True
        for number in range(4):
            bench.client.submit(ask(f"r{number}"), lambda delta: None).close()
            bench.clock.advance(0.24 * STALL_S)
            assert bench.client.state is EngineState.READY
        bench.clock.advance(0.04 * STALL_S)
        assert bench.client.state is EngineState.STALLED
        await stalled(bench)


async def test_a_request_aborted_before_its_step_is_acknowledged() -> None:
    async with running(stall_s=STALL_S) as bench:
        for number in range(5):
            bench.client.submit(ask(f"r{number}"), lambda delta: None).close()
            await settle()
            bench.clock.advance(0.9 * STALL_S)
        bench.clock.advance(10 * STALL_S)
        await settle()
        assert bench.client.state is EngineState.READY


async def test_an_idle_engine_answers_and_does_not_count_as_hung() -> None:
    async with running(stall_s=STALL_S) as bench:
        assert await drawn(bench.client, ask("a", max_tokens=1)) == [10]
        for _ in range(100):
            bench.clock.advance(0.5 * STALL_S)
        assert bench.client.state is EngineState.READY


@pytest.mark.parametrize("idle_s", [0.0, 3.0, 1000.0])
async def test_an_idle_engine_that_hangs_is_ended_within_the_limit(idle_s: float) -> None:
    async with running(stall_s=STALL_S) as bench:
        bench.clock.advance(idle_s)
        bench.engine.child.hangs = True
        bench.clock.advance(STALL_S)
        assert bench.client.state is EngineState.STALLED
        await stalled(bench)


async def test_a_long_step_that_makes_progress_goes_on() -> None:
    async with running(stall_s=STALL_S) as bench:
        child = bench.engine.child
        child.hangs = True
        hung = asyncio.create_task(collect(bench.client, ask("long")))
        await settle()
        for _ in range(10):
            child.num_beats += 1
            bench.clock.advance(0.8 * STALL_S)
        assert bench.client.state is EngineState.READY
        bench.clock.advance(STALL_S)
        assert bench.client.state is EngineState.STALLED
        with pytest.raises(EngineDied):
            await hung


async def test_time_in_which_the_server_did_not_run_does_not_count() -> None:
    async with running(stall_s=STALL_S) as bench:
        bench.engine.child.hangs = True
        bench.clock.jump(10 * STALL_S)
        bench.clock.advance(0.5 * STALL_S)
        assert bench.client.state is EngineState.READY
        bench.clock.advance(0.5 * STALL_S)
        assert bench.client.state is EngineState.STALLED
        await stalled(bench)


async def test_an_engine_that_hangs_after_the_server_was_stopped_is_found() -> None:
    async with running(stall_s=STALL_S) as bench:
        bench.clock.jump(10 * STALL_S)
        bench.client.expect_prompt(ExpectedPrompt(owner="", token_ids=(1, 2)))
        await settle()  # the loop reads the engine's answer before it calls late timers
        bench.engine.child.hangs = True
        bench.clock.advance(STALL_S)
        assert bench.client.state is EngineState.STALLED
        await stalled(bench)


async def test_the_state_is_stalled_until_the_next_engine_is_ready() -> None:
    async with running(stall_s=STALL_S) as bench:
        bench.engine.loads = False
        bench.engine.child.hangs = True
        bench.clock.advance(STALL_S)
        await stalled(bench)
        await bench.restart(FIRST_BACK_OFF_S)
        assert bench.client.state is EngineState.STALLED  # the next one loads
        bench.engine.child.die("the loader crashed")
        await settle()
        assert bench.client.state is EngineState.STALLED
        assert bench.client.state_reason == "the loader crashed"
        bench.engine.loads = True
        await bench.restart(2 * FIRST_BACK_OFF_S)
        assert bench.client.state is EngineState.READY


async def test_restarts_that_fail_for_the_limit_count_as_a_stall() -> None:
    async with running(stall_s=STALL_S) as bench:
        bench.engine.error = OSError("no more processes")
        bench.engine.child.die()
        await settle()
        pause_s, states = FIRST_BACK_OFF_S, []
        for _ in range(11):
            states.append(bench.client.state)
            bench.clock.advance(pause_s)
            await settle()
            pause_s = min(2 * pause_s, MAX_BACK_OFF_S)
        assert states == [EngineState.DEAD] * 10 + [EngineState.STALLED]
        bench.engine.error = None
        bench.clock.advance(pause_s)
        await settle()
        assert bench.client.state is EngineState.READY


async def test_a_reload_that_hangs_is_ended() -> None:
    async with running(stall_s=STALL_S, ready=False) as bench:
        await asyncio.sleep(0)
        bench.clock.advance(30)  # of the first load
        await bench.client.wait_ready(30)
        bench.engine.loads = False
        bench.engine.child.die()
        await bench.restart(FIRST_BACK_OFF_S)
        bench.clock.advance(299)  # ten times as long as the first
        assert bench.client.state is EngineState.STARTING
        bench.clock.advance(1)
        await stalled(bench)
        await settle()
        assert bench.client.state is EngineState.STALLED
        assert "not loaded again within 300 s" in bench.client.state_reason


async def test_a_first_load_without_work_is_ended() -> None:
    async with running(stall_s=STALL_S, ready=False) as bench:
        bench.engine.loads = False
        await settle()
        child = bench.engine.child
        for work in (SessionWork(1.0, 0), SessionWork(1.0, 2 << 20)):  # it computes, or reads
            child.work = work
            bench.clock.advance(STALL_S)
            assert bench.client.state is EngineState.STARTING
        bench.clock.jump(10 * STALL_S)  # stopped, as its server was
        bench.clock.advance(STALL_S - 1)
        assert bench.client.state is EngineState.STARTING
        bench.clock.advance(1)
        assert child.has_dumped_stacks
        with pytest.raises(StartupError, match=r"starting, the load .* did no work for 60 s"):
            await bench.client.wait_ready(10)
        assert bench.client.state is EngineState.FAILED


async def test_a_first_load_has_no_limit_where_work_is_unknown() -> None:
    async with running(stall_s=STALL_S, ready=False) as bench:
        bench.engine.loads = False
        await settle()
        bench.engine.child.work = None
        bench.clock.advance(10 * STALL_S)
        assert bench.client.state is EngineState.STARTING


async def test_a_slow_spawn_does_not_use_up_the_reload_limit() -> None:
    async with running(stall_s=STALL_S) as bench:
        bench.engine.loads = False
        bench.engine.may_spawn.clear()
        bench.engine.child.die()
        await bench.restart(FIRST_BACK_OFF_S)
        bench.clock.advance(2 * STALL_S)  # before there is a process to kill
        bench.engine.may_spawn.set()
        await settle()
        assert bench.client.state is EngineState.STARTING
        bench.clock.advance(STALL_S)
        assert bench.client.state is EngineState.STALLED
        await stalled(bench)
