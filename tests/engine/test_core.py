"""The engine over a tiny random model: counted rows, refusals, faults of one, equal answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import torch

from tests.engine.oracle import Oracle
from tests.tiny_model import VOCAB_SIZE
from yaie.config import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.sampling_state import SamplingState
from yaie.errors import InvariantViolated, RequestFailed
from yaie.types import EngineStats, GenerationRequest, SamplingParams, TokenDelta

MakeCore = Callable[..., EngineCore]
MAX_NEW = 12


def tokens_of(seed: int, length: int) -> tuple[int, ...]:
    rng = random.Random(seed)
    return tuple(rng.randrange(3, VOCAB_SIZE) for _ in range(length))


def ask(
    request_id: str, prompt: tuple[int, ...], *, max_tokens: int | None = 6, **sampling: object
) -> GenerationRequest:
    sampling = {"temperature": 0.0, "ignore_eos": True, **sampling}
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=prompt,
        sampling=SamplingParams(max_tokens=max_tokens, **sampling),  # type: ignore[arg-type]
    )


class Answers:
    """Deltas of many steps, put together."""

    def __init__(self) -> None:
        self.deltas: dict[tuple[str, int], list[TokenDelta]] = {}

    def take(self, deltas: list[TokenDelta]) -> None:
        for delta in deltas:
            self.deltas.setdefault((delta.request_id, delta.index), []).append(delta)

    def tokens(self, request_id: str, index: int = 0) -> list[int]:
        return [token for delta in self.deltas[(request_id, index)] for token in delta.token_ids]

    def last(self, request_id: str, index: int = 0) -> TokenDelta:
        last = self.deltas[(request_id, index)][-1]
        assert last.finish_reason is not None
        return last


def run(core: EngineCore, *requests: GenerationRequest) -> Answers:
    answers = Answers()
    for request in requests:
        core.add(request)
    while core.has_work:
        answers.take(core.step())
    return answers


def spent(core: EngineCore, before: EngineStats) -> EngineStats:
    """What the counters grew by."""
    now = core.stats
    return EngineStats(
        **{f.name: getattr(now, f.name) - getattr(before, f.name) for f in fields(EngineStats)}
    )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_core(tiny_model_dir: Path) -> MakeCore:
    def make(**config: object) -> EngineCore:
        config = {"num_slots": 4096, "audit": True, "max_step_rows": 8192, **config}
        return EngineCore(EngineConfig(model=str(tiny_model_dir), device="cpu", **config))  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="module")
def oracle(tiny_model_dir: Path) -> Oracle:
    return Oracle(tiny_model_dir, MAX_NEW)


# -- rows, counted ------------------------------------------------------------------------------


@pytest.mark.parametrize("max_step_rows", [8192, 2048])
@pytest.mark.parametrize("policy", ["prefix-aware", "fcfs"])
def test_a_prefix_of_32_requests_is_computed_once(
    make_core: MakeCore, oracle: Oracle, policy: str, max_step_rows: int
) -> None:
    core = make_core(max_step_rows=max_step_rows, policy=policy)
    prefix = tokens_of(0, 1024)
    prompts = [(*prefix, 3 + i, *tokens_of(i, 63)) for i in range(32)]  # they part at once

    before = core.stats
    answers = Answers()
    for i, prompt in enumerate(prompts):
        core.add(ask(f"cold {i}", prompt, max_tokens=3))
    answers.take(core.step())
    if max_step_rows > 1024 + 32 * 64:  # nobody is made to wait for the one who goes first
        assert len(answers.deltas) == 32
        assert core.stats.num_waiting == 0
    while core.has_work:
        answers.take(core.step())
    assert spent(core, before).prompt_rows_computed == 1024 + 32 * 64
    cached = sum(answers.last(f"cold {i}").num_cached_tokens for i in range(32))
    assert cached == 31 * 1024

    before = core.stats
    again = run(core, *(ask(f"warm {i}", prompt, max_tokens=3) for i, prompt in enumerate(prompts)))
    assert spent(core, before).prompt_rows_computed == 32
    for i, prompt in enumerate(prompts):
        assert again.tokens(f"warm {i}") == answers.tokens(f"cold {i}")
        assert again.last(f"warm {i}").num_cached_tokens == 1024 + 63
        if i < 3:
            assert tuple(again.tokens(f"warm {i}")) == oracle.says(prompt).tokens[:3]


def test_eight_identical_greedy_requests_compute_the_rows_of_one(make_core: MakeCore) -> None:
    prompt = tokens_of(1, 100)
    one, eight = make_core(), make_core()
    run(one, ask("r", prompt, max_tokens=MAX_NEW))
    answers = run(eight, *(ask(f"r{i}", prompt, max_tokens=MAX_NEW) for i in range(8)))
    assert len({tuple(answers.tokens(f"r{i}")) for i in range(8)}) == 1
    assert eight.stats.rows_computed == one.stats.rows_computed == 100 + MAX_NEW - 1
    assert eight.stats.prompt_rows_computed == 100
    assert eight.stats.kv_tokens_read == one.stats.kv_tokens_read
    assert eight.stats.kv_tokens_unshared == 8 * one.stats.kv_tokens_unshared


def test_without_the_cache_nothing_is_shared_and_the_answers_are_the_same(
    make_core: MakeCore,
) -> None:
    prefix = tokens_of(2, 60)
    requests = [ask(f"r{i}", (*prefix, 5 + i % 3), n=1 + i % 2) for i in range(6)]
    shared, alone = make_core(), make_core(prefix_cache=False)
    expected = run(shared, *requests)
    got = run(alone, *requests)
    again = run(alone, *requests)
    for key in expected.deltas:
        assert got.tokens(*key) == expected.tokens(*key)
        assert again.tokens(*key) == expected.tokens(*key)
        assert again.last(*key).num_cached_tokens == 0
    assert alone.stats.prompt_rows_computed == 2 * 6 * 61  # n samples of one prompt still share
    assert shared.stats.prompt_rows_computed == 63
    assert alone.stats.cached_tokens == 0


# -- one answer, whatever else goes on ----------------------------------------------------------


def test_a_seed_gives_one_text_in_any_batch(make_core: MakeCore) -> None:
    settings = {"temperature": 1.0, "seed": 7, "n": 2, "top_p": 0.95, "repetition_penalty": 1.1}
    wanted = ask("wanted", tokens_of(3, 40), max_tokens=MAX_NEW, **settings)
    alone = run(make_core(), wanted)
    crowd = [
        ask(f"r{i}", (*tokens_of(3, 20 + i),), max_tokens=9, temperature=1.0) for i in range(12)
    ]
    for core in (make_core(max_step_rows=16), make_core(num_slots=160, max_model_len=60)):
        got = run(core, *crowd[:6], wanted, *crowd[6:])
        for index in range(2):
            assert got.tokens("wanted", index) == alone.tokens("wanted", index)
    assert alone.tokens("wanted", 0) != alone.tokens("wanted", 1)


def test_unseeded_requests_differ(make_core: MakeCore) -> None:
    requests = [ask(f"r{i}", tokens_of(3, 40), max_tokens=12, temperature=1.0) for i in range(2)]
    answers = run(make_core(), *requests)
    assert answers.tokens("r0") != answers.tokens("r1")


def test_namespaces_share_nothing(make_core: MakeCore) -> None:
    core = make_core()
    prompt = tokens_of(4, 50)
    for number, salt in enumerate(("", "a", "b", "a")):
        request = GenerationRequest(
            request_id=f"r{number}",
            prompt_token_ids=prompt,
            sampling=SamplingParams(max_tokens=2, temperature=0.0),
            cache_salt=salt,
        )
        cached = run(core, request).last(f"r{number}").num_cached_tokens
        assert cached == (49 if number == 3 else 0)


# -- ends ---------------------------------------------------------------------------------------


def test_max_tokens_and_its_absence(make_core: MakeCore) -> None:
    core = make_core(max_model_len=64)
    answers = run(
        core,
        ask("one", tokens_of(5, 10), max_tokens=1),
        ask("all", tokens_of(5, 10), max_tokens=None),
    )
    assert len(answers.tokens("one")) == 1
    assert len(answers.tokens("all")) == 54  # what the context has left
    assert answers.last("all").finish_reason == "length"


def test_stop_tokens_and_min_tokens(make_core: MakeCore, oracle: Oracle) -> None:
    prompt = tokens_of(6, 30)
    said = oracle.says(prompt).tokens
    stop = next(token for token in said[2:] if token not in said[:2])
    at = said.index(stop)
    core = make_core()
    answers = run(
        core,
        ask("stops", prompt, max_tokens=MAX_NEW, stop_token_ids=(stop,)),
        ask("later", prompt, max_tokens=MAX_NEW, stop_token_ids=(stop,), min_tokens=at + 2),
        ask("goes on", prompt, max_tokens=MAX_NEW),
    )
    assert answers.tokens("stops") == list(said[: at + 1])
    assert answers.last("stops").finish_reason == "stop"
    assert answers.last("stops").stop_token_id == stop
    assert stop not in answers.tokens("later")[: at + 2]
    assert len(answers.tokens("later")) >= at + 2
    assert answers.tokens("goes on") == list(said)
    assert answers.last("goes on").finish_reason == "length"


def test_the_models_end_token_ends_unless_it_is_ignored(make_core: MakeCore) -> None:
    core = make_core()
    (eos,) = core.info.eos_token_ids
    likely = {"logit_bias": {eos: 100.0}}
    prompt = tokens_of(6, 30)
    answers = run(
        core,
        ask("ends", prompt, ignore_eos=False, **likely),
        ask("ignores", prompt, ignore_eos=True, **likely),
        ask("at least", prompt, ignore_eos=False, min_tokens=3, **likely),
    )
    assert answers.tokens("ends") == [eos]
    assert answers.last("ends").finish_reason == "stop"
    assert answers.last("ends").stop_token_id == eos
    assert answers.tokens("ignores") == [eos] * 6
    assert eos not in answers.tokens("at least")[:3]
    assert answers.tokens("at least")[3:] == [eos]


# -- logprobs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_step_rows", [7, 8192])
def test_logprobs_are_those_of_transformers(
    make_core: MakeCore, oracle: Oracle, max_step_rows: int
) -> None:
    prompt = tokens_of(7, 40)
    core = make_core(max_step_rows=max_step_rows)
    run(core, ask("held", prompt[:25]))
    answers = run(
        core,
        ask("r", prompt, logprobs=3, prompt_logprobs=2, max_tokens=MAX_NEW),
        ask("other", prompt, max_tokens=MAX_NEW),
    )
    said = oracle.says(prompt)
    assert tuple(answers.tokens("r")) == said.tokens == tuple(answers.tokens("other"))
    wanted = oracle.logprobs((*prompt, *said.tokens))
    deltas = answers.deltas[("r", 0)]
    prompt_logprobs = deltas[0].prompt_logprobs
    assert prompt_logprobs is not None
    assert prompt_logprobs[0] is None
    assert all(delta.prompt_logprobs is None for delta in deltas[1:])
    entries = [*prompt_logprobs[1:], *(at for delta in deltas for at in delta.logprobs)]
    assert len(entries) == len(prompt) - 1 + MAX_NEW
    for position, entry in enumerate(entries):
        assert entry is not None
        line = wanted[position]
        token = (*prompt, *said.tokens)[position + 1]
        assert entry.token_id == token
        assert entry.logprob == pytest.approx(float(line[token]), abs=1e-4)
        assert entry.rank == 1 + int((line > line[token]).sum())
        num_top = 2 if position < len(prompt) - 1 else 3
        top = line.topk(num_top)
        assert [token for token, _ in entry.top] == top.indices.tolist()
        got = [logprob for _, logprob in entry.top]
        assert got == pytest.approx(top.values.tolist(), abs=1e-4)
    assert all(not delta.logprobs for delta in answers.deltas[("other", 0)])


# -- one bad request never harms another --------------------------------------------------------


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


# -- accounts -----------------------------------------------------------------------------------


def test_stats_add_up(make_core: MakeCore) -> None:
    core = make_core(num_slots=300, max_model_len=120, max_step_rows=32)
    rng = random.Random(5)
    answers = Answers()
    for number in range(20):
        prompt = tokens_of(rng.randrange(3), rng.randint(5, 60))
        core.add(ask(f"r{number}", prompt, n=1 + number % 2, max_tokens=10))
        answers.take(core.step())
        if number % 5 == 0:
            core.abort(f"r{number}")
    core.add(ask("refused", ()))
    while core.has_work:
        answers.take(core.step())
        now = core.stats
        assert now.num_free_slots + now.num_live_slots + now.num_cached_slots == 300
    stats = core.stats
    ends = [deltas[-1].finish_reason for deltas in answers.deltas.values()]
    assert all(ends)
    assert stats.num_requests == 21
    assert stats.num_finished == ends.count("length") + ends.count("stop")
    assert stats.num_aborted == ends.count("abort") > 0
    assert stats.num_failed == ends.count("error") == 1
    assert stats.output_tokens == sum(len(answers.tokens(*key)) for key in answers.deltas)
    assert stats.rows_computed == stats.prompt_rows_computed + stats.decode_rows_computed
    assert stats.kv_tokens_read > 0
    assert stats.num_running == stats.num_waiting == stats.num_live_slots == 0
    assert 0 < stats.schedule_s + stats.forward_s + stats.sample_s <= stats.step_s
    assert core.clear_cache() == stats.num_cached_slots
    assert core.stats.num_free_slots == 300
    for (request_id, index), deltas in answers.deltas.items():
        last = deltas[-1]
        if request_id != "refused":
            assert last.timings is not None, (request_id, index)
            assert 0 <= last.timings.queued_s <= last.timings.total_s
            assert last.timings.first_token_s <= last.timings.total_s
