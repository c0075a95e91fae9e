"""The engine process around a scripted core: what is sent, how it dies, how it comes back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.client.scripted_core import CRASH, HANG, INFO, KILL, RAISE_IN_ADD, REFUSE, SLOW_STEP
from yaie.client import supervisor
from yaie.client.base import EngineClient
from yaie.client.process import FIRST_BACK_OFF_S, SHUTDOWN_S, ProcessClient
from yaie.config import EngineConfig
from yaie.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    InvalidRequest,
    ModelNotFound,
    StartupError,
)
from yaie.types import EngineState, GenerationRequest, SamplingParams, TokenDelta

WORKER = "tests.client.scripted_core"
ENDLESS = 100_000


@asynccontextmanager
async def running(
    model: str = "scripted", *, stall_s: float = 60.0, ready: bool = True
) -> AsyncIterator[ProcessClient]:
    client = ProcessClient(EngineConfig(model=model), stall_s=stall_s, worker_module=WORKER)
    try:
        await client.start()
        if ready:
            await client.wait_ready(30)
        yield client
    finally:
        await client.close()


def ask(
    request_id: str, first: int = 10, max_tokens: int = 5, n: int = 1, **sampling: object
) -> GenerationRequest:
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=(first,),
        sampling=SamplingParams(max_tokens=max_tokens, n=n, **sampling),  # type: ignore[arg-type]
    )


async def collect(client: EngineClient, request: GenerationRequest) -> list[TokenDelta]:
    return [delta async for delta in client.generate(request)]


async def drawn(client: EngineClient, request: GenerationRequest) -> list[int]:
    deltas = await collect(client, request)
    return [token for delta in deltas for token in delta.token_ids]


async def until(holds: Callable[[], bool], limit_s: float = 10.0) -> None:
    async with asyncio.timeout(limit_s):
        while not holds():
            await asyncio.sleep(0.01)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(200):  # only so that a hang says where
            await test()

    asyncio.run(limited())


def test_a_request_is_answered_in_order_and_state_is_told() -> None:
    async def test() -> None:
        async with running(ready=False) as client:
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

    run(test)


@pytest.mark.parametrize("level", [0, 15, logging.WARNING])
def test_an_engine_starts_at_any_log_level_of_its_parent(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that has no name."""
    monkeypatch.setattr(supervisor.logger, "level", level)
    monkeypatch.setattr(supervisor.logger, "parent", None)
    assert supervisor.logger.getEffectiveLevel() == level

    async def test() -> None:
        async with running() as client:
            assert await drawn(client, ask("a")) == [10, 11, 12, 13, 14]

    run(test)


def test_many_requests_at_once_each_get_their_own() -> None:
    async def test() -> None:
        async with running() as client:
            answers = await asyncio.gather(
                *(drawn(client, ask(f"r{i}", first=i, max_tokens=1 + i % 7)) for i in range(300))
            )
            assert answers == [list(range(i, i + 1 + i % 7)) for i in range(300)]
            # Batched: far fewer steps than tokens.
            assert client.stats.num_steps < 300

    run(test)


def test_all_sequences_of_a_request_end() -> None:
    async def test() -> None:
        async with running() as client:
            deltas = await collect(client, ask("n", n=4, max_tokens=3))
            for index in range(4):
                own = [delta for delta in deltas if delta.index == index]
                assert [t for d in own for t in d.token_ids] == [10 + index + i for i in range(3)]
                assert own[-1].finish_reason == "length"

    run(test)


def test_one_sequence_can_be_aborted_and_the_others_go_on() -> None:
    async def test() -> None:
        async with running() as client:
            reasons: dict[int, str | None] = {}
            async for delta in client.generate(ask("n", n=3, max_tokens=50)):
                if not reasons:
                    await client.abort("n", 1)
                    await client.abort("unknown")
                reasons[delta.index] = delta.finish_reason
            assert reasons == {0: "length", 1: "abort", 2: "length"}

    run(test)


def test_leaving_a_stream_aborts_its_request() -> None:
    async def test() -> None:
        async with running() as client:
            stream = client.generate(ask("left", max_tokens=ENDLESS, n=2))
            await anext(stream)
            await stream.aclose()
            await until(lambda: client.stats.num_aborted == 2 and client.stats.num_running == 0)
            assert await drawn(client, ask("left")) == [10, 11, 12, 13, 14]  # the id is free again

    run(test)


async def use_one_id_again_and_again(client: EngineClient) -> None:
    """What is still said of a request that was left is not taken for the next one's."""
    for first in range(20, 200, 10):
        stream = client.generate(ask("again", first=first, max_tokens=ENDLESS, n=2))
        begin = [(await anext(stream)).token_ids for _ in range(2)]
        assert begin == [(first,), (first + 1,)]
        await stream.aclose()  # type: ignore[attr-defined]
    for kind in (RAISE_IN_ADD, REFUSE):
        (failed,) = await collect(client, ask("again", first=kind))
        assert failed.finish_reason == "error"
    assert await drawn(client, ask("again")) == [10, 11, 12, 13, 14]


def test_an_id_may_be_used_again_at_once() -> None:
    async def test() -> None:
        async with running() as client:
            await use_one_id_again_and_again(client)

    run(test)


def test_cancelling_a_waiting_caller_aborts_its_request() -> None:
    async def test() -> None:
        async with running() as client:
            task = asyncio.create_task(collect(client, ask("gone", max_tokens=ENDLESS)))
            await until(lambda: client.stats.num_running == 1)
            task.cancel()
            await until(lambda: client.stats.num_running == 0)
            assert client.stats.num_aborted == 1

    run(test)


@pytest.mark.parametrize("by", ["leaving", "abort"])
def test_what_is_held_back_is_sent_before_it_is_aborted(by: str) -> None:
    """While another request of a burst is read; the other way round it would run for nobody."""

    async def test() -> None:
        async with running() as client:
            with client.arriving():
                task = asyncio.create_task(collect(client, ask("held", max_tokens=ENDLESS)))
                await asyncio.sleep(0)
                if by == "abort":
                    await client.abort("held")
                    assert (await task)[-1].finish_reason == "abort"  # a step may come between
                else:
                    task.cancel()
                    await asyncio.wait([task])
            await until(lambda: client.stats.num_aborted == 1 and client.stats.num_running == 0)

    run(test)


def test_refusals_and_bugs_in_add_belong_to_the_request() -> None:
    async def test() -> None:
        async with running() as client:
            other = asyncio.create_task(drawn(client, ask("other", max_tokens=40)))
            (refused,) = await collect(client, ask("no", first=REFUSE, n=3))
            assert (refused.finish_reason, refused.error.status) == ("error", 400)
            assert refused.error.code == "context_length_exceeded"
            (failed,) = await collect(client, ask("bug", first=RAISE_IN_ADD))
            assert (failed.finish_reason, failed.error.status) == ("error", 500)
            assert "a bug in add" in str(failed.error)
            assert len(await other) == 40
            assert client.num_restarts == 0

    run(test)


def test_values_that_cannot_travel_are_refused_and_harm_nobody() -> None:
    async def test() -> None:
        async with running() as client:
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

    run(test)


def test_an_id_in_use_is_refused() -> None:
    async def test() -> None:
        async with running() as client:
            stream = client.generate(ask("twin", max_tokens=ENDLESS))
            await anext(stream)
            with pytest.raises(InvalidRequest, match="twin"):
                await collect(client, ask("twin"))
            await anext(stream)  # the first one is not disturbed
            await stream.aclose()

    run(test)


def test_a_killed_engine_is_seen_at_once_and_restarted() -> None:
    async def test() -> None:
        async with running() as client:
            streams = [client.generate(ask(f"s{i}", max_tokens=ENDLESS)) for i in range(32)]
            await asyncio.gather(*(anext(stream) for stream in streams))
            first = client.pid
            assert first is not None
            os.kill(first, signal.SIGKILL)
            began = time.monotonic()

            async def drain(stream: AsyncIterator[TokenDelta]) -> None:
                async for _ in stream:
                    pass

            ends = await asyncio.gather(*map(drain, streams), return_exceptions=True)
            assert time.monotonic() - began < 1.0  # the promise of the design, not a measurement
            assert all(isinstance(end, EngineDied) for end in ends)
            assert "SIGKILL" in str(ends[0])
            assert client.state in (EngineState.DEAD, EngineState.STARTING)
            with pytest.raises(EngineUnavailable):
                await collect(client, ask("between"))
            await client.wait_ready(30)
            assert client.num_restarts == 1
            assert client.pid not in (first, None)
            assert await drawn(client, ask("s0", max_tokens=2)) == [10, 11]

    run(test)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_deaths_leave_nothing_behind() -> None:
    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def test() -> None:
        before = children()
        async with running() as client:
            counts = []
            for death in range(6):
                with pytest.raises(EngineDied):
                    await collect(client, ask(f"k{death}", first=KILL))
                await client.wait_ready(30)
                counts.append(descriptors())
                assert len(children() - before) == 1  # no zombie, no second engine
            assert counts[0] == counts[-1]
        assert children() <= before

    run(test)


@pytest.mark.parametrize(
    ("kind", "words"), [(CRASH, "a kernel failed"), (KILL, "SIGKILL")], ids=["raises", "killed"]
)
def test_a_step_that_fails_ends_all_and_is_survived(kind: int, words: str) -> None:
    async def test() -> None:
        async with running() as client:
            other = asyncio.create_task(collect(client, ask("other", max_tokens=ENDLESS)))
            await until(lambda: client.stats.num_running == 1)
            with pytest.raises(EngineDied, match=words):
                await collect(client, ask("bad", first=kind))
            with pytest.raises(EngineDied, match=words):
                await other
            await client.wait_ready(30)
            assert await drawn(client, ask("next", max_tokens=1)) == [10]

    run(test)


def test_a_hung_step_is_told_from_a_long_one(capfd: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        async with running(stall_s=1.0) as client:
            # Each step takes 0.4 s: longer altogether than the limit, which is for one step.
            assert len(await drawn(client, ask("long", first=SLOW_STEP, max_tokens=4))) == 4
            assert client.num_restarts == 0
            with pytest.raises(EngineDied, match="no step was finished for 1 s"):
                await collect(client, ask("hung", first=HANG))
            await client.wait_ready(30)
            assert client.num_restarts == 1
            assert await drawn(client, ask("next", max_tokens=1)) == [10]

    run(test)
    assert "_act_in_step" in capfd.readouterr().err  # the stack of the hung step


def test_callers_that_leave_early_do_not_hide_a_hung_engine() -> None:
    """Each leaves before the limit; together they wait much longer than it."""

    async def leave_early(client: ProcessClient, request: GenerationRequest) -> None:
        with contextlib.suppress(TimeoutError, EngineUnavailable):
            await asyncio.wait_for(collect(client, request), 0.4)

    async def test() -> None:
        async with running(stall_s=1.0) as client:
            await leave_early(client, ask("hung", first=HANG))
            for number in range(60):
                if client.num_restarts:
                    break
                await leave_early(client, ask(f"r{number}"))
                await asyncio.sleep(0.05)
            await client.wait_ready(30)
            assert client.num_restarts == 1
            assert await drawn(client, ask("next", max_tokens=1)) == [10]

    run(test)


def test_an_engine_that_left_early_callers_only_does_not_count_as_hung() -> None:
    """What is aborted before its first step is acknowledged too."""

    async def test() -> None:
        async with running(stall_s=0.3) as client:
            for number in range(5):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(collect(client, ask(f"r{number}")), 0)
                await client.abort("nobody")
            await asyncio.sleep(1.0)
            assert client.num_restarts == 0
            assert client.state is EngineState.READY

    run(test)


def test_a_load_that_hangs_after_a_death_is_ended(tmp_path: Path) -> None:
    loads = tmp_path / "loads"

    async def test() -> None:
        async with running(f"slowly-again:{loads}", stall_s=1.0) as client:
            with pytest.raises(EngineDied):
                await collect(client, ask("bad", first=KILL))
            await until(lambda: client.num_restarts >= 2)
            assert "not loaded again within" in client.state_reason

    run(test)


def test_an_idle_engine_does_not_count_as_hung() -> None:
    async def test() -> None:
        async with running(stall_s=0.1) as client:
            assert await drawn(client, ask("a", max_tokens=1)) == [10]
            await asyncio.sleep(0.5)
            assert client.state is EngineState.READY
            assert client.num_restarts == 0

    run(test)


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        ("missing", ModelNotFound, "there is no model 'missing'"),
        ("broken", StartupError, "RuntimeError: the loader has a bug"),
        ("killed", StartupError, "while it was starting, .* SIGKILL, perhaps .* out of memory"),
    ],
)
def test_an_engine_that_cannot_start_is_not_started_again(
    model: str, kind: type[StartupError], words: str
) -> None:
    async def test() -> None:
        async with running(model, ready=False) as client:
            with pytest.raises(kind, match=words):
                await client.wait_ready(10)
            assert client.state is EngineState.FAILED
            assert re.search(words, client.state_reason)
            with pytest.raises(EngineUnavailable, match=words):
                await collect(client, ask("a"))
            await asyncio.sleep(0.3)
            assert client.num_restarts == 0
        assert client.state is EngineState.FAILED

    run(test)


def test_restarts_that_fail_are_tried_again_with_growing_pauses(tmp_path: Path) -> None:
    async def test() -> None:
        loads = tmp_path / "loads"
        async with running(f"once:{loads}") as client:
            pid = client.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(lambda: client.num_restarts >= 3, 30)
            assert client.state in (EngineState.DEAD, EngineState.STARTING)
            loads.unlink()  # what stood in the way is gone
            await client.wait_ready(30)
            assert await drawn(client, ask("a", max_tokens=1)) == [10]

    run(test)


def test_an_engine_that_dies_when_it_is_ready_is_restarted_ever_later() -> None:
    async def test() -> None:
        async with running() as client:
            pauses = []
            for death in range(4):
                await client.wait_ready(30)
                assert client.pid is not None
                os.kill(client.pid, signal.SIGKILL)
                await until(lambda: client.state is EngineState.DEAD)
                began = time.monotonic()
                while client.num_restarts == death:
                    await asyncio.sleep(0.01)
                pauses.append(time.monotonic() - began)
            assert pauses[3] >= 4 * FIRST_BACK_OFF_S  # eight, but for what the test itself takes
            await client.wait_ready(30)
            assert await drawn(client, ask("a", max_tokens=1)) == [10]

    run(test)


def test_a_setting_that_cannot_be_sent_is_told_and_final() -> None:
    """Not a start that never ends: a folder's name may hold what is no character."""

    async def test() -> None:
        async with running("folder-\udcff", ready=False) as client:
            with pytest.raises(StartupError, match="no engine process could be started"):
                await client.wait_ready(10)
            assert client.state is EngineState.FAILED
            assert client.pid is None

    run(test)


def test_a_signal_to_all_processes_leaves_answers_to_be_finished() -> None:
    """Service managers send them to each process of a service; the parent drains."""

    async def test() -> None:
        async with running() as client:
            answer = asyncio.create_task(drawn(client, ask("a", max_tokens=50)))
            await until(lambda: client.stats.num_running == 1)
            assert client.pid is not None
            os.kill(client.pid, signal.SIGTERM)
            os.kill(client.pid, signal.SIGINT)
            assert await answer == list(range(10, 60))
            assert client.num_restarts == 0

    run(test)


def test_closing_while_it_starts_again_waits_for_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(f"slowly-again:{tmp_path / 'loads'}") as client:
            assert client.pid is not None
            os.kill(client.pid, signal.SIGKILL)
            await until(lambda: client.num_restarts == 1 and client.pid is not None, 30)
            began = time.monotonic()
            await client.close()
            assert time.monotonic() - began < SHUTDOWN_S  # which is for one that listens

    run(test)


def test_waiting_for_a_slow_start_ends_and_so_does_closing() -> None:
    async def test() -> None:
        async with running("slow", ready=False) as client:
            with pytest.raises(EngineStarting, match=r"within 0\.5 s"):
                await client.wait_ready(0.5)
            pid = client.pid
            assert pid is not None
        assert not alive(pid)

    run(test)


def test_closing_fails_what_is_in_flight_and_ends_the_process() -> None:
    async def test() -> None:
        async with running() as client:
            task = asyncio.create_task(collect(client, ask("a", max_tokens=ENDLESS)))
            await until(lambda: client.stats.num_running == 1)
            pid = client.pid
            assert pid is not None
            await client.close()
            await client.close()
            with pytest.raises(EngineDraining):
                await task
        assert not alive(pid)
        with pytest.raises(EngineUnavailable):
            await client.wait_ready(1)

    run(test)


def test_a_hung_engine_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.client.process.SHUTDOWN_S", 0.2)

    async def test() -> None:
        async with running() as client:
            task = asyncio.create_task(collect(client, ask("a", first=HANG)))
            await asyncio.sleep(0.1)
            pid = client.pid
            assert pid is not None
        with pytest.raises(EngineDraining):
            await task
        assert not alive(pid)

    run(test)


def test_the_process_ends_with_its_parent() -> None:
    script = textwrap.dedent(
        """
        import asyncio, sys
        from yaie.client.process import ProcessClient
        from yaie.config import EngineConfig
        from tests.client.test_process import WORKER, HANG, ask, collect

        async def main():
            client = ProcessClient(EngineConfig(model="scripted"), worker_module=WORKER)
            await client.start()
            await client.wait_ready(30)
            if sys.argv[1] == "busy":
                task = asyncio.create_task(collect(client, ask("h", first=HANG)))
            await asyncio.sleep(0.1)
            print(client.pid, flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """
    )
    for kind in ("idle", "busy"):
        parent = subprocess.Popen(
            [sys.executable, "-c", script, kind], stdout=subprocess.PIPE, text=True
        )
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
        parent.wait()
        parent.stdout.close()
        deadline = time.monotonic() + 5
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not alive(pid), kind


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_idle_engine_uses_no_processor_time() -> None:
    async def test() -> None:
        async with running() as client:
            await drawn(client, ask("warm"))
            assert client.pid is not None
            before, began = cpu_seconds(client.pid), time.monotonic()
            own = time.process_time()
            await asyncio.sleep(2)
            span = time.monotonic() - began
            assert (cpu_seconds(client.pid) - before) / span < 0.01
            assert (time.process_time() - own) / span < 0.01

    run(test)


def test_works_on_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def test() -> None:
        async with running() as client:
            assert await drawn(client, ask("a")) == [10, 11, 12, 13, 14]
            with pytest.raises(EngineDied):
                await collect(client, ask("k", first=KILL))
            await client.wait_ready(30)
            assert await drawn(client, ask("b", max_tokens=1)) == [10]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test())


def alive(pid: int) -> bool:
    """Whether the process runs; a dead one that nobody has waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
