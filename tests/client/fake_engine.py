"""An engine process without a process, and a clock that a test moves.

`FakeEngine` is a `Spawn`: its children run the worker's loop around a scripted core on the event
loop of the test, and every message goes through its wire form.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.client.scripted_core import ScriptedCore
from yaie.base.cache_changes import CacheChange
from yaie.base.errors import StartupError
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineState
from yaie.client import worker
from yaie.client.process_client import ProcessClient
from yaie.client.wire import (
    Deltas,
    Failed,
    Ping,
    Ready,
    Shutdown,
    ToChild,
    ToParent,
    child_reader,
    encode,
    parent_reader,
)
from yaie.engine.loop import EngineLoop
from yaie.process.session_work import SessionWork


class ManualTimer:
    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualClock:
    """Time that stands still until `advance`."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, ManualTimer]] = []

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[[], object]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._timers, (self._now + delay, next(self._order), timer))
        return timer

    @property
    def pauses(self) -> list[float]:
        """Seconds until each timer is due."""
        return [due - self._now for due, _, timer in self._timers if not timer.is_cancelled]

    def advance(self, seconds: float) -> None:
        """Move on and call what is due, in order."""
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, due)
            if not timer.is_cancelled:
                timer.callback()
        self._now = end

    def jump(self, seconds: float) -> None:
        """Move on without a call, as for a process that was stopped."""
        self._now += seconds


class FakeChild:
    """Implements `EngineProcess` for `ProcessClient`."""

    def __init__(
        self, pid: int, config: EngineConfig, on_message: Callable[[ToParent], None]
    ) -> None:
        self.pid = pid
        self.failure: Failed | None = None
        self.sent: list[ToChild] = []
        self.hangs = False
        self.has_dumped_stacks = False
        self.num_beats = 0
        self.work: SessionWork | None = SessionWork(0.0, 0)
        self._config = config
        self._on_message = on_message
        self._in, self._out = child_reader(), parent_reader()
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._engine: EngineLoop | None = None
        self._is_stepping = False

    @property
    def core(self) -> ScriptedCore:
        assert self._engine is not None and isinstance(self._engine.core, ScriptedCore)
        return self._engine.core

    def load(self) -> None:
        try:
            core = ScriptedCore(self._config)
        except StartupError as error:
            self._fail(Failed(type(error).__name__, error.message, error.exit_code, error.param))
            return
        core.step_s = 0
        self._engine = EngineLoop(core)
        self._report(Ready(core.info, core.stats))

    def measure_work(self) -> SessionWork | None:
        return self.work

    def send(self, message: ToChild) -> None:
        if self._end.done():
            return
        for received in self._in.feed(encode(message)):
            self.sent.append(received)
            if isinstance(received, Shutdown):
                self.die("the engine process ended with exit status 0")
            elif self._engine is not None and not self.hangs:
                if (reply := worker._obey(self._engine, received)) is not None:
                    self._report(reply)
                if not isinstance(received, Ping):
                    self._step_soon()

    def die(self, cause: str = "the engine process was ended by signal SIGKILL") -> None:
        if not self._end.done():
            self._end.set_result(cause)

    kill = die

    async def ended(self) -> str:
        return await asyncio.shield(self._end)

    async def wait(self) -> None:
        await asyncio.shield(self._end)

    def dump_stacks(self) -> None:
        self.has_dumped_stacks = True

    def _fail(self, failure: Failed) -> None:
        self.failure = failure
        self.die(failure.message)

    def _report(self, message: ToParent) -> None:
        for received in self._out.feed(encode(message)):
            self._on_message(received)

    def _step_soon(self) -> None:
        if not self._is_stepping:
            self._is_stepping = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        self._is_stepping = False
        engine = self._engine
        if engine is None or self.hangs or self._end.done():
            return
        try:
            deltas = engine.step()
        except RuntimeError as error:
            self._fail(Failed("RuntimeError", f"RuntimeError: {error}", 70))
            return
        changes = engine.core.take_cache_changes()
        self._report(Deltas(deltas, engine.take_stats(time.monotonic()), changes))
        if engine.has_work:
            self._step_soon()


class FakeEngine:
    """Spawns fake children; `loads` is False while they are to be loading for ever."""

    def __init__(self) -> None:
        self.children: list[FakeChild] = []
        self.loads = True
        self.error: Exception | None = None  # raised by the next spawns
        self.may_spawn = asyncio.Event()  # cleared while spawning is to take for ever
        self.may_spawn.set()

    async def __call__(
        self, config: EngineConfig, on_message: Callable[[ToParent], None]
    ) -> FakeChild:
        await self.may_spawn.wait()
        if self.error is not None:
            raise self.error
        child = FakeChild(len(self.children) + 1, config, on_message)
        self.children.append(child)
        if self.loads:
            asyncio.get_running_loop().call_soon(child.load)
        return child

    @property
    def child(self) -> FakeChild:
        return self.children[-1]


async def settle() -> None:
    """Run all callbacks that are due now."""
    for _ in range(20):
        await asyncio.sleep(0)


class Bench:
    """A client over a fake engine, and the clock of both."""

    def __init__(self, model: str, stall_s: float) -> None:
        self.clock = ManualClock()
        self.engine = FakeEngine()
        self.cache_changes: list[CacheChange] = []
        self.client = ProcessClient(
            EngineConfig(model=model),
            stall_s=stall_s,
            spawn=self.engine,  # type: ignore[arg-type]
            clock=self.clock,
            on_cache_changes=self.cache_changes.extend,
        )

    async def restart(self, pause_s: float) -> None:
        """Let the pause before a restart pass and wait for the new engine."""
        await settle()
        assert self.client.state in (EngineState.DEAD, EngineState.STALLED)
        self.clock.advance(pause_s)
        await settle()


@asynccontextmanager
async def running(
    model: str = "scripted", *, stall_s: float = 60.0, ready: bool = True
) -> AsyncIterator[Bench]:
    bench = Bench(model, stall_s)
    try:
        await bench.client.start()
        if ready:
            await bench.client.wait_ready(30)
        yield bench
    finally:
        await bench.client.close()
