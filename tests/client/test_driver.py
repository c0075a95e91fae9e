"""The driver around a scripted core: who steps, who is told, and what a Ctrl-C may break."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client.scripted_core import CRASH, RAISE_IN_ADD, REFUSE, ScriptedCore
from yaie.client.driver import Inbox, StepDriver, interrupts_held_back
from yaie.config import EngineConfig
from yaie.errors import EngineDied, EngineUnavailable, InvariantViolated, RequestError
from yaie.types import GenerationRequest, SamplingParams, TokenDelta

ENDLESS = 100_000


class Core(ScriptedCore):
    """Notes who steps, and can do something in the middle of a step."""

    def __init__(self) -> None:
        super().__init__(EngineConfig(model="scripted"))
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


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def driver(core: Core) -> Iterator[StepDriver]:
    driver = StepDriver(core)
    yield driver
    driver.close()


def ask(request_id: str, first: int = 10, max_tokens: int = 3, n: int = 1) -> GenerationRequest:
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=(first,),
        sampling=SamplingParams(max_tokens=max_tokens, n=n),
    )


def drain(driver: StepDriver, *requests: GenerationRequest) -> dict[str, list[int]]:
    inbox = Inbox()
    driver.submit(inbox, requests)
    drawn: dict[str, list[int]] = {request.request_id: [] for request in requests}
    while deltas := driver.take(inbox):
        for delta in deltas:
            drawn[delta.request_id] += delta.token_ids
    driver.release(inbox)
    return drawn


def test_requests_of_one_call_run_in_the_same_steps(driver: StepDriver, core: Core) -> None:
    drawn = drain(driver, *(ask(f"r{i}", first=i) for i in range(20)))
    assert drawn == {f"r{i}": [i, i + 1, i + 2] for i in range(20)}
    assert driver.stats.num_steps == len(core.steppers) == 3


def test_nothing_is_stepped_for_an_empty_call(driver: StepDriver, core: Core) -> None:
    assert driver.take(Inbox()) == []
    assert drain(driver) == {}
    assert core.steppers == []


def test_threads_share_steps_and_one_steps_at_a_time(driver: StepDriver, core: Core) -> None:
    gate = threading.Barrier(8)

    def call(i: int) -> dict[str, list[int]]:
        gate.wait()
        return drain(driver, *(ask(f"{i}-{k}", first=i + k, max_tokens=20) for k in range(5)))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(8)))
    for i, drawn in enumerate(answers):
        assert drawn == {f"{i}-{k}": list(range(i + k, i + k + 20)) for k in range(5)}
    assert len(core.steppers) < 8 * 20  # they ran beside each other


def test_a_finished_call_returns_while_others_go_on(driver: StepDriver, core: Core) -> None:
    """Its last look takes nothing more from a step, so it waits for none."""
    core.in_step = lambda: time.sleep(0.002)
    stop = threading.Event()

    def keep_busy() -> None:
        inbox = Inbox()
        driver.submit(inbox, [ask("long", max_tokens=ENDLESS)])
        while not stop.is_set():
            driver.take(inbox)
        driver.release(inbox)

    with ThreadPoolExecutor(2) as pool:
        busy = pool.submit(keep_busy)
        while not core.steppers:
            time.sleep(0.001)
        short = pool.submit(drain, driver, ask("short"))
        try:
            assert short.result(timeout=20) == {"short": [10, 11, 12]}
        finally:
            stop.set()
        busy.result(timeout=20)


def test_release_ends_what_runs_within_one_step(driver: StepDriver, core: Core) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", max_tokens=ENDLESS, n=2), ask("b", max_tokens=1)])
    driver.take(inbox)
    driver.release(inbox)
    assert core.stats.num_aborted == 2
    assert not core.has_work
    assert driver.take(inbox) == []


def test_release_after_the_end_computes_nothing(driver: StepDriver, core: Core) -> None:
    drain(driver, ask("a"))
    assert len(core.steppers) == 3


def test_an_aborted_sequence_ends_and_its_sisters_go_on(driver: StepDriver) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", n=3, max_tokens=5)])
    deltas = driver.take(inbox)
    driver.abort("a", 1)
    driver.abort("unknown")
    while more := driver.take(inbox):
        deltas += more
    ends = {delta.index: delta.finish_reason for delta in deltas if delta.finish_reason}
    assert ends == {0: "length", 1: "abort", 2: "length"}


@pytest.mark.parametrize(("kind", "status"), [(REFUSE, 400), (RAISE_IN_ADD, 500)])
def test_a_refusal_is_the_requests_own(driver: StepDriver, kind: int, status: int) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("bad", first=kind, n=2), ask("good")])
    deltas: list[TokenDelta] = []
    while more := driver.take(inbox):
        deltas += more
    (refused,) = [delta for delta in deltas if delta.request_id == "bad"]
    assert (refused.finish_reason, refused.error.status) == ("error", status)
    assert [t for d in deltas if d.request_id == "good" for t in d.token_ids] == [10, 11, 12]


def test_an_error_of_one_sequence_ends_the_whole_request(driver: StepDriver, core: Core) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", n=2, max_tokens=ENDLESS)])
    core._outcomes.append(
        TokenDelta(
            request_id="a", index=0, finish_reason="error", error=RequestError("a kernel failed")
        )
    )
    while driver.take(inbox):
        pass
    driver.release(inbox)
    assert core.stats.num_running == 0  # the other sequence was ended too
    drain(driver, ask("next"))


def test_a_step_that_fails_ends_the_driver(driver: StepDriver) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("bad", first=CRASH)])
    with pytest.raises(EngineDied, match="a kernel failed"):
        driver.take(inbox)
    driver.release(inbox)
    with pytest.raises(EngineDied, match="make a new one"):
        driver.submit(Inbox(), [ask("next")])


def test_a_failing_step_is_told_to_all_threads(driver: StepDriver, core: Core) -> None:
    both_wait = threading.Barrier(2, timeout=30)

    def call(name: str) -> str:
        inbox = Inbox()
        driver.submit(inbox, [ask(name, max_tokens=ENDLESS)])
        both_wait.wait()
        try:
            while driver.take(inbox):
                if len(core.steppers) > 5:
                    core.in_step = fail
        except EngineDied as error:
            return str(error)
        return "ended"

    def fail() -> None:
        raise RuntimeError("a kernel failed")

    with ThreadPoolExecutor(2) as pool:
        assert all("a kernel failed" in end for end in pool.map(call, "ab"))


def test_a_closed_driver_says_so(driver: StepDriver, core: Core) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", max_tokens=ENDLESS)])
    driver.take(inbox)
    driver.close()
    driver.close()
    assert core.closed
    with pytest.raises(EngineUnavailable, match="closed"):
        driver.take(inbox)
    driver.release(inbox)
    with pytest.raises(EngineUnavailable, match="closed"):
        driver.submit(Inbox(), [ask("b")])


@pytest.fixture
def closing_signal(driver: StepDriver) -> Iterator[int]:
    """A signal whose handler closes the driver."""
    before = signal.signal(signal.SIGTERM, lambda signum, frame: driver.close())
    yield signal.SIGTERM
    signal.signal(signal.SIGTERM, before)


@pytest.mark.timeout(30)
def test_closed_in_the_middle_of_its_own_step_it_ends_the_step_first(
    driver: StepDriver, core: Core, closing_signal: int
) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", max_tokens=ENDLESS)])
    driver.take(inbox)
    closed_in_step: list[bool] = []

    def in_step() -> None:
        signal.raise_signal(closing_signal)
        driver.close()  # safe to repeat
        closed_in_step.append(core.closed)

    core.in_step = in_step
    (delta,) = driver.take(inbox)
    assert delta.token_ids == (11,)
    assert closed_in_step == [False] and core.closed
    with pytest.raises(EngineUnavailable, match="closed"):
        driver.take(inbox)
    driver.release(inbox)
    driver.close()


@pytest.mark.timeout(30)
def test_a_handler_that_closes_and_exits_leaves_a_closed_core(
    driver: StepDriver, core: Core
) -> None:
    def close_and_exit() -> None:
        driver.close()
        raise SystemExit(3)

    inbox = Inbox()
    driver.submit(inbox, [ask("a", max_tokens=ENDLESS)])
    core.in_step = close_and_exit
    with pytest.raises(SystemExit):
        driver.take(inbox)
    driver.release(inbox)
    assert core.closed


@pytest.mark.timeout(30)
def test_closed_while_another_thread_steps_it_waits_for_that_step(
    driver: StepDriver, core: Core, closing_signal: int
) -> None:
    stepping, closing = threading.Event(), threading.Event()

    def in_step() -> None:
        stepping.set()
        closing.wait(10)

    def call_other() -> str:
        with pytest.raises(EngineUnavailable) as refusal:
            drain(driver, ask("other", max_tokens=ENDLESS))
        return str(refusal.value)

    def close() -> None:
        threading.Timer(0.1, closing.set).start()  # once the handler waits
        signal.pthread_kill(threading.main_thread().ident or 0, closing_signal)

    core.in_step = in_step
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(call_other)
        stepping.wait(10)
        inbox = Inbox()
        driver.submit(inbox, [ask("mine", max_tokens=ENDLESS)])
        threading.Timer(0.1, close).start()
        with pytest.raises(EngineUnavailable, match="closed"):
            driver.take(inbox)
        assert "closed" in other.result(10)
    assert core.closed
    assert core.stats.num_steps == 1  # it did not begin another one


def test_an_engine_that_forgets_a_request_is_found_out(driver: StepDriver, core: Core) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", max_tokens=ENDLESS)])
    driver.take(inbox)
    core._drawn.clear()
    with pytest.raises(InvariantViolated):
        driver.take(inbox)


def test_an_interrupt_waits_for_the_step(driver: StepDriver, core: Core) -> None:
    inbox = Inbox()
    driver.submit(inbox, [ask("a", max_tokens=ENDLESS)])
    driver.take(inbox)
    core.in_step = lambda: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        driver.take(inbox)
    core.in_step = lambda: None
    assert core.stats.num_steps == 2  # the step that was hit was finished
    driver.release(inbox)
    assert not core.has_work
    assert drain(driver, ask("next")) == {"next": [10, 11, 12]}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_reaches_a_thread_that_waits_for_anothers_step(
    driver: StepDriver, core: Core
) -> None:
    stepping, interrupted = threading.Event(), threading.Event()

    def in_step() -> None:
        stepping.set()
        interrupted.wait(10)

    core.in_step = in_step
    other = threading.Thread(target=drain, args=(driver, ask("other", max_tokens=50)))
    other.start()
    stepping.wait(10)
    inbox = Inbox()
    driver.submit(inbox, [ask("mine", max_tokens=ENDLESS)])

    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)
        interrupted.set()

    timer = threading.Timer(0.1, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while driver.take(inbox):
            pass
    driver.release(inbox)
    other.join(30)
    assert not other.is_alive()


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
