"""One bad request never harms another: faults of one, and requests that are refused."""

from __future__ import annotations

import pytest
import torch

from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.tiny_model import VOCAB_SIZE
from yaie.engine.core import EngineCore
from yaie.engine.sampling_state import SamplingState
from yaie.errors import InvariantViolated, RequestFailed
from yaie.kvcache.node import as_tokens
from yaie.types import GenerationRequest, TokenDelta

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_fault_in_the_sampling_of_one_is_its_own(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = ask("good", tokens_of(8, 30)), ask("bad", tokens_of(8, 30), n=2, seed=99)
    expected = run(make_core(), good).tokens("good")
    real = SamplingState.observe

    def observe(state: SamplingState, token_id: int) -> None:
        if state.params.seed == 99 and state.index == 1 and state.num_drawn == 3:
            raise ZeroDivisionError("made to fail")
        real(state, token_id)

    monkeypatch.setattr(SamplingState, "observe", observe)
    core = make_core()
    answers = run(core, good, bad)
    assert answers.tokens("good") == answers.tokens("bad", 0) == expected
    assert answers.tokens("bad", 1) == expected[:3]
    last = answers.last("bad", 1)
    assert (last.finish_reason, last.error_status, last.error_code) == (
        "error",
        500,
        "request_failed",
    )
    assert "made to fail" in (last.error or "")
    assert core.stats.num_live_slots == 0
    assert core.stats.num_failed == 1


def test_logits_that_are_no_numbers_end_whose_they_are(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = make_core()
    expected = run(core, ask("good", tokens_of(8, 30))).tokens("good")
    real = core._runner.execute
    poisoned = tokens_of(9, 30)[-1]

    def execute(plan):  # type: ignore[no-untyped-def]
        logits = real(plan).clone()
        logits[torch.from_numpy(plan.token_ids[plan.logit_rows] == poisoned)] = float("nan")
        return logits

    monkeypatch.setattr(core._runner, "execute", execute)
    answers = run(core, ask("good", tokens_of(8, 30)), ask("bad", tokens_of(9, 30)))
    assert answers.tokens("good") == expected
    assert answers.last("bad").finish_reason == "error"
    assert answers.tokens("bad") == []


def test_a_forward_that_fails_ends_its_members_and_nobody_else(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = make_core(max_step_rows=40, policy="fcfs")
    expected = run(core, ask("r", tokens_of(10, 100))).tokens("r")
    core.clear_cache()
    real, failures = core._runner.execute, 1

    def execute(plan):  # type: ignore[no-untyped-def]
        nonlocal failures
        if failures:
            failures -= 1
            raise RuntimeError("out of memory, say")
        return real(plan)

    monkeypatch.setattr(core._runner, "execute", execute)
    answers = run(core, ask("first", tokens_of(11, 100)), ask("second", tokens_of(10, 100)))
    assert answers.last("first").finish_reason == "error"
    assert "out of memory, say" in (answers.last("first").error or "")
    assert answers.tokens("second") == expected
    core.check()
    assert core.stats.num_live_slots == 0

    failures = 3  # in a row: no longer the fault of a request
    for number in range(3):
        core.add(ask(f"r{number}", tokens_of(20 + number, 100)))
    with pytest.raises(InvariantViolated, match="3 steps in a row"):
        while core.has_work:
            core.step()


def refusal(core: EngineCore, request: GenerationRequest) -> TokenDelta:
    core.add(request)
    deltas = core.step()
    assert [delta.index for delta in deltas] == list(range(request.sampling.n))
    assert not core.has_work
    assert all(delta.finish_reason == "error" for delta in deltas)
    return deltas[0]


def test_refusals_say_what_is_wrong(make_core: MakeCore) -> None:
    core = make_core(max_model_len=64, max_running=4)
    empty = refusal(core, ask("r", ()))
    assert (empty.error_status, empty.error_param) == (400, "prompt")
    for token in (VOCAB_SIZE, -1):
        outside = refusal(core, ask("r", (5, token, 6)))
        assert (outside.error_status, outside.error_param) == (400, "prompt")
        assert str(token) in (outside.error or "")
        assert str(VOCAB_SIZE - 1) in (outside.error or "")
    for name, value in (("stop_token_ids", (VOCAB_SIZE,)), ("logit_bias", {VOCAB_SIZE: 1.0})):
        outside = refusal(core, ask("r", (5,), **{name: value}))
        assert (outside.error_status, outside.error_param) == (400, name)
    long = refusal(core, ask("r", tokens_of(0, 64), max_tokens=None))
    assert long.error_code == "context_length_exceeded"
    assert "64" in (long.error or "")
    both = refusal(core, ask("r", tokens_of(0, 50), max_tokens=15, n=2))
    assert (both.error_code, both.error_param) == ("context_length_exceeded", "max_tokens")
    for number in ("50", "15", "64", "14"):
        assert number in (both.error or "")
    many = refusal(core, ask("r", (5,), n=5))
    assert (many.error_status, many.error_param) == (400, "n")
    assert core.stats.num_failed == core.stats.num_requests == 8
    assert len(run(core, ask("fine", tokens_of(0, 50), max_tokens=14)).tokens("fine")) == 14


def test_a_full_queue_is_told_at_once(make_core: MakeCore) -> None:
    core = make_core(max_waiting=2, max_running=1)
    for number in range(4):
        core.add(ask(f"r{number}", tokens_of(number, 20)))
    answers = Answers()
    answers.take(core.step())
    for number in (2, 3):
        last = answers.last(f"r{number}")
        assert (last.error_status, last.error_code) == (429, "overloaded")
    while core.has_work:
        answers.take(core.step())
    assert all(len(answers.tokens(f"r{number}")) == 6 for number in range(2))


def test_an_id_in_use_is_refused_and_may_be_used_again(make_core: MakeCore) -> None:
    core = make_core()
    core.add(ask("r", tokens_of(1, 20)))
    with pytest.raises(RequestFailed, match="'r'"):
        core.add(ask("r", tokens_of(2, 20)))
    first = run(core)
    assert first.tokens("r") == run(core, ask("r", tokens_of(1, 20))).tokens("r")


def test_what_an_idle_audit_finds_is_mended(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens pinned by nobody, or refs that are wrong, cost the cache and no request."""
    monkeypatch.setattr("yaie.engine.core._STEPS_BETWEEN_AUDITS", 1)
    core = make_core(audit=False)
    expected = run(core, ask("before", tokens_of(1, 40))).tokens("before")
    core._tree.open("", as_tokens(tokens_of(2, 30)))  # nobody will close this cursor
    assert run(core, ask("leaked", tokens_of(1, 40))).tokens("leaked") == expected
    assert core.stats.num_audit_failures == 1
    assert core._tree.num_live == 0
    run(core, ask("held", tokens_of(1, 40)))
    next(iter(core._tree.nodes())).refs += 1
    run(core, ask("pinned", tokens_of(3, 40)))
    assert core.stats.num_audit_failures == 2
    assert run(core, ask("after", tokens_of(1, 40))).tokens("after") == expected
    core._tree.check()
