"""Ends of sequences: aborts in every state, errors of one sequence, stop tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.engine.fake_model import Bench, FakeSampling, continuation
from tests.engine.fake_model import make_prompt as prompt
from yaie.base.errors import LogitsNotFinite, YaieError
from yaie.base.types import GenerationRequest
from yaie.engine.request import Request, SequenceState
from yaie.engine.scheduled_step import SampledToken
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree


def waiting(bench: Bench) -> None:
    """Leave the request in the queue."""


def in_mid_prefill(bench: Bench) -> None:
    bench.step()
    assert not bench.answers[("r", 0)].tokens


def decoding(bench: Bench) -> None:
    while not bench.answers[("r", 0)].tokens:
        bench.step()


def preempted(bench: Bench) -> None:
    while all(seq.state is not SequenceState.SUSPENDED for seq in bench.sequences["r"]):
        assert bench.step() is not None


@pytest.mark.integration
@pytest.mark.parametrize("index", [None, 0, 1, 7, -1])
@pytest.mark.parametrize("until", [waiting, in_mid_prefill, decoding, preempted])
def test_abort_in_every_state(until: Callable[[Bench], None], index: int | None) -> None:
    is_preempted = until is preempted
    bench = Bench(num_slots=180 if is_preempted else 400, max_step_rows=16, max_running=16)
    bench.add("other", prompt(1, 30), max_new=100)
    bench.step()
    bench.step()
    bench.add("r", prompt(2, 40), max_new=100, n=2, salts=[1, 2])
    until(bench)
    bench.abort("r", index)
    ended = [bench.answers[("r", i)].last is not None for i in range(2)]
    assert ended == {None: [True, True], 0: [True, False], 1: [False, True]}.get(
        index, [False, False]
    )
    assert ("r" in bench.scheduler) == (index is not None)
    bench.abort("r", index)  # a second time: ignored
    bench.run()
    bench.expect("other", "length")
    bench.expect("r")
    assert bench.scheduler.stats.num_aborted == sum(ended)
    bench.abort("r")
    bench.abort("unknown")


def test_a_waiting_request_is_aborted_sequence_by_sequence() -> None:
    bench = Bench()
    bench.add("r", prompt(1, 5), n=3)
    for index in (2, 0, 1):
        bench.abort("r", index)
    assert not bench.scheduler.has_work
    assert bench.scheduler.num_waiting == 0
    assert bench.step() is None


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_failed_sample_ends_its_sequence_only(at: int) -> None:
    bench = Bench(max_step_rows=16)
    bench.add("a", prompt(1, 20, shared=10), max_new=6)
    bench.add("b", prompt(2, 20, shared=10), max_new=6, n=2, salts=[0, 0])
    bench.faults[("b", 1)] = at
    bench.run()
    bench.expect("a", "length")
    bench.expect("b")
    assert bench.answers[("b", 0)].last.finish_reason == "length"  # type: ignore[union-attr]
    failed = bench.answers[("b", 1)]
    assert failed.last is not None
    assert (failed.last.finish_reason, len(failed.tokens)) == ("error", at)
    assert failed.last.error.message == "no usable logits"
    assert bench.scheduler.stats.num_failed == 1


def test_an_error_while_a_sequence_grows_ends_it_only() -> None:
    bench = Bench(max_step_rows=16)
    bench.add("a", prompt(1, 20, shared=10), max_new=6)
    faulty = bench.add("b", prompt(2, 20, shared=10), max_new=6)
    faulty.sequences[0].sampling.fails_at = 2  # type: ignore[attr-defined]
    bench.run()
    bench.expect("a", "length")
    last = bench.answers[("b", 0)].last
    assert last is not None
    assert last.finish_reason == "error"
    assert "ZeroDivisionError" in last.error.message
    assert bench.answers[("b", 0)].tokens == continuation(prompt(2, 20, shared=10), 1)


def test_stop_tokens_end_a_sequence_at_once() -> None:
    bench = Bench()
    for number in range(20):
        bench.add(f"r{number}", prompt(number, 12), max_new=30, stops=True)
    bench.run()
    bench.expect_all()
    reasons = [answer.last.finish_reason for answer in bench.answers.values() if answer.last]
    assert reasons.count("stop") > 10


@pytest.mark.parametrize("max_running", [1, 3])
def test_no_more_sequences_run_than_allowed(max_running: int) -> None:
    bench = Bench(max_running=max_running, num_slots=70, max_step_rows=128)
    for number in range(9):
        bench.add(f"r{number}", prompt(number, 20), n=min(max_running, 1 + number % 3), max_new=9)
    bench.run()
    bench.expect_all()


def test_non_finite_kv_is_dropped_although_a_sequence_grows() -> None:
    """The older sequence needs a slot in the update that fails the newer one. If growth came
    first, it would preempt the newer one and keep its tokens for others."""
    tree = RadixTree(120)
    scheduler = Scheduler(tree, clock=lambda: 0.0)
    for name, first in (("old", 1), ("bad", 50)):
        scheduler.add(_endless(name, range(first, first + 8)))
    while True:
        step = scheduler.schedule()
        assert step is not None
        is_full = tree.num_free == 0
        results: list[SampledToken | YaieError] = [
            LogitsNotFinite("non-finite")
            if is_full and task.sequence.request.request_id == "bad"
            else SampledToken(100 + tree.num_free)
            for task in step.sample_tasks
        ]
        ended = [delta for delta in scheduler.update(step, results) if delta.finish_reason]
        if is_full:
            break
    assert [(delta.request_id, delta.error.code) for delta in ended] == [
        ("bad", "logits_not_finite")
    ]
    assert tree.match("", as_tokens(range(50, 58))).num_computed == 0
    assert scheduler.stats.num_preemptions == 0  # the end made room


def _endless(name: str, tokens: Iterable[int]) -> Request:
    asked = GenerationRequest(request_id=name, prompt_token_ids=tuple(tokens))
    return Request(asked, namespace="", max_new_tokens=100, samplings=[FakeSampling()])
