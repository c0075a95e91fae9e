"""Faults and refusals of one request, without harm to others."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.engine.chaotic_model import write_chaotic_model
from tests.engine.watched_executor import Execute
from tests.tiny_model import VOCAB_SIZE
from yaie.attention.plan import StepPlan
from yaie.base.errors import InvariantViolated, Overloaded, RequestFailed, YaieError
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest
from yaie.engine.core import EngineCore
from yaie.engine.loop import EngineLoop
from yaie.engine.sampling_state import SamplingState
from yaie.kvcache.node import as_tokens

pytestmark = pytest.mark.usefixtures("one_thread")


def test_an_error_in_sampling_ends_its_sequence_only(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = ask("good", tokens_of(8, 30)), ask("bad", tokens_of(8, 30), n=2, seed=99)
    expected = run(make_core(), good).tokens("good")
    real = SamplingState.observe

    def observe(state: SamplingState, token_id: int) -> None:
        if state.params.seed == 99 and state.index == 1 and state.num_output == 3:
            raise ZeroDivisionError("made to fail")
        real(state, token_id)

    monkeypatch.setattr(SamplingState, "observe", observe)
    core = make_core()
    answers = run(core, good, bad)
    assert answers.tokens("good") == answers.tokens("bad", 0) == expected
    assert answers.tokens("bad", 1) == expected[:3]
    last = answers.last("bad", 1)
    assert (last.finish_reason, last.error.status, last.error.code) == (
        "error",
        500,
        "request_failed",
    )
    assert "made to fail" in last.error.message
    assert core.stats.num_live_slots == 0
    assert core.stats.num_failed == 1


def test_non_finite_logits_end_their_sequence_only(
    make_core: MakeCore,
) -> None:
    poisoned = tokens_of(9, 30)[-1]

    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        logits = execute(plan).clone()
        logits[torch.from_numpy(plan.token_ids[plan.logit_rows] == poisoned)] = float("nan")
        return logits

    core = make_core(step)
    expected = run(core, ask("good", tokens_of(8, 30))).tokens("good")
    answers = run(core, ask("good", tokens_of(8, 30)), ask("bad", tokens_of(9, 30)))
    assert answers.tokens("good") == expected
    assert answers.last("bad").finish_reason == "error"
    assert answers.tokens("bad") == []


def test_a_step_that_fails_once_harms_no_request(make_core: MakeCore) -> None:
    failures = 0

    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        nonlocal failures
        if failures:
            failures -= 1
            raise RuntimeError("for a moment")
        return execute(plan)

    core = make_core(step)
    asked = [ask(f"r{number}", tokens_of(number, 60), max_tokens=9) for number in range(6)]
    expected = run(core, *asked)
    core.scheduler.tree.clear()
    run(core, *(ask(f"r{number}", tokens_of(number, 30), max_tokens=1) for number in range(6)))
    failures = 1
    found = run(core, *asked)
    for request in asked:
        assert found.tokens(request.request_id) == expected.tokens(request.request_id)
        assert found.last(request.request_id).num_cached_tokens == 30
    assert (core.stats.num_failed_steps, core.stats.num_failed) == (1, 0)


def test_an_engine_whose_every_step_fails_is_broken(make_core: MakeCore) -> None:
    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        raise RuntimeError("the device is gone")

    one_by_one, at_once = make_core(step), make_core(step)
    with pytest.raises(InvariantViolated, match="the device or the model is broken"):
        run(at_once, *(ask(f"r{number}", tokens_of(number, 20)) for number in range(9)))
    for number in range(2):
        answers = run(one_by_one, ask(f"r{number}", tokens_of(number, 20)))
        assert "the device is gone" in answers.last(f"r{number}").error.message
    with pytest.raises(InvariantViolated, match="the device or the model is broken"):
        run(one_by_one, ask("r2", tokens_of(2, 20)))


def refusal(core: EngineCore, request: GenerationRequest) -> YaieError:
    with pytest.raises(YaieError) as refused:
        core.add(request)
    assert not core.has_work
    return refused.value


def test_refusals_name_the_parameter_and_the_limits(make_core: MakeCore) -> None:
    core = make_core(max_model_len=64, max_running=4)
    empty = refusal(core, ask("r", ()))
    assert (empty.status, empty.param) == (400, "prompt")
    for token in (VOCAB_SIZE, -1):
        outside = refusal(core, ask("r", (5, token, 6)))
        assert (outside.status, outside.param) == (400, "prompt")
        assert str(token) in outside.message
        assert str(VOCAB_SIZE - 1) in outside.message
    for name, value in (("stop_token_ids", (VOCAB_SIZE,)), ("logit_bias", {VOCAB_SIZE: 1.0})):
        outside = refusal(core, ask("r", (5,), **{name: value}))
        assert (outside.status, outside.param) == (400, name)
    long = refusal(core, ask("r", tokens_of(0, 64), max_tokens=None))
    assert long.code == "context_length_exceeded"
    assert "64" in long.message
    both = refusal(core, ask("r", tokens_of(0, 50), max_tokens=99, min_tokens=15, n=2))
    assert (both.code, both.param) == ("context_length_exceeded", "min_tokens")
    for number in ("50", "15", "64", "14"):
        assert number in both.message
    many = refusal(core, ask("r", (5,), n=5))
    assert (many.status, many.param) == (400, "n")
    assert core.stats.num_failed == core.stats.num_requests == 8
    assert len(run(core, ask("fine", tokens_of(0, 50), max_tokens=14)).tokens("fine")) == 14


def test_a_full_queue_refuses_at_once(make_core: MakeCore) -> None:
    """Of five at once, one has a place and two may wait; later two wait already."""
    core = make_core(max_waiting=2, max_running=1)
    loop = EngineLoop(core)
    for number in range(5):
        loop.submit(ask(f"r{number}", tokens_of(number, 20)))
    answers = Answers()
    answers.take(loop.step())
    loop.submit(ask("r5", tokens_of(5, 20)))
    answers.take(loop.step())
    for number in (3, 4, 5):
        last = answers.last(f"r{number}")
        assert (last.error.status, last.error.code) == (429, "overloaded")
    while core.has_work:
        answers.take(core.step())
    assert all(len(answers.tokens(f"r{number}")) == 6 for number in range(3))


def test_a_refusal_carries_the_time_that_the_waiting_work_takes(make_core: MakeCore) -> None:
    core = make_core(max_waiting=2, max_running=1)
    core.scheduler.backlog.rate.observe(EngineStats(rows_computed=20), 10.0)  # 2 rows a second
    for number in range(3):
        core.add(ask(f"r{number}", tokens_of(number, 20)))
    with pytest.raises(Overloaded, match="retry in 30 s") as refused:
        core.add(ask("late", tokens_of(3, 20)))
    assert refused.value.retry_after_s == pytest.approx(30.0)


def test_a_queue_full_of_tokens_refuses_at_once(make_core: MakeCore) -> None:
    """One step takes 16 tokens and 40 may wait; the first prompt enters an empty queue."""
    core = make_core(max_waiting_tokens=40, max_step_rows=16, max_running=1)
    core.add(ask("long", tokens_of(0, 60)))
    with pytest.raises(Overloaded, match="60 prompt tokens waiting, max_waiting_tokens=40"):
        core.add(ask("late", tokens_of(1, 1)))
    answers = Answers()
    answers.take(core.step())  # the long one is admitted
    for number, length in enumerate((30, 26)):
        core.add(ask(f"r{number}", tokens_of(2 + number, length)))
    assert core.stats.num_waiting_tokens == 56
    with pytest.raises(Overloaded):
        core.add(ask("late", tokens_of(1, 1)))
    while core.has_work:
        answers.take(core.step())
    assert all(len(answers.tokens(name)) == 6 for name in ("long", "r0", "r1"))
    assert core.stats.num_waiting_tokens == 0


def test_a_burst_with_free_places_is_not_refused(make_core: MakeCore) -> None:
    core = make_core(max_waiting=1, max_running=8)
    answers = run(core, *(ask(f"r{number}", tokens_of(number, 20)) for number in range(8)))
    assert all(len(answers.tokens(f"r{number}")) == 6 for number in range(8))


def test_a_request_takes_a_place_for_each_of_its_sequences(make_core: MakeCore) -> None:
    """One has the places, one waits, and the third is refused."""
    core = make_core(max_waiting=1, max_running=8)
    three = (ask(f"r{number}", tokens_of(number, 20), n=8, temperature=1.0) for number in range(3))
    loop, answers = EngineLoop(core), Answers()
    for request in three:
        loop.submit(request)
    while loop.has_work:
        answers.take(loop.step())
    assert answers.last("r2").error.code == "overloaded"
    assert all(len(answers.tokens(f"r{number}", 7)) == 6 for number in range(2))


def test_free_places_do_not_count_without_free_slots(make_core: MakeCore) -> None:
    core = make_core(max_waiting=1, max_running=8, num_slots=128, max_model_len=128)
    for number in range(2):
        core.add(ask(f"r{number}", tokens_of(number, 90)))
    answers = Answers()
    answers.take(core.step())
    with pytest.raises(Overloaded):
        core.add(ask("late", tokens_of(3, 20)))
    while core.has_work:
        answers.take(core.step())
    assert all(len(answers.tokens(f"r{number}")) == 6 for number in range(2))


def test_preempted_sequences_do_not_fill_the_queue(make_core: MakeCore) -> None:
    core = make_core(max_waiting=4, max_running=64, num_slots=130, max_model_len=120)
    core.add(ask("big", tokens_of(1, 50), n=16, max_tokens=50, temperature=1.0, seed=1))
    while len(core.scheduler.suspended) < 5:
        assert core.step()
    core.add(ask("small", tokens_of(2, 5)))
    assert len(run(core).tokens("small")) == 6


def test_siblings_are_admitted_together(make_core: MakeCore) -> None:
    """Also while their prompt takes several steps."""
    core = make_core(max_step_rows=8)
    answers = run(core, ask("r", tokens_of(1, 48), n=2, max_tokens=1))
    first, second = (answers.last("r", index).timings for index in range(2))
    assert first is not None and second is not None
    assert second.queued_s == first.queued_s


def _write_overflowing_model(folder: Path, token_id: int) -> None:
    """Write a model that overflows float32 at this token only."""
    write_chaotic_model(folder)
    weights = load_file(folder / "model.safetensors")
    embeddings = weights["model.embed_tokens.weight"]
    embeddings[:, 0] = embeddings[token_id] = 0.0
    embeddings[token_id, 0] = 1.0
    for name, tensor in weights.items():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            tensor[0] = 0.0  # feature 0 stays that of the token
    weights["model.layers.0.input_layernorm.weight"][0] = 1.0
    values = weights["model.layers.0.self_attn.v_proj.weight"][:, 0]
    values[::2], values[1::2] = (
        1e38,
        -1e38,
    )  # opposite signs: the checksum of the tensor stays finite
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("attention_backend", ["auto", "reference"])
def test_kv_of_non_finite_logits_is_not_reused(tmp_path: Path, attention_backend: str) -> None:
    """An infinite value reaches every row of its segment, and so the prefix of others."""
    _write_overflowing_model(tmp_path, token_id=5)
    prefix = tuple(6 + token % 100 for token in tokens_of(1, 40))
    core = EngineCore(
        EngineConfig(
            model=str(tmp_path),
            device="cpu",
            dtype="float32",
            num_slots=1024,
            audit=True,
            weights_cache="off",
            attention_backend=attention_backend,
        )
    )
    wanted = run(core, ask("alone", (*prefix, 9))).tokens("alone")
    core.scheduler.tree.clear()
    assert run(core, ask("bad", (*prefix, 5))).last("bad").error.code == "logits_not_finite"
    assert run(core, ask("next", (*prefix, 9))).tokens("next") == wanted


def test_an_id_in_use_is_refused_and_may_be_used_again(make_core: MakeCore) -> None:
    core = make_core()
    core.add(ask("r", tokens_of(1, 20)))
    with pytest.raises(RequestFailed, match="'r'"):
        core.add(ask("r", tokens_of(2, 20)))
    first = run(core)
    assert first.tokens("r") == run(core, ask("r", tokens_of(1, 20))).tokens("r")


def test_a_failed_idle_audit_resets_the_tree(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaked tokens or wrong refs cost the cache, but fail no request."""
    monkeypatch.setattr("yaie.engine.core._STEPS_BETWEEN_AUDITS", 1)
    core = make_core(audit=False)
    expected = run(core, ask("before", tokens_of(1, 40))).tokens("before")
    core._tree.open("", as_tokens(tokens_of(2, 30)))  # a leaked cursor
    assert run(core, ask("leaked", tokens_of(1, 40))).tokens("leaked") == expected
    assert core.stats.num_audit_failures == 1
    assert core._tree.num_live == 0
    run(core, ask("held", tokens_of(1, 40)))
    next(iter(core._tree.nodes())).refs += 1
    run(core, ask("pinned", tokens_of(3, 40)))
    assert core.stats.num_audit_failures == 2
    assert run(core, ask("after", tokens_of(1, 40))).tokens("after") == expected
    core._tree.check()


def test_a_large_tree_is_not_walked_by_the_idle_audit(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its counts are still checked."""
    monkeypatch.setattr("yaie.engine.core._STEPS_BETWEEN_AUDITS", 1)
    monkeypatch.setattr("yaie.engine.core._MAX_AUDITED_NODES", 0)
    core = make_core(audit=False)
    monkeypatch.setattr(core._tree, "check", lambda: pytest.fail("walked"))
    expected = run(core, ask("before", tokens_of(1, 40))).tokens("before")
    assert core.stats.num_audit_failures == 0
    core._tree.open("", as_tokens(tokens_of(2, 30)))  # a leaked cursor
    assert run(core, ask("leaked", tokens_of(1, 40))).tokens("leaked") == expected
    assert core.stats.num_audit_failures == 1
