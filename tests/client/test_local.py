"""The client of `LLM` around a scripted core: who steps, who gets errors, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client.asking import ENDLESS, ask
from tests.client.scripted_core import CRASH, RAISE_IN_ADD, REFUSE, ScriptedCore
from yaie.client.local import LocalClient, interrupts_held_back
from yaie.config import EngineConfig
from yaie.errors import EngineDied, EngineUnavailable, InvariantViolated, RequestError
from yaie.types import GenerationRequest, TokenDelta


class Core(ScriptedCore):
    """Notes the threads that step, and can act in the middle of a step."""

    def __init__(self) -> None:
        super().__init__(EngineConfig(model="scripted"))
        self.step_s = 0
        self.steppers: list[int] = []
        self.in_step: Callable[[], None] = lambda: None
        self._busy = threading.Lock()

    def step(self) -> list[TokenDelta]:
        assert self._busy.acquire(blocking=False), "two threads step at once"
        try:
            self.steppers.append(threading.get_ident())
            self.in_step()
            return super().step()
        finally:
            self._busy.release()


class Call:
    """Requests of one caller and the deltas that it has not taken yet."""

    def __init__(self, client: LocalClient, *requests: GenerationRequest) -> None:
        self._client = client
        self._arrived: deque[TokenDelta] = deque()
        self.submissions = [client.prepare(each, self._arrived.append) for each in requests]
        client.send(self.submissions)

    def take(self) -> list[TokenDelta]:
        """Wait for deltas; empty once all requests have ended."""
        if any(submission.is_open for submission in self.submissions):
            self._client.wait_until(lambda: self._arrived)
        taken = []
        while self._arrived:
            taken.append(self._arrived.popleft())
        return taken

    def take_all(self) -> list[TokenDelta]:
        taken = []
        while deltas := self.take():
            taken += deltas
        return taken

    def close(self) -> None:
        self._client.close_submissions(self.submissions)


def drain(client: LocalClient, *requests: GenerationRequest) -> dict[str, list[int]]:
    call = Call(client, *requests)
    drawn: dict[str, list[int]] = {request.request_id: [] for request in requests}
    for delta in call.take_all():
        drawn[delta.request_id] += delta.token_ids
    call.close()
    return drawn


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def num_waiting(client: LocalClient) -> int:
    """Number of threads that wait for another thread's step."""
    return len(client._changed._waiters)  # type: ignore[attr-defined]


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def client(core: Core) -> Iterator[LocalClient]:
    client = LocalClient(core)
    yield client
    client.close()


# -- stepping -----------------------------------------------------------------------------------


def test_requests_of_one_call_run_in_the_same_steps(client: LocalClient, core: Core) -> None:
    drawn = drain(client, *(ask(f"r{i}", first=i, max_tokens=3) for i in range(20)))
    assert drawn == {f"r{i}": [i, i + 1, i + 2] for i in range(20)}
    assert client.stats.num_steps == len(core.steppers) == 3


def test_an_empty_call_computes_nothing(client: LocalClient, core: Core) -> None:
    assert drain(client) == {}
    assert core.steppers == []


def test_threads_share_steps_and_one_steps_at_a_time(client: LocalClient, core: Core) -> None:
    gate = threading.Barrier(8)
    core.step_s = 0.002  # so that the threads meet

    def call(i: int) -> dict[str, list[int]]:
        gate.wait()
        return drain(client, *(ask(f"{i}-{k}", first=i + k, max_tokens=20) for k in range(5)))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(8)))
    for i, drawn in enumerate(answers):
        assert drawn == {f"{i}-{k}": list(range(i + k, i + k + 20)) for k in range(5)}
    assert len(core.steppers) < 8 * 20


def test_a_finished_call_returns_while_others_go_on(client: LocalClient, core: Core) -> None:
    """Its last look needs no step, so it waits for none."""
    core.step_s = 0.002
    stop = threading.Event()

    def keep_busy() -> None:
        call = Call(client, ask("long", max_tokens=ENDLESS))
        while not stop.is_set():
            call.take()
        call.close()

    with ThreadPoolExecutor(2) as pool:
        busy = pool.submit(keep_busy)
        until(lambda: core.steppers)
        short = pool.submit(drain, client, ask("short", max_tokens=3))
        try:
            assert short.result(timeout=30) == {"short": [10, 11, 12]}
        finally:
            stop.set()
        busy.result(timeout=30)


# -- ends of requests ---------------------------------------------------------------------------


def test_closing_ends_running_requests_within_one_step(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS, n=2), ask("b", max_tokens=1))
    call.take()
    call.close()
    assert core.stats.num_aborted == 2
    assert not core.has_work
    assert call.take() == []
    assert len(core.steppers) == 2
    call.submissions[0].close()  # safe to repeat
    assert len(core.steppers) == 2


def test_one_submission_can_be_closed_alone(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS), ask("b", max_tokens=3))
    call.take()
    call.submissions[0].close()
    assert core.stats.num_aborted == 1
    assert {delta.request_id for delta in call.take_all()} == {"b"}


def test_closing_after_the_end_computes_nothing(client: LocalClient, core: Core) -> None:
    drain(client, ask("a", max_tokens=3))
    assert len(core.steppers) == 3


def test_an_aborted_sequence_ends_and_the_others_go_on(client: LocalClient) -> None:
    call = Call(client, ask("a", n=3, max_tokens=5))
    deltas = call.take()
    call.submissions[0].abort(1)
    deltas += call.take_all()
    ends = {delta.index: delta.finish_reason for delta in deltas if delta.finish_reason}
    assert ends == {0: "length", 1: "abort", 2: "length"}


@pytest.mark.parametrize(("kind", "status"), [(REFUSE, 400), (RAISE_IN_ADD, 500)])
def test_a_refusal_is_the_requests_own(client: LocalClient, kind: int, status: int) -> None:
    call = Call(client, ask("bad", first=kind, n=2), ask("good", max_tokens=3))
    deltas = call.take_all()
    (refused,) = [delta for delta in deltas if delta.request_id == "bad"]
    assert (refused.finish_reason, refused.error.status) == ("error", status)
    assert [t for d in deltas if d.request_id == "good" for t in d.token_ids] == [10, 11, 12]


def test_an_error_of_one_sequence_ends_the_whole_request(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", n=2, max_tokens=ENDLESS))
    core._outcomes.append(
        TokenDelta(
            request_id="a",
            submission=call.submissions[0].request.submission,
            index=0,
            finish_reason="error",
            error=RequestError("broken"),
        )
    )
    assert [delta.finish_reason for delta in call.take_all()] == ["error"]
    assert client.stats.num_running == 0
    assert drain(client, ask("next", max_tokens=1)) == {"next": [10]}


# -- faults of the engine -----------------------------------------------------------------------


def test_a_step_that_fails_is_the_end_of_the_client(client: LocalClient) -> None:
    call = Call(client, ask("bad", first=CRASH))
    with pytest.raises(EngineDied, match="a kernel failed"):
        call.take()
    call.close()
    with pytest.raises(EngineDied, match="make a new one"):
        Call(client, ask("next"))


def test_every_thread_gets_the_error_of_a_failed_step(client: LocalClient, core: Core) -> None:
    both_wait = threading.Barrier(2, timeout=30)

    def call(name: str) -> str:
        call = Call(client, ask(name, max_tokens=ENDLESS))
        both_wait.wait()
        try:
            while call.take():
                if len(core.steppers) > 5:
                    core.in_step = fail
        except EngineDied as error:
            return str(error)
        return "ended"

    def fail() -> None:
        raise RuntimeError("a kernel failed")

    with ThreadPoolExecutor(2) as pool:
        assert all("a kernel failed" in end for end in pool.map(call, "ab"))


def test_an_engine_that_forgets_a_request_is_detected(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS))
    call.take()
    core._drawn.clear()
    with pytest.raises(InvariantViolated):
        call.take()


# -- closing the client -------------------------------------------------------------------------


def test_a_closed_client_raises(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS))
    call.take()
    client.close()
    client.close()
    assert core.closed
    with pytest.raises(EngineUnavailable, match="closed"):
        call.take()
    call.close()
    with pytest.raises(EngineUnavailable, match="closed"):
        Call(client, ask("b"))


@pytest.fixture
def closing_signal(client: LocalClient) -> Iterator[int]:
    """A signal with a handler that closes the client."""
    before = signal.signal(signal.SIGTERM, lambda signum, frame: client.close())
    yield signal.SIGTERM
    signal.signal(signal.SIGTERM, before)


@pytest.mark.timeout(30)
def test_closed_within_its_own_step_it_ends_the_step_first(
    client: LocalClient, core: Core, closing_signal: int
) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS))
    call.take()
    closed_in_step: list[bool] = []

    def in_step() -> None:
        signal.raise_signal(closing_signal)
        client.close()  # safe to repeat
        closed_in_step.append(core.closed)

    core.in_step = in_step
    (delta,) = call.take()
    assert delta.token_ids == (11,)
    assert closed_in_step == [False] and core.closed
    with pytest.raises(EngineUnavailable, match="closed"):
        call.take()
    call.close()
    client.close()


@pytest.mark.timeout(30)
def test_a_handler_that_closes_and_exits_leaves_a_closed_core(
    client: LocalClient, core: Core
) -> None:
    def close_and_exit() -> None:
        client.close()
        raise SystemExit(3)

    call = Call(client, ask("a", max_tokens=ENDLESS))
    core.in_step = close_and_exit
    with pytest.raises(SystemExit):
        call.take()
    call.close()
    assert core.closed


@pytest.mark.timeout(60)
def test_closed_during_the_step_of_another_thread_it_waits(
    client: LocalClient, core: Core, closing_signal: int
) -> None:
    stepping, closing = threading.Event(), threading.Event()

    def in_step() -> None:
        stepping.set()
        closing.wait(30)

    def call_other() -> str:
        with pytest.raises(EngineUnavailable) as refusal:
            drain(client, ask("other", max_tokens=ENDLESS))
        return str(refusal.value)

    def close() -> None:
        until(lambda: num_waiting(client) == 1)  # the main thread, for the step
        signal.pthread_kill(threading.main_thread().ident or 0, closing_signal)
        until(lambda: num_waiting(client) == 2)  # its handler too
        closing.set()

    core.in_step = in_step
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(call_other)
        assert stepping.wait(30)
        call = Call(client, ask("mine", max_tokens=ENDLESS))
        closer = pool.submit(close)
        with pytest.raises(EngineUnavailable, match="closed"):
            call.take()
        closer.result(30)
        assert "closed" in other.result(30)
    assert core.closed
    assert core.stats.num_steps == 1  # it did not begin another one


# -- Ctrl-C -------------------------------------------------------------------------------------


def test_an_interrupt_waits_for_the_step(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS))
    call.take()
    core.in_step = lambda: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        call.take()
    core.in_step = lambda: None
    assert core.stats.num_steps == 2  # the interrupted step was finished
    call.close()
    assert not core.has_work
    assert drain(client, ask("next", max_tokens=3)) == {"next": [10, 11, 12]}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_reaches_a_thread_that_waits_for_another(
    client: LocalClient, core: Core
) -> None:
    stepping, interrupted = threading.Event(), threading.Event()

    def in_step() -> None:
        stepping.set()
        interrupted.wait(30)

    def interrupt() -> None:
        until(lambda: num_waiting(client) == 1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        interrupted.set()

    core.in_step = in_step
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(drain, client, ask("other", max_tokens=50))
        assert stepping.wait(30)
        call = Call(client, ask("mine", max_tokens=ENDLESS))
        interrupter = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            call.take_all()
        call.close()
        interrupter.result(30)
        assert len(other.result(30)["other"]) == 50


def test_a_program_that_handles_interrupts_itself_keeps_its_handler() -> None:
    hits: list[int] = []
    before = signal.signal(signal.SIGINT, lambda signum, frame: hits.append(signum))
    try:
        with interrupts_held_back() as held:
            signal.raise_signal(signal.SIGINT)
            assert hits == [signal.SIGINT]
            assert not held.interrupted
    finally:
        signal.signal(signal.SIGINT, before)
