"""The engine core over a tiny random model: rows, ends, log-probabilities, statistics."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.engine.asking import MAX_NEW, Answers, MakeCore, ask, run, spent, tokens_of
from tests.engine.oracle import Oracle
from tests.tiny_model import VOCAB_SIZE
from yaie.base.errors import InvalidRequest
from yaie.base.types import GenerationRequest, SamplingParams

pytestmark = pytest.mark.usefixtures("one_thread")


# -- rows, counted ------------------------------------------------------------------------------


@pytest.mark.parametrize("max_step_rows", [8192, 2048])
@pytest.mark.parametrize("policy", ["prefix-aware", "fcfs"])
def test_a_prefix_of_32_requests_is_computed_once(
    make_core: MakeCore, oracle: Oracle, policy: str, max_step_rows: int
) -> None:
    core = make_core(max_step_rows=max_step_rows, policy=policy)
    prefix = tokens_of(0, 1024)
    prompts = [(*prefix, 3 + i, *tokens_of(i, 63)) for i in range(32)]  # they branch at once

    before = core.stats
    answers = Answers()
    for i, prompt in enumerate(prompts):
        core.add(ask(f"cold {i}", prompt, max_tokens=3))
    answers.take(core.step())
    if max_step_rows > 1024 + 32 * 64:  # all run at once
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


def test_answers_without_the_cache_are_the_same(
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
    assert alone.stats.prompt_rows_computed == 2 * 6 * 61  # samples of one request still share
    assert shared.stats.prompt_rows_computed == 63
    assert alone.stats.cached_tokens == 0


# -- batch invariance ----------------------------------------------------------------------------


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
        ask("more", tokens_of(5, 10), max_tokens=32_000),
    )
    assert len(answers.tokens("one")) == 1
    for name in ("all", "more"):
        assert len(answers.tokens(name)) == 54  # the rest of the context
        assert answers.last(name).finish_reason == "length"


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


def test_the_end_token_ends_unless_it_is_ignored(make_core: MakeCore) -> None:
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


@pytest.mark.parametrize("wrong", [-1, VOCAB_SIZE])
def test_token_ids_outside_the_vocabulary_are_refused(make_core: MakeCore, wrong: int) -> None:
    core = make_core()
    bad = {
        "prompt": ask("r", (5, wrong)),
        "prediction": replace(ask("r", (5,)), prediction=(5, wrong)),
        "stop_token_ids": ask("r", (5,), stop_token_ids=(wrong,)),
        "logit_bias": ask("r", (5,), logit_bias={wrong: 1.0}),
    }
    for param, request in bad.items():
        with pytest.raises(InvalidRequest, match=f"^{param} has the token id {wrong};") as caught:
            core.add(request)
        assert caught.value.param == param
    assert not core.has_work


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
    with pytest.raises(InvalidRequest):
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
    assert stats.num_failed == 1
    assert stats.output_tokens == sum(len(answers.tokens(*key)) for key in answers.deltas)
    assert stats.rows_computed == stats.prompt_rows_computed + stats.decode_rows_computed
    assert stats.kv_tokens_read > 0
    assert stats.num_running == stats.num_waiting == stats.num_live_slots == 0
    assert 0 < stats.schedule_s + stats.forward_s + stats.sample_s <= stats.step_s
    assert core.scheduler.tree.clear() == stats.num_cached_slots
    assert core.stats.num_free_slots == 300
    for (request_id, index), deltas in answers.deltas.items():
        last = deltas[-1]
        assert last.timings is not None, (request_id, index)
        assert 0 <= last.timings.queued_s <= last.timings.total_s
        assert last.timings.first_token_s <= last.timings.total_s


def test_deltas_carry_the_submission_of_their_id(make_core: MakeCore) -> None:
    core = make_core()
    first = ask("again", tokens_of(5, 10), max_tokens=9, n=2)
    core.add(first)
    core.step()
    core.abort("again")
    core.add(replace(first, submission=1))
    core.abort("again", 1)
    deltas = []
    while core.has_work:
        deltas += core.step()
    ends = {(d.request_id, d.submission, d.index): d for d in deltas if d.finish_reason}
    assert {key: delta.finish_reason for key, delta in ends.items()} == {
        ("again", 0, 0): "abort",
        ("again", 0, 1): "abort",
        ("again", 1, 0): "length",
        ("again", 1, 1): "abort",
    }
    for (_, submission, _), last in ends.items():
        assert last.timings is not None
        if submission == 0:
            assert 0 < last.timings.first_token_s < last.timings.total_s  # not the second's
    assert sum(len(d.token_ids) for d in deltas if d.submission == 1) == 9
