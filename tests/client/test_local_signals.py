"""`LocalClient` in signal handlers: closing within a step, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client.asking import ENDLESS, ask
from tests.client.local_calls import Call, Core, drain, num_waiting, until
from yaie.base.errors import EngineUnavailable
from yaie.client.local_client import LocalClient, interrupts_held_back


@pytest.fixture
def closing_signal(client: LocalClient) -> Iterator[int]:
    """A signal; its handler closes the client."""
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
