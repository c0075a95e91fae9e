"""The scheduler over a fake model: the right tokens under every schedule, and exact accounts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import Bench, FakeSampling, continuation, digest
from yaie.engine.request import Request, Sequence, SequenceState
from yaie.engine.scheduler import Scheduler
from yaie.engine.scores import LEAST_SCORES
from yaie.engine.step import SampledToken, ScheduledStep
from yaie.errors import LogitsNotFinite, YaieError
from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.types import GenerationRequest, TokenDelta

POLICIES = ["prefix-aware", "fcfs", "lpm", "priority"]
EVICTIONS = ["lru", "lfu", "cost"]


def prompt(seed: int, length: int, shared: int = 0) -> list[int]:
    """`length` tokens, of which the first `shared` are those of every prompt."""
    common = random.Random(0)
    own = random.Random(seed + 1)
    return [common.randrange(100) for _ in range(shared)] + [
        own.randrange(100) for _ in range(length - shared)
    ]


# -- random schedules ---------------------------------------------------------------------------


def run_schedule(seed: int, policy: str, eviction: str, *, max_step_rows: int) -> Bench:
    """Requests that branch, come at random and are aborted at random, in a pool that is tight."""
    rng = random.Random(seed)
    longest, max_new = 40, rng.choice([12, 80])  # admission leaves room for 32 tokens each
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
        known.append(tokens + continuation(tokens, 6))  # a chat that goes on
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
        )
        if rng.random() < 0.15:
            bench.faults[(f"r{number}", 0)] = rng.randint(0, 3)
        for _ in range(rng.choice([0, 0, 1, 3, 10])):
            bench.step()
        if rng.random() < 0.2:
            bench.abort(f"r{rng.randint(0, number)}", rng.choice([None, 0, 1]))
    bench.run()
    bench.expect_all()
    assert not bench.scheduler.has_work
    assert bench.tree.num_live == 0
    bench.tree.clear()
    assert bench.tree.num_free == bench.tree.num_slots
    return bench


@given(
    st.integers(0, 2**32),
    st.sampled_from(POLICIES),
    st.sampled_from(EVICTIONS),
    st.sampled_from([1, 7, 128]),
)
@settings(deadline=None, max_examples=80)
def test_tokens_do_not_depend_on_the_schedule(
    seed: int, policy: str, eviction: str, max_step_rows: int
) -> None:
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


def test_the_random_schedules_preempt_and_evict() -> None:
    """They would prove nothing about preemption and eviction if they did not."""
    benches = [
        run_schedule(seed, "prefix-aware", "lru", max_step_rows=rows)
        for seed in range(25)
        for rows in (7, 128)
    ]
    assert sum(bench.scheduler.counters.num_preemptions for bench in benches) > 10
    assert sum(bench.tree.num_evicted_tokens for bench in benches) > 1000
    assert sum(bench.scheduler.counters.num_aborted for bench in benches) > 10
    assert sum(bench.scheduler.counters.num_failed for bench in benches) > 5


# -- rows ---------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from([5, 40, 4096]), st.sampled_from(POLICIES))
@settings(deadline=None, max_examples=60)
def test_prompt_rows_are_what_requests_say_was_not_cached(
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
    counters = bench.scheduler.counters
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
        assert len(bench.scheduler.running) == 8  # nobody waited for the first one
    bench.run()
    bench.expect_all()
    assert bench.scheduler.counters.prompt_rows_computed == 100 + 8 * 20


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


def test_samples_part_when_they_draw_differently() -> None:
    bench = Bench(num_slots=4096, max_step_rows=4096)
    bench.add("r", prompt(1, 30), max_new=8, n=6, salts=[1, 2, 3, 4, 5, 5])
    bench.run()
    bench.expect("r", "length")
    assert bench.scheduler.counters.prompt_rows_computed == 30
    texts = {tuple(bench.answers[("r", index)].tokens) for index in range(6)}
    assert len(texts) == 5


def test_a_held_answer_is_walked_into() -> None:
    """The same greedy request again: every row is for logits only, nothing is written."""
    steps: list[ScheduledStep] = []
    bench = Bench(num_slots=4096)
    for name in ("a", "b"):
        steps.clear()
        bench.on_step[:] = [steps.append]
        bench.add(name, prompt(1, 30), max_new=6)
        bench.run()
        bench.expect(name)
    assert [step.plan.num_rows for step in steps] == [1] * 6
    # The last token of an answer is never computed, and neither is it needed again.
    assert [len(step.plan.written_rows) for step in steps] == [0] * 6


def test_what_a_held_answer_has_behind_its_reader_is_room_for_others() -> None:
    """It is pinned as part of an edge, and goes where it is wanted."""
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


def test_a_request_does_not_count_as_room_what_it_reads_itself() -> None:
    """Of an edge that a reader has ahead of it, what the request matches would be pinned by it."""
    bench = Bench(num_slots=280, max_step_rows=64)
    bench.add("first", prompt(1, 20), max_new=250)
    bench.run()
    bench.add("again", prompt(1, 20), max_new=30)
    bench.step()
    tree, held = bench.tree, [*prompt(1, 20), *continuation(prompt(1, 20), 240)]
    match = tree.match(bench.sequences["again"][0].request.namespace, as_tokens(held))
    assert match.num_known == 260
    assert tree.num_available - match.count_evictable() == 280 - 269
    assert tree.count_trimmable() - match.count_trimmable() == 269 - 260


def test_prompt_logprobs_have_rows_for_all_of_a_held_prompt() -> None:
    bench = Bench(num_slots=4096, max_step_rows=8)
    bench.add("a", prompt(1, 30))
    bench.run()
    bench.add("b", prompt(1, 30), prompt_logprobs=0)
    before = bench.scheduler.counters.prompt_rows_computed
    bench.run()
    assert bench.scheduler.counters.prompt_rows_computed - before == 30
    answer = bench.answers[("b", 0)]
    assert answer.prompt_logprobs is not None
    assert len(answer.prompt_logprobs) == 30
    assert answer.last is not None
    assert answer.last.num_cached_tokens == 0


@pytest.mark.parametrize("num_scored", [1, 4])
def test_prompt_logprobs_leave_the_rest_of_the_step_to_others(num_scored: int) -> None:
    """However long the prompts are, a step scores no more of them than its logits have room for."""
    bench = Bench(num_slots=4096, max_step_rows=128, max_running=40)
    for number in range(num_scored):
        bench.add(f"scored {number}", prompt(number, 600), max_new=1, prompt_logprobs=0)
    steps: list[ScheduledStep] = []
    bench.on_step.append(steps.append)
    bench.step()
    short = prompt(9, 20)
    bench.add("short", short)
    bench.step()
    assert bench.answers[("short", 0)].tokens == continuation(short, 1)
    assert [step.plan.num_rows for step in steps] == [40, 39 + len(short)]
    bench.run()
    bench.expect_all()


@pytest.mark.parametrize("max_running", [8, 64])
@pytest.mark.parametrize("n", [1, 3])
def test_many_prompts_with_logprobs_take_no_more_steps_than_their_rows_need(
    max_running: int, n: int
) -> None:
    """Those that wait for their scores take no room for logits from those that are scored."""
    bench = Bench(num_slots=20_000, max_step_rows=512, max_running=max_running)
    for number in range(100):
        bench.add(
            f"r{number}", prompt(number, 100), max_new=1, n=n, salts=[*range(n)], prompt_logprobs=0
        )
    steps: list[ScheduledStep] = []
    bench.on_step.append(steps.append)
    bench.run()
    bench.expect_all()
    for step in steps:
        num_scores = sum(len(one.logit_rows) for one in step.prompt_logits)
        assert len(step.sample_tasks) + num_scores <= max_running + LEAST_SCORES
    room = max(LEAST_SCORES, max_running - n)
    assert len(steps) <= 1.2 * 100 * 99 / room + 2


@pytest.mark.parametrize("num_scored", [1, 4])
def test_prompt_logprobs_that_fill_the_step_hold_others_back(num_scored: int) -> None:
    """As any prompt does that is longer than a step."""
    bench = Bench(num_slots=4096, max_step_rows=30, max_running=40)
    for number in range(num_scored):
        bench.add(f"scored {number}", prompt(number, 100), max_new=1, prompt_logprobs=0)
    bench.step()
    bench.add("short", prompt(9, 20))
    bench.step()
    assert len(bench.scheduler.waiting) == num_scored
    bench.run()
    bench.expect_all()


def test_the_cost_of_a_prompt_with_logprobs_is_all_of_it_though_it_is_held() -> None:
    """`lpm` admits those first that have most tokens held; here that saves no row."""
    bench = Bench(num_slots=4096, policy="lpm", max_step_rows=64, max_running=1)
    bench.add("held", prompt(1, 60), max_new=1)
    bench.run()
    bench.add("running", prompt(3, 10), max_new=6)
    bench.step()
    bench.add("scored", prompt(1, 60), max_new=1, prompt_logprobs=0)
    bench.add("continued", [*prompt(1, 10), 100], max_new=1)
    while not bench.answers[("continued", 0)].last:
        bench.step()
    assert bench.answers[("scored", 0)].last is None
    bench.run()
    bench.expect_all()


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("max_step_rows", [16, 4096])
def test_a_prompt_with_logprobs_is_computed_once_for_all_samples(
    max_step_rows: int, *, is_held: bool
) -> None:
    bench = Bench(num_slots=4096, max_step_rows=max_step_rows, max_running=40)
    tokens = prompt(1, 200)
    if is_held:
        bench.add("held", tokens, max_new=1)
        bench.run()
    before = bench.scheduler.counters.prompt_rows_computed
    bench.add("r", tokens, n=3, salts=[0, 1, 2], prompt_logprobs=0)
    samples: list[int] = []
    bench.on_step.append(lambda step: samples.append(len(step.sample_tasks)))
    bench.run()
    bench.expect("r", "length")
    assert next(count for count in samples if count) == 3  # their first tokens come together
    assert bench.scheduler.counters.prompt_rows_computed - before == 200
    for index in range(3):
        answer = bench.answers[("r", index)]
        assert answer.last is not None
        assert answer.last.num_cached_tokens == 0
        assert (answer.prompt_logprobs is not None) == (index == 0)


@pytest.mark.parametrize("end", ["abort", "fault"])
def test_samples_go_on_when_the_one_that_scores_their_prompt_ends(end: str) -> None:
    bench = Bench(num_slots=4096, max_step_rows=16, max_running=8)
    bench.add("r", prompt(1, 100), n=3, salts=[0, 1, 2], prompt_logprobs=0)
    for _ in range(3):
        bench.step()
    if end == "abort":
        bench.abort("r", 0)
    else:
        sequence = bench.requests["r"].sequences[0]
        bench.scheduler.fail(sequence, RuntimeError("its logprobs failed"))
        bench.answers[("r", 0)].last = TokenDelta(
            request_id="r", index=0, finish_reason="error", error="its logprobs failed"
        )
    bench.run()
    bench.expect("r")
    assert bench.scheduler.counters.prompt_rows_computed == 100
    assert [len(bench.answers[("r", index)].tokens) for index in range(3)] == [0, 4, 4]


def test_samples_that_draw_already_do_not_wait_for_the_one_that_scores_their_prompt() -> None:
    bench = Bench(num_slots=4096, max_step_rows=32, max_running=2)
    request = bench.add("r", prompt(1, 200), max_new=100, n=2, salts=[0, 1], prompt_logprobs=0)
    bench.step()
    bench.scheduler._preempt(request.sequences[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.scheduler, "_resume", lambda sequence: False)
        while not bench.answers[("r", 1)].tokens:
            bench.step()
    scored = len(request.prompt_logprobs or ())
    assert 0 < scored < 100
    while not bench.answers[("r", 0)].tokens:
        before = len(bench.answers[("r", 1)].tokens)
        bench.step()
        assert len(bench.answers[("r", 1)].tokens) == before + 1
    bench.run()
    bench.expect("r", "length")


@pytest.mark.parametrize("index", [0, 1, 2])
def test_samples_go_on_when_one_is_preempted_while_their_prompt_is_scored(index: int) -> None:
    """Also where nothing is left for it to come back to before the others have ended."""
    bench = Bench(num_slots=140, max_step_rows=16, max_running=3)
    request = bench.add("r", prompt(1, 100), max_new=20, n=3, salts=[0, 1, 2], prompt_logprobs=0)
    for _ in range(3):
        bench.step()
    bench.scheduler._preempt(request.sequences[index])
    bench.run()
    bench.expect("r", "length")
    got = bench.answers[("r", 0)].prompt_logprobs
    assert got is not None
    assert len(got) == 100


# -- tight pools --------------------------------------------------------------------------------


def test_a_request_as_long_as_the_pool_gets_in_whatever_is_held() -> None:
    """What is held shares one token with the prompt and fills the pool."""
    bench = Bench(num_slots=64)
    bench.add("held", prompt(1, 60), max_new=5)
    bench.run()
    assert bench.tree.num_free == 0
    tokens = [prompt(1, 1)[0], *prompt(2, 58)]
    bench.add("new", tokens, max_new=5)
    bench.run()
    bench.expect_all()


def test_the_oldest_goes_on_though_the_others_have_no_token_of_their_own() -> None:
    """Twins hold their tokens together: to preempt one of them frees nothing, both it does."""
    bench = Bench(num_slots=164, max_step_rows=64)
    bench.add("old", prompt(1, 10), max_new=150)
    for name in ("twin", "twin's twin"):
        bench.add(name, prompt(2, 10), max_new=120)
    bench.run()
    bench.expect_all()
    assert bench.scheduler.counters.num_preemptions > 0


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_a_tiny_pool_gives_the_same_tokens(seed: int) -> None:
    rng = random.Random(seed)
    longest, max_new = 20, 60
    bench = Bench(num_slots=longest + max_new, max_step_rows=rng.choice([3, 64]), max_running=8)
    for number in range(6):
        tokens = [rng.randrange(2) for _ in range(rng.randint(1, longest))]
        bench.add(f"r{number}", tokens, max_new=max_new, n=rng.choice([1, 2]), salts=None)
    for request in bench.requests.values():
        for sequence in request.sequences:
            sequence.sampling.salt = rng.choice([0, 1, 2])  # type: ignore[attr-defined]
    bench.run()
    bench.expect_all()


@given(st.integers(0, 2**32), st.integers(1, 9))
@settings(deadline=None, max_examples=40)
def test_prompt_logprobs_survive_preemption(seed: int, max_step_rows: int) -> None:
    """A preempted prompt may have lost what it computed; the rest of its logprobs need it."""
    rng = random.Random(seed)
    bench = Bench(num_slots=100, max_step_rows=max_step_rows, max_running=6)
    for number in range(5):
        tokens = [rng.randrange(2) for _ in range(rng.randint(1, 40))]
        bench.add(f"r{number}", tokens, max_new=rng.randint(1, 60), prompt_logprobs=0)
        for _ in range(rng.randint(0, 4)):
            bench.step()
    bench.run()
    bench.expect_all()
    for name, request in bench.requests.items():
        got = bench.answers[(name, 0)].prompt_logprobs
        assert got is not None
        assert len(got) == len(request.prompt)


# -- priorities ---------------------------------------------------------------------------------


def num_preemptions(bench: Bench, names: list[str]) -> dict[str, int]:
    """Runs to the end; how often each request lost a cursor."""
    lost = dict.fromkeys(names, 0)
    running: set[Sequence] = set()
    while bench.step() is not None:
        for name in names:
            for sequence in bench.sequences[name]:
                lost[name] += sequence in running and sequence.state is SequenceState.PREEMPTED
        running = set(bench.scheduler.running)
    bench.expect_all()
    return lost


@pytest.mark.parametrize("policy", ["priority", "fcfs"])
def test_under_priority_the_important_keep_their_cursors(policy: str) -> None:
    """However cheap it would be to compute them again, which decides under the other policies."""
    bench = Bench(num_slots=170, policy=policy, max_step_rows=256)
    bench.add("old", prompt(1, 40), max_new=90, priority=5)
    bench.add("dear", prompt(2, 40), max_new=90, priority=5)
    bench.add("important", prompt(3, 5), max_new=90)
    lost = num_preemptions(bench, ["old", "dear", "important"])
    if policy == "priority":
        assert lost["important"] == 0
        assert lost["old"] + lost["dear"] > 0
    else:
        assert lost["old"] == 0
        assert lost["important"] > 0


@pytest.mark.parametrize("num_slots", range(760, 764))
def test_the_cheapest_gives_way_whoever_needs_the_slot(num_slots: int) -> None:
    """Also when it is the one that grows: the size of the pool decides whose turn it is."""
    bench = Bench(num_slots=num_slots, policy="fcfs", max_step_rows=1024)
    bench.add("old", prompt(1, 50), max_new=200)
    bench.add("dear", prompt(2, 500), max_new=200)
    bench.add("cheap", prompt(3, 10), max_new=190)
    while not bench.scheduler.preempted:
        bench.step()
    assert [seq.request.request_id for seq in bench.scheduler.preempted] == ["cheap"]
    bench.run()
    bench.expect_all()


@pytest.mark.parametrize("length", [1500, 1503])
def test_one_prompt_alone_shares_nothing_whether_it_is_scored_or_not(length: int) -> None:
    """In chunks, of which those that give logprobs are as small as the room for draws."""
    for scored in (None, 0):
        bench = Bench(num_slots=4000, max_step_rows=512, max_running=64)
        bench.add("a", prompt(1, length), max_new=3, prompt_logprobs=scored)
        bench.run()
        counters = bench.scheduler.counters
        assert counters.kv_tokens_unshared == counters.kv_tokens_read > 0


def test_twins_give_way_together_to_one_who_is_more_important() -> None:
    """To preempt one of them frees nothing, and still it is not the third who gives way."""
    bench = Bench(num_slots=220, policy="priority", max_step_rows=256)
    bench.add("first", prompt(1, 10), max_new=100)
    bench.add("second", prompt(2, 10), max_new=100, priority=1)
    for name in ("twin", "twin's twin"):
        bench.add(name, prompt(3, 10), max_new=100, priority=2)
    lost = num_preemptions(bench, ["first", "second", "twin", "twin's twin"])
    assert (lost["first"], lost["second"]) == (0, 0)
    assert (lost["twin"], lost["twin's twin"]) == (1, 1)


def test_an_important_request_goes_before_a_preempted_one_and_an_equal_one_behind() -> None:
    bench = Bench(num_slots=140, policy="priority", max_step_rows=256, max_running=2)
    bench.add("a", prompt(1, 10), max_new=110, priority=1)
    bench.add("b", prompt(2, 10), max_new=110, priority=1)
    while not bench.scheduler.preempted:
        bench.step()
    bench.add("equal", prompt(3, 10), max_new=110, priority=1)
    bench.add("important", prompt(4, 10), max_new=5)
    ends: list[str] = []
    while bench.step() is not None:
        for (name, _), answer in bench.answers.items():
            if answer.last is not None and name not in ends:
                ends.append(name)
    bench.expect_all()
    assert ends == ["important", "a", "b", "equal"]


# -- ends ---------------------------------------------------------------------------------------


def waiting(bench: Bench) -> None:
    """Not stepped at all."""


def in_mid_prefill(bench: Bench) -> None:
    bench.step()
    assert not bench.answers[("r", 0)].tokens


def decoding(bench: Bench) -> None:
    while not bench.answers[("r", 0)].tokens:
        bench.step()


def preempted(bench: Bench) -> None:
    while all(seq.state is not SequenceState.PREEMPTED for seq in bench.sequences["r"]):
        assert bench.step() is not None


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
    bench.abort("r", index)  # again: nothing happens
    bench.run()
    bench.expect("other", "length")
    bench.expect("r")
    assert bench.scheduler.counters.num_aborted == sum(ended)
    bench.abort("r")
    bench.abort("nobody")


def test_a_request_may_lose_all_its_sequences_one_by_one_while_it_waits() -> None:
    bench = Bench()
    bench.add("r", prompt(1, 5), n=3)
    for index in (2, 0, 1):
        bench.abort("r", index)
    assert not bench.scheduler.has_work
    assert bench.scheduler.num_waiting == 0
    assert bench.step() is None


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_draw_that_fails_ends_its_sequence_only(at: int) -> None:
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
    assert bench.scheduler.counters.num_failed == 1


def test_a_fault_while_a_sequence_grows_is_its_own() -> None:
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


def test_what_gave_no_numbers_goes_also_where_a_neighbour_needs_its_place() -> None:
    """The older sequence grows by the last slot in the update that tells of the newer one's fault:
    were the newer one preempted first, what it computed would be kept for the next who asks."""
    tree = RadixTree(120)
    scheduler = Scheduler(tree)
    for name, first in (("old", 1), ("bad", 50)):
        scheduler.add(_endless(name, range(first, first + 8)))
    while True:
        step = scheduler.schedule()
        assert step is not None
        is_full = tree.num_free == 0
        results: list[SampledToken | YaieError] = [
            LogitsNotFinite("no numbers")
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
    assert scheduler.counters.num_preemptions == 0  # what ended made room


def _endless(name: str, tokens: Iterable[int]) -> Request:
    asked = GenerationRequest(request_id=name, prompt_token_ids=tuple(tokens))
    return Request(asked, namespace="", max_new_tokens=100, samplings=[FakeSampling()])
