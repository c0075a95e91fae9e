"""The client of `LLM` around a scripted core: stepping threads, errors, closing, Ctrl-C."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client.asking import ENDLESS, ask
from tests.client.local_calls import Call, Core, drain, until
from tests.client.scripted_core import CRASH, RAISE_IN_ADD, REFUSE
from yaie.base.errors import EngineDied, EngineUnavailable, InvariantViolated, RequestError
from yaie.base.types import TokenDelta
from yaie.client.local_client import LocalClient

# -- stepping -----------------------------------------------------------------------------------


def test_requests_of_one_call_run_in_the_same_steps(client: LocalClient, core: Core) -> None:
    drawn = drain(client, *(ask(f"r{i}", first=i, max_tokens=3) for i in range(20)))
    assert drawn == {f"r{i}": [i, i + 1, i + 2] for i in range(20)}
    assert client.stats.num_steps == len(core.steppers) == 3


def test_statistics_follow_every_step(client: LocalClient, core: Core) -> None:
    call = Call(client, ask("a", max_tokens=ENDLESS))
    for number in (1, 2, 3):
        call.take()
        assert client.stats.num_steps == number
    call.take()
    client.close()
    assert client.stats.num_steps == len(core.steppers) == 4


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
    """Its last look is answered without a step."""
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
    with pytest.raises(EngineDied, match="create a new LLM"):
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


def test_a_sink_that_raises_harms_no_other_request(client: LocalClient, core: Core) -> None:
    def fail(delta: TokenDelta) -> None:
        raise KeyError("a bug in a sink")

    bad = client.prepare(ask("bad", max_tokens=ENDLESS), fail)
    client.send([bad])
    assert drain(client, ask("good", max_tokens=3)) == {"good": [10, 11, 12]}
    assert not bad.is_open
    assert core.stats.num_aborted == 1
    assert len(core.steppers) == 3
