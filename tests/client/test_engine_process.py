"""The engine process itself around a scripted core: signals, deaths, hangs, sockets, CPU time."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.client.asking import ENDLESS, ask, collect, drawn, generate, until
from tests.client.scripted_core import CRASH, HANG, HANGING, INFO, KILL, NOISY_HANG
from yaie.base.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    ModelNotFound,
    StartupError,
)
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineState
from yaie.client import engine_process
from yaie.client.engine_process import EngineProcess
from yaie.client.process_client import ProcessClient
from yaie.process import log_writer

pytestmark = pytest.mark.integration

WORKER = "tests.client.scripted_core"
SPAWN = partial(EngineProcess.spawn, module=WORKER)


@asynccontextmanager
async def running(
    model: str = "scripted", *, stall_s: float = 60.0, ready: bool = True
) -> AsyncIterator[ProcessClient]:
    client = ProcessClient(EngineConfig(model=model), stall_s=stall_s, spawn=SPAWN)
    try:
        await client.start()
        if ready:
            await client.wait_ready(30)
        yield client
    finally:
        await client.close()


async def test_a_process_answers_and_its_steps_are_shared() -> None:
    async with running() as client:
        assert client.info == INFO
        requests = [ask(f"r{i}", first=i, max_tokens=1 + i % 7) for i in range(300)]
        answers = await asyncio.gather(*(drawn(client, each) for each in requests))
        assert answers == [list(range(i, i + 1 + i % 7)) for i in range(300)]
        assert client.stats.num_steps < 300


async def test_a_warm_up_comes_before_ready_and_its_fault_is_that_of_the_start() -> None:
    spawn = partial(SPAWN, warms_up=True)
    client = ProcessClient(EngineConfig(model="scripted"), spawn=spawn)
    await client.start()
    assert (await client.wait_ready(30)).warm_up_s == 0.5
    await client.close()
    client = ProcessClient(EngineConfig(model="cold"), spawn=spawn)
    await client.start()
    with pytest.raises(StartupError, match="the warm-up failed: as asked"):
        await client.wait_ready(30)
    assert client.state is EngineState.FAILED
    await client.close()


@pytest.mark.parametrize("level", [0, 15, logging.WARNING])
async def test_a_process_starts_at_any_log_level_of_its_parent(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at one without a name."""
    monkeypatch.setattr(engine_process.logger, "level", level)
    monkeypatch.setattr(engine_process.logger, "parent", None)
    assert engine_process.logger.getEffectiveLevel() == level
    async with running() as client:
        assert await drawn(client, ask("a")) == [10, 11, 12, 13, 14]


async def test_a_killed_process_is_seen_and_restarted() -> None:
    async with running() as client:
        streams = [generate(client, ask(f"s{i}", max_tokens=ENDLESS)) for i in range(32)]
        await asyncio.gather(*(anext(stream) for stream in streams))
        first = client.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        async def drain(stream: object) -> None:
            async for _ in stream:  # type: ignore[attr-defined]
                pass

        ends = await asyncio.gather(*map(drain, streams), return_exceptions=True)
        assert all(isinstance(end, EngineDied) for end in ends)
        assert "SIGKILL" in str(ends[0])
        await client.wait_ready(30)
        assert client.num_restarts == 1
        assert client.pid not in (first, None)
        assert await drawn(client, ask("s0", max_tokens=2)) == [10, 11]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_many_deaths_leave_nothing_behind() -> None:
    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

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


async def test_a_step_that_raises_is_reported_and_survived() -> None:
    async with running() as client:
        with pytest.raises(EngineDied, match="a kernel failed"):
            await collect(client, ask("bad", first=CRASH))
        await client.wait_ready(30)
        assert await drawn(client, ask("next", max_tokens=1)) == [10]


async def test_a_hung_process_shows_its_stacks_and_is_killed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with running(stall_s=1.0) as client:
        with pytest.raises(EngineDied, match="gave no sign of life for 1 s"):
            await collect(client, ask("hung", first=NOISY_HANG))
        await client.wait_ready(30)
        assert client.num_restarts == 1
    log_writer.writer_of(2).flush(30)
    stderr = capfd.readouterr().err
    assert HANGING in stderr
    assert "_act_in_step" in stderr


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        ("missing", ModelNotFound, "there is no model 'missing'"),
        ("broken", StartupError, "RuntimeError: the loader has a bug"),
        ("killed", StartupError, "while it was starting, .* SIGKILL, perhaps .* out of memory"),
    ],
)
async def test_a_start_that_fails_says_why(
    model: str, kind: type[StartupError], words: str
) -> None:
    async with running(model, ready=False) as client:
        with pytest.raises(kind, match=words):
            await client.wait_ready(30)
        assert client.state is EngineState.FAILED
        assert re.search(words, client.state_reason)
        with pytest.raises(EngineUnavailable, match=words):
            await collect(client, ask("a"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_first_load_that_hangs_fails_the_start() -> None:
    async with running("slow", stall_s=3.0, ready=False) as client:
        with pytest.raises(StartupError, match="the load of the model did no work for 3 s"):
            await client.wait_ready(50)
        assert client.state is EngineState.FAILED


async def test_a_setting_that_cannot_be_sent_is_final() -> None:
    """A folder's name may hold bytes that are no character."""
    async with running("folder-\udcff", ready=False) as client:
        with pytest.raises(StartupError, match="no engine process could be started"):
            await client.wait_ready(30)
        assert client.state is EngineState.FAILED
        assert client.pid is None


async def test_restarts_that_fail_go_on_until_one_succeeds(tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    async with running(f"once:{loads}") as client:
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        await until(lambda: client.num_restarts >= 3)
        assert client.state in (EngineState.DEAD, EngineState.STARTING)
        loads.unlink()  # the obstacle is gone
        await client.wait_ready(30)
        assert await drawn(client, ask("a", max_tokens=1)) == [10]


async def test_a_signal_to_all_processes_leaves_answers_to_be_finished() -> None:
    """Service managers send them to each process of a service; the parent drains."""
    async with running() as client:
        answer = asyncio.create_task(drawn(client, ask("a", max_tokens=50)))
        await until(lambda: client.stats.num_running == 1)
        assert client.pid is not None
        os.kill(client.pid, signal.SIGTERM)
        os.kill(client.pid, signal.SIGINT)
        assert await answer == list(range(10, 60))
        assert client.num_restarts == 0


async def test_a_process_that_loads_for_ever_can_be_closed() -> None:
    async with running("slow", ready=False) as client:
        await until(lambda: client.pid is not None)
        with pytest.raises(EngineStarting):
            await client.wait_ready(0.1)
        pid = client.pid
    assert pid is not None and not alive(pid)


async def test_closing_ends_the_process() -> None:
    async with running() as client:
        task = asyncio.create_task(collect(client, ask("a", max_tokens=ENDLESS)))
        await until(lambda: client.stats.num_running == 1)
        pid = client.pid
        await client.close()
        with pytest.raises(EngineDraining):
            await task
    assert pid is not None and not alive(pid)


async def test_a_hung_process_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.client.process_client.SHUTDOWN_S", 0.2)
    async with running() as client:
        task = asyncio.create_task(collect(client, ask("a", first=HANG)))
        await asyncio.sleep(0)
        pid = client.pid
    with pytest.raises(EngineDraining):
        await task
    assert pid is not None and not alive(pid)


@pytest.mark.parametrize("is_killed", [False, True])
async def test_children_of_the_process_end_with_it(tmp_path: Path, is_killed: bool) -> None:
    told = tmp_path / "child"
    async with running(f"compiling:{told}") as client:
        child = int(told.read_text())
        assert alive(child)
        if is_killed:
            assert client.pid is not None
            os.kill(client.pid, signal.SIGKILL)
            await until(lambda: not alive(child))
    await until(lambda: not alive(child))


@pytest.mark.parametrize("kind", ["idle", "busy"])
def test_the_process_ends_with_its_parent(kind: str) -> None:
    script = textwrap.dedent(
        """
        import asyncio, sys
        from yaie.client.process_client import ProcessClient
        from yaie.base.settings import EngineConfig
        from tests.client.asking import ask, collect
        from tests.client.scripted_core import NOISY_HANG
        from tests.client.test_engine_process import SPAWN

        async def main():
            client = ProcessClient(EngineConfig(model="scripted"), spawn=SPAWN)
            await client.start()
            await client.wait_ready(30)
            print(client.pid, flush=True)
            if sys.argv[1] == "busy":
                await collect(client, ask("h", first=NOISY_HANG))
            print("idle", file=sys.stderr, flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None and parent.stderr is not None
    pid = int(parent.stdout.readline())
    for line in parent.stderr:
        if line.strip() in ("idle", HANGING):
            break
    assert alive(pid)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(pid)
    parent.stdout.close()
    parent.stderr.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_an_idle_process_sleeps() -> None:
    """It is not scheduled without work."""
    async with running() as client:
        await drawn(client, ask("warm"))
        assert client.pid is not None
        await until(lambda: state_of(client.pid) == "S")
        before = num_switches(client.pid)
        await asyncio.sleep(0.5)
        assert num_switches(client.pid) - before <= 1
        assert state_of(client.pid) == "S"


def test_works_on_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def use() -> None:
        async with running() as client:
            assert await drawn(client, ask("a")) == [10, 11, 12, 13, 14]
            with pytest.raises(EngineDied):
                await collect(client, ask("k", first=KILL))
            await client.wait_ready(30)
            assert await drawn(client, ask("b", max_tokens=1)) == [10]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use())


def alive(pid: int) -> bool:
    """Return True if the process runs; a zombie does not."""
    try:
        return state_of(pid) != "Z"
    except FileNotFoundError:
        return False


def state_of(pid: int | None) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def num_switches(pid: int | None) -> int:
    """Number of times that the threads of a process slept and were woken."""
    counts = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text()
        counts += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)[1])  # type: ignore[index]
    return counts
