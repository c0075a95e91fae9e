"""The scheduler over a fake model: right tokens under every schedule, exact row counts."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import Bench, continuation, digest
from tests.engine.fake_model import make_prompt as prompt
from tests.sizes import large, size
from yaie.base.types import Timings
from yaie.engine.queue.turn_grace import LINGER_S
from yaie.engine.scheduled_step import ScheduledStep
from yaie.kvcache.match import Match
from yaie.kvcache.node import Tokens, as_tokens

POLICIES = ["prefix-aware", "fcfs", "lpm", "priority"]
EVICTIONS = ["adaptive", "lru"]


# -- random schedules ---------------------------------------------------------------------------


def run_schedule(seed: int, policy: str, eviction: str, *, max_step_rows: int) -> Bench:
    """Run requests that branch, arrive and abort at random, in a tight pool."""
    rng = random.Random(seed)
    longest, max_new = 40, rng.choice([12, 80])  # admission reserves 32 tokens each
    bench = Bench(
        num_slots=longest + max_new + rng.choice([0, 40]),
        policy=policy,
        eviction=eviction,
        max_step_rows=max_step_rows,
        max_running=rng.choice([4, 16]),
        segment_overhead=rng.choice([0, 4, 32]),
    )
    known: list[list[int]] = [[1]]
    for number in range(rng.randint(3, 12)):
        base = rng.choice(known)[: rng.randint(1, longest)]
        own = [rng.randrange(3) for _ in range(rng.randint(0, longest - len(base)))]
        tokens = base + own
        known.append(tokens)
        known.append(tokens + continuation(tokens, 6))  # a chat continues
        n = rng.choice([1, 2, 3])
        bench.add(
            f"r{number}",
            tokens,
            max_new=rng.choice([1, max_new // 2, max_new]),
            n=n,
            salts=[rng.choice([0, number, number + index]) for index in range(n)],
            stops=rng.random() < 0.3,
            priority=rng.randint(-1, 1),
            namespace=rng.choice(["", "", "other"]),
            prompt_logprobs=rng.choice([None, None, None, 0]),
            forces=rng.choice([0, 0, 0, 2]),
        )
        if rng.random() < 0.15:
            bench.faults[(f"r{number}", 0)] = rng.randint(0, 3)
        for _ in range(rng.choice([0, 0, 1, 3, 10])):
            bench.step()
            bench.now += LINGER_S / 2
        if rng.random() < 0.2:
            bench.abort(f"r{rng.randint(0, number)}", rng.choice([None, 0, 1]))
    bench.run()
    bench.expect_all()
    assert not bench.scheduler.has_work
    assert bench.tree.num_live == 0
    bench.tree.clear()
    assert bench.tree.num_free == bench.tree.num_slots
    return bench


SCHEDULES = given(
    st.integers(0, 2**32),
    st.sampled_from(POLICIES),
    st.sampled_from(EVICTIONS),
    st.sampled_from([1, 7, 128]),
)


def check_tokens(seed: int, policy: str, eviction: str, max_step_rows: int) -> None:
    """Run a random schedule; require the right tokens and log-probabilities of prompts."""
    bench = run_schedule(seed, policy, eviction, max_step_rows=max_step_rows)
    for request_id, request in bench.requests.items():
        answer = bench.answers[(request_id, 0)]
        if request.prompt_logprobs is None or not answer.tokens:
            continue
        tokens = request.prompt.tolist()
        assert answer.prompt_logprobs is not None
        assert answer.prompt_logprobs[0] is None
        got = [(at.token_id, at.logprob) for at in answer.prompt_logprobs[1:] if at]
        assert got == [
            (tokens[end], -float(digest(tokens[:end]) % 1000)) for end in range(1, len(tokens))
        ]


@pytest.mark.integration
@large
@SCHEDULES
@settings(deadline=None, max_examples=size(250))
def test_tokens_do_not_depend_on_the_schedule(
    seed: int, policy: str, eviction: str, max_step_rows: int
) -> None:
    check_tokens(seed, policy, eviction, max_step_rows)


@pytest.mark.integration
def test_the_random_schedules_preempt_and_evict() -> None:
    """Otherwise they would not test preemption and eviction."""
    benches = [
        run_schedule(seed, "prefix-aware", "lru", max_step_rows=rows)
        for seed in range(12)
        for rows in (7, 128)
    ]
    assert sum(bench.scheduler.stats.num_preemptions for bench in benches) > 5
    assert sum(bench.tree.num_evicted_tokens for bench in benches) > 500
    assert sum(bench.scheduler.stats.num_aborted for bench in benches) > 5
    assert sum(bench.scheduler.stats.num_failed for bench in benches) > 2


# -- rows ---------------------------------------------------------------------------------------


@pytest.mark.integration
@given(st.integers(0, 2**32), st.sampled_from([5, 40, 4096]), st.sampled_from(POLICIES))
@settings(deadline=None, max_examples=25)
def test_prompt_rows_equal_the_reported_uncached_tokens(
    seed: int, max_step_rows: int, policy: str
) -> None:
    rng = random.Random(seed)
    bench = Bench(num_slots=4096, max_step_rows=max_step_rows, max_running=64, policy=policy)
    for number in range(12):
        tokens = [rng.randrange(2) for _ in range(rng.randint(1, 60))]
        bench.add(f"r{number}", tokens, n=rng.choice([1, 3]), max_new=rng.randint(1, 5))
        for _ in range(rng.choice([0, 0, 2])):
            bench.step()
    bench.run()
    bench.expect_all()
    counters = bench.scheduler.stats
    assert counters.num_preemptions == 0
    paid = sum(
        len(bench.requests[name].prompt) - answer.last.num_cached_tokens
        for (name, index), answer in bench.answers.items()
        if index == 0 and answer.last
    )
    assert paid == counters.prompt_rows_computed
    assert counters.prompt_tokens - counters.cached_tokens == paid
    assert counters.output_tokens == sum(len(answer.tokens) for answer in bench.answers.values())


@pytest.mark.parametrize("max_step_rows", [100, 4096])
def test_a_shared_prefix_is_computed_once(max_step_rows: int) -> None:
    bench = Bench(num_slots=4096, max_step_rows=max_step_rows, max_running=64)
    for number in range(8):
        bench.add(f"r{number}", [*prompt(0, 100, shared=100), number, *prompt(number, 19)])
    if max_step_rows == 4096:
        bench.step()
        assert len(bench.scheduler.running) == 8  # all run at once
    bench.run()
    bench.expect_all()
    assert bench.scheduler.stats.prompt_rows_computed == 100 + 8 * 20


def test_identical_requests_compute_the_rows_of_one() -> None:
    steps: list[ScheduledStep] = []
    bench = Bench(num_slots=4096, max_step_rows=4096)
    bench.on_step.append(steps.append)
    for number in range(8):
        bench.add(f"r{number}", prompt(1, 30), max_new=6)
    bench.run()
    bench.expect_all()
    assert [step.plan.num_rows for step in steps] == [30, 1, 1, 1, 1, 1]
    assert [len(step.sample_tasks) for step in steps] == [8] * 6
    assert [len(step.plan.logit_rows) for step in steps] == [1] * 6


def test_samples_branch_when_their_tokens_differ() -> None:
    bench = Bench(num_slots=4096, max_step_rows=4096)
    bench.add("r", prompt(1, 30), max_new=8, n=6, salts=[1, 2, 3, 4, 5, 5])
    bench.run()
    bench.expect("r", "length")
    assert bench.scheduler.stats.prompt_rows_computed == 30
    texts = {tuple(bench.answers[("r", index)].tokens) for index in range(6)}
    assert len(texts) == 5


def test_a_cached_answer_is_walked_into() -> None:
    """A repeated greedy request needs rows for logits only and writes no KV."""
    steps: list[ScheduledStep] = []
    bench = Bench(num_slots=4096)
    for name in ("a", "b"):
        steps.clear()
        bench.on_step[:] = [steps.append]
        bench.add(name, prompt(1, 30), max_new=6)
        bench.run()
        bench.expect(name)
    assert [step.plan.num_rows for step in steps] == [1] * 6
    # The last token of an answer is never computed or needed.
    assert [len(step.plan.written_rows) for step in steps] == [0] * 6


def test_cached_tokens_past_a_cursor_make_room_for_others() -> None:
    """They are pinned as part of an edge, and trimmed under pressure."""
    bench = Bench(num_slots=400, max_step_rows=64)
    bench.add("first", prompt(1, 20), max_new=250)
    bench.run()
    bench.add("again", prompt(1, 20), max_new=60)
    bench.step()
    bench.add("other", prompt(2, 150), max_new=2)
    bench.step()
    assert [seq.request.request_id for seq in bench.scheduler.running] == ["again", "other"]
    bench.run()
    bench.expect_all()


def test_a_request_does_not_count_its_own_match_as_room() -> None:
    """Its own cursor would pin the matched part of a trimmable edge."""
    bench = Bench(num_slots=280, max_step_rows=64)
    bench.add("first", prompt(1, 20), max_new=250)
    bench.run()
    bench.add("again", prompt(1, 20), max_new=30)
    bench.step()
    tree, cached = bench.tree, [*prompt(1, 20), *continuation(prompt(1, 20), 240)]
    match = tree.match(bench.sequences["again"][0].request.namespace, as_tokens(cached))
    assert match.num_known == 260
    assert tree.num_available - match.count_evictable() == 280 - 269
    assert tree.count_trimmable() - match.count_trimmable() == 269 - 260


# -- look-ups and times -------------------------------------------------------------------------


def count_matches(bench: Bench) -> list[int]:
    """Count the prompt look-ups of the tree from now on, in a list of one number."""
    count, real = [0], bench.tree.match

    def match(namespace: Hashable, tokens: Tokens) -> Match:
        count[0] += 1
        return real(namespace, tokens)

    bench.tree.match = match  # type: ignore[method-assign]
    return count


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("num_logprobs", [None, 0])
@pytest.mark.parametrize("policy", POLICIES)
def test_an_admission_looks_its_prompt_up_once(
    policy: str, num_logprobs: int | None, n: int
) -> None:
    """From arrival to the first row, under each policy; further samples fork."""
    bench = Bench(num_slots=4096, policy=policy)
    bench.add("cached", prompt(1, 30), max_new=1)
    bench.run()
    count = count_matches(bench)
    bench.add("r", prompt(1, 40), n=n, prompt_logprobs=num_logprobs)
    bench.step()
    assert count == [1]
    bench.run()
    assert count == [1 if num_logprobs is None else 1 + n]  # samples resume after their pass
    bench.expect_all()


@pytest.mark.integration
@pytest.mark.parametrize("policy", POLICIES)
def test_a_burst_looks_up_a_few_prompts_an_admission(policy: str) -> None:
    bench = Bench(num_slots=8000, policy=policy, max_step_rows=4096, max_running=64)
    count = count_matches(bench)
    for number in range(40):
        bench.add(f"r{number}", prompt(number, 30), n=2, max_new=1)
    bench.run()
    bench.expect_all()
    if policy in ("prefix-aware", "lpm"):  # on arrival; the next in turn, the oldest, the best
        assert 2 * 40 <= count[0] <= 4 * 40
    else:
        assert count == [40]


def test_timings_come_from_the_injected_clock() -> None:
    bench = Bench(num_slots=400, max_step_rows=16, max_running=1)
    bench.now = 10.0
    bench.add("first", prompt(1, 20), max_new=2)
    bench.now = 11.0
    bench.add("second", prompt(2, 20), max_new=1)
    bench.add("aborted", prompt(3, 20), max_new=1)
    while bench.scheduler.has_work:
        bench.now += 1.0
        bench.step()
        if bench.now == 13.0:
            bench.abort("aborted")
    timings = {name: answer.last.timings for (name, _), answer in bench.answers.items()}  # type: ignore[union-attr]
    assert timings["first"] == Timings(queued_s=2.0, first_token_s=3.0, total_s=4.0)
    assert timings["second"] == Timings(queued_s=4.0, first_token_s=5.0, total_s=5.0)
    assert timings["aborted"] == Timings(queued_s=2.0, first_token_s=2.0, total_s=2.0)
