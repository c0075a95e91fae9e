"""Speculative decoding over the fake model: the same tokens with any drafts, or none.

Every `Bench` checks each sampled row against the whole prefix, and the tree after each step.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import VOCAB_SIZE, Bench, continuation, expected, make_prompt
from tests.sizes import large, size
from yaie.base.settings import EngineConfig
from yaie.engine.drafts.draft_lengths import LEAST_GAIN, RowCosts, choose_lengths, rising
from yaie.engine.drafts.draft_support import supported_speculation
from yaie.engine.drafts.drafter import Drafter, Guess
from yaie.engine.drafts.learned_costs import LearnedCosts
from yaie.engine.drafts.text_drafters import OwnText, Prediction
from yaie.engine.drafts.token_search import (
    LONGEST_MATCH,
    RUN,
    GrowingText,
    SeenRuns,
    find_continuation,
)
from yaie.engine.queue.turn_grace import LINGER_S
from yaie.engine.request import Sequence
from yaie.engine.scheduled_step import ScheduledStep
from yaie.kvcache.node import as_tokens


class Guesses:
    """A drafter whose tokens are right with a given probability each."""

    def __init__(self, share_right: float, seed: int = 0) -> None:
        self.share_right = share_right
        self.random = random.Random(seed)

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        done = len(sequence.output)
        tokens = [
            token if self.random.random() < self.share_right else (token + 1) % VOCAB_SIZE
            for token in expected(sequence)[done : done + self.random.randint(0, limit)]
        ]
        return Guess(tuple(tokens), "guesses")

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        pass


def drafting_bench(share_right: float, *, seed: int = 0, **settings: object) -> Bench:
    bench = Bench(**{"max_draft_tokens": 5, **settings})  # type: ignore[arg-type]
    bench.scheduler.drafting.drafters = (Guesses(share_right, seed),)
    return bench


def run_load(seed: int) -> Bench:
    """Run random requests: branches, ends, faults, aborts, prompt passes, and too few slots."""
    rng = random.Random(seed)
    bench = drafting_bench(
        rng.choice([0.0, 0.5, 0.9, 1.0]),
        seed=seed,
        num_slots=rng.choice([160, 300, 3000]),
        eviction=rng.choice(["adaptive", "lru"]),
        policy=rng.choice(["prefix-aware", "priority"]),
        max_step_rows=rng.choice([3, 16, 256]),
        max_running=rng.choice([2, 12, 40]),
        segment_overhead=rng.choice([0, 4, 32]),
        max_draft_tokens=rng.choice([1, 4, 16]),
    )
    if rng.random() < 0.3:
        bench.scheduler.drafting.learned = LearnedCosts(rising([(1, 1.0), (8, 1.3), (32, 4.0)]))
    shared = rng.choice([0, 3, 40])
    known: list[tuple[list[int], int]] = []
    for number in range(rng.randint(1, 10)):
        prompt = make_prompt(number % 4, shared + rng.randint(1, 30), shared)
        max_new = rng.choice([1, 5, 60])
        if known and rng.random() < 0.3:  # again, on the answer's edge, or from its end
            prompt, num_new = known[-1]
            prompt = (prompt + continuation(prompt, rng.choice([0, num_new - 1])))[:90]
        else:
            known.append((prompt, max_new))
        n = rng.choice([1, 1, 1, 2])
        forces = rng.choice([0, 0, 0, 2])
        bench.add(
            f"r{number}",
            prompt,
            max_new=max_new,
            n=n,
            salts=[rng.choice([0, number + index]) for index in range(n)],
            stops=rng.random() < 0.2,
            priority=rng.randint(0, 1),
            prompt_logprobs=rng.choice([None, None, None, None, 0]),
            forces=forces,
        )
        if rng.random() < 0.1:
            bench.faults[(f"r{number}", 0)] = rng.randint(0, 30)
        for _ in range(rng.choice([0, 2, 20])):
            bench.step()
            bench.now += LINGER_S / 2
        if rng.random() < 0.1:
            bench.abort(f"r{rng.randint(0, number)}", rng.choice([None, 0]))
    bench.run()
    bench.expect_all()
    bench.tree.clear()
    assert bench.tree.num_free == bench.tree.num_slots
    return bench


@pytest.mark.integration
@large
@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=size(500))
def test_drafts_never_change_a_token(seed: int) -> None:
    run_load(seed)


def test_the_random_loads_have_every_event_among_drafts() -> None:
    happened: Counter[str] = Counter()
    for seed in range(40, 65):
        bench = run_load(seed)
        stats = bench.scheduler.stats
        happened["accepted"] += stats.accepted_tokens
        happened["rejected"] += stats.draft_tokens - stats.accepted_tokens
        happened["extended"] += stats.num_extended_steps
        happened["preempted"] += stats.num_preemptions
        happened["evicted"] += bench.tree.num_evicted_nodes
        happened["aborted"] += stats.num_aborted
        happened["failed"] += stats.num_failed
    assert min(happened.values()) > 0, happened
    assert min(happened["accepted"], happened["rejected"]) > 100, happened


def test_right_drafts_save_steps() -> None:
    bench = Bench(max_draft_tokens=7)
    bench.scheduler.drafting.drafters = (AllRight(),)
    bench.add("r", make_prompt(0, 10), max_new=41)
    bench.run()
    bench.expect("r", "length")
    stats = bench.scheduler.stats
    assert stats.num_steps == 1 + 5  # the prompt with one token, and eight tokens a step
    assert (stats.num_drafts, stats.draft_tokens, stats.accepted_tokens) == (5, 35, 35)
    assert stats.output_tokens == 41


def test_a_lone_sequence_is_drafted_for() -> None:
    bench = Bench(max_draft_tokens=16, max_running=1)
    bench.scheduler.drafting.drafters = (AllRight(),)
    bench.add("r", make_prompt(0, 10), max_new=41)
    bench.run()
    bench.expect("r", "length")
    assert bench.scheduler.stats.num_steps == 1 + 3


class AllRight(Guesses):
    def __init__(self) -> None:
        super().__init__(1.0)

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        return Guess(tuple(expected(sequence)[len(sequence.output) :][:limit]), "right")


def test_wrong_drafts_leave_the_slots_of_a_sequence_in_one_run() -> None:
    bench = drafting_bench(0.6, max_draft_tokens=4)
    bench.add("r", make_prompt(0, 50), max_new=100)
    for _ in range(30):
        bench.step()
    (sequence,) = bench.scheduler.running
    assert 0 < bench.scheduler.stats.accepted_tokens < bench.scheduler.stats.draft_tokens
    (node,) = bench.tree.nodes()
    assert len(node.tokens) == 50 + len(sequence.output)
    assert len(node.extent_list()) == 1


def test_a_draft_evicts_nothing() -> None:
    bench = drafting_bench(1.0, num_slots=60, max_draft_tokens=16)
    bench.add("cached", make_prompt(1, 29), max_new=1)
    bench.run()
    bench.add("r", make_prompt(2, 20), max_new=10)
    drafted: list[int] = []
    bench.on_step.append(lambda step: drafted.extend(map(len, step.drafts.values())))
    bench.run()
    bench.expect("r")
    assert drafted
    assert bench.tree.num_evicted_tokens == 0


def test_rows_of_prompts_go_before_drafts() -> None:
    bench = drafting_bench(1.0, max_step_rows=8, max_draft_tokens=7)
    bench.add("r", make_prompt(0, 4), max_new=30)
    bench.step()
    bench.add("long", make_prompt(1, 40), max_new=1)
    before = bench.scheduler.stats.num_drafts
    for _ in range(5):
        bench.step()  # seven rows of the prompt each
    assert bench.scheduler.stats.num_drafts == before
    bench.run()
    bench.expect_all()


def test_a_failed_step_takes_its_drafts_along() -> None:
    bench = drafting_bench(1.0)
    bench.add("r", make_prompt(0, 10), max_new=12)
    bench.step()
    step = None
    while step is None or not step.drafts:
        step = bench.scheduler.schedule()
        assert step is not None
        bench.scheduler.drafting.retract()
        bench.check()
    assert bench.scheduler.steps.isolate(step, ValueError()) is not None
    bench.run()
    bench.expect("r")


def test_no_draft_for_a_request_that_forbids_it() -> None:
    bench = drafting_bench(1.0)
    bench.add("r", make_prompt(0, 10), max_new=12, speculate=False)
    steps: list[ScheduledStep] = []
    bench.on_step.append(steps.append)
    bench.run()
    assert len(steps) == 12
    assert not any(step.drafts for step in steps)


@pytest.mark.parametrize(
    ("device", "is_recurrent", "line"),
    [("cuda", False, "runs on CPUs only"), ("cpu", True, "recurrent layers"), ("cpu", False, "")],
)
def test_a_setting_without_effect_gets_a_line_in_the_log(
    device: str, is_recurrent: bool, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    for wanted in ("8", "off"):
        config = EngineConfig(speculate=wanted)
        found = supported_speculation(config, device, is_recurrent=is_recurrent)
        assert found == ("off" if line else wanted)
    assert line in caplog.text
    assert len(caplog.records) == bool(line)


def test_a_replay_is_drafted_from_the_edge_that_the_tree_holds() -> None:
    bench = Bench(max_draft_tokens=7)
    for name, salt in (("first", 0), ("replay", 0), ("other", 1)):
        bench.add(name, make_prompt(0, 10), max_new=33, salts=[salt])
        before = bench.scheduler.stats.num_steps
        bench.run()
        bench.expect_all()
        assert (bench.scheduler.stats.num_steps - before < 8) == (name == "replay")
    assert bench.tree.num_evicted_tokens == 0


def test_two_sequences_on_one_edge_are_both_drafted_for() -> None:
    """The later one replays the edge that the earlier one extends."""
    bench = drafting_bench(1.0)
    bench.add("ahead", make_prompt(0, 10), max_new=60)
    for _ in range(8):
        bench.step()
    bench.add("after", make_prompt(0, 10), max_new=60)
    drafted: Counter[str] = Counter()
    bench.on_step.append(
        lambda step: drafted.update(each.request.request_id for each in step.drafts)
    )
    bench.run()
    bench.expect_all()
    assert min(drafted["ahead"], drafted["after"]) > 3


# -- lengths ------------------------------------------------------------------------------------


def test_lengths_have_the_most_tokens_a_second() -> None:
    rng = random.Random(4)
    for _ in range(300):
        times = sorted(rng.random() + 0.1 for _ in range(4))
        costs = rising([*zip((1, 3, 8, 20), times, strict=True)])
        guesses = [(rng.randint(0, 4), rng.random()) for _ in range(rng.randint(0, 3))]
        num_rows = rng.randint(1, 9)
        rate = partial(tokens_a_second, costs, num_rows, guesses)
        none = rate((0,) * len(guesses))
        best = max(map(rate, product(*(range(length + 1) for length, _ in guesses))))
        found = tuple(choose_lengths(costs, num_rows, 2, guesses))
        assert rate(found) == pytest.approx(best if best > none * LEAST_GAIN else none)


def tokens_a_second(
    costs: RowCosts, num_rows: int, guesses: list[tuple[int, float]], lengths: tuple[int, ...]
) -> float:
    gains = [
        share**count
        for length, (_, share) in zip(lengths, guesses, strict=True)
        for count in range(1, length + 1)
    ]
    return (2 + sum(gains)) / costs.cost(num_rows + sum(lengths))


def test_costs_grow_between_and_after_the_measured_sizes() -> None:
    costs = rising([(1, 2.0), (8, 3.0), (4, 1.0), (16, 7.0)])
    assert [costs.cost(rows) for rows in (1, 4, 6, 8, 12, 16, 24)] == [2, 2, 2.5, 3, 5, 7, 11]


def test_drafts_stop_where_they_do_not_pay_and_begin_again() -> None:
    """Guesses are judged by the sampled tokens even while none is drafted."""
    bench = drafting_bench(0.0, num_slots=3000, max_draft_tokens=8)
    bench.scheduler.drafting.learned = LearnedCosts(rising([(1, 1.0), (33, 3.0)]))
    drafted: list[int] = []
    bench.on_step.append(lambda step: drafted.append(sum(map(len, step.drafts.values()))))
    bench.add("r", make_prompt(0, 10), max_new=400)
    for _ in range(60):
        bench.step()
    assert sum(drafted[30:]) == 0
    bench.scheduler.drafting.drafters = (AllRight(),)
    bench.run()
    bench.expect_all()
    assert sum(drafted) > 300


def test_many_sequences_draft_nothing_where_rows_cost_as_much_as_tokens() -> None:
    bench = drafting_bench(0.9, num_slots=3000, max_running=64, max_step_rows=256)
    bench.scheduler.drafting.learned = LearnedCosts(rising([(1, 1.0), (8, 1.1), (32, 4.4)]))
    drafted: list[int] = []
    bench.on_step.append(lambda step: drafted.append(sum(map(len, step.drafts.values()))))
    for number in range(20):
        bench.add(f"r{number}", make_prompt(number, 10), max_new=20, salts=[number])
    for _ in range(15):
        bench.step()
    assert sum(drafted) == 0
    bench.run()
    bench.expect_all()


# -- searches -----------------------------------------------------------------------------------


def plain_search(text: list[int], end: list[int], least: int) -> tuple[int, int]:
    """Return what `find_continuation` returns, found by trying every place."""
    best = (0, 0)
    for place in range(1, len(text)):
        length = 0
        while length < min(place, len(end), LONGEST_MATCH) and (
            text[place - 1 - length] == end[-1 - length]
        ):
            length += 1
        if length >= max(least, best[1]):
            best = (place, length)
    return best


@given(
    st.lists(st.integers(0, 2), max_size=90),
    st.lists(st.integers(0, 2), max_size=40),
    st.integers(1, 4),
)
@settings(deadline=None, max_examples=size(1000))
def test_a_search_finds_the_last_of_the_longest_runs(
    text: list[int], end: list[int], least: int
) -> None:
    found = find_continuation(as_tokens(text), as_tokens(end), least)
    assert found == plain_search(text, end, least)


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 60))
@settings(deadline=None, max_examples=size(300))
def test_a_run_that_is_called_new_is_new(text: list[int], taken_over: int) -> None:
    runs = SeenRuns(as_tokens(text[:taken_over]))
    for end in range(taken_over, len(text) + 1):
        runs.extend(text[end - 1 : end] if end > taken_over else [])
        known = text[:end]
        is_repeated = plain_search(known, known, RUN) != (0, 0)
        assert runs.ends_with_known or not is_repeated


def test_most_new_runs_are_called_new_in_texts_of_any_length() -> None:
    rng = random.Random(3)
    bench = Bench(num_slots=8000)
    bench.add("r", [rng.randrange(50_000) for _ in range(100)], max_new=5000)
    (sequence,) = bench.sequences["r"]
    drafter, seem_known = OwnText(), 0
    for _ in range(4000):
        sequence.output.append(rng.randrange(50_000))
        assert drafter.propose(sequence, 8) is None
        seem_known += drafter._texts[sequence][1].ends_with_known
    assert seem_known < 400


def test_a_growing_text_equals_a_list() -> None:
    text = GrowingText(as_tokens([1, 2]))
    wanted = [1, 2]
    for count in (0, 1, 200, 3):
        text.extend(range(count))
        wanted += range(count)
        assert text.view().tolist() == wanted


def guessed(drafter: Drafter, sequence: Sequence, limit: int) -> list[int]:
    guess = drafter.propose(sequence, limit)
    return [*guess.token_ids] if guess is not None else []


def test_own_text_drafts_what_followed_before() -> None:
    bench = Bench()
    bench.add("r", [1, 2, 3, 4, 5, 6, 9, 2, 3, 4], max_new=5)
    (sequence,) = bench.sequences["r"]
    drafter = OwnText()
    assert guessed(drafter, sequence, 9) == [5, 6, 9]  # as many as were equal
    assert guessed(drafter, sequence, 2) == [5, 6]
    sequence.output.extend([5, 6])
    assert guessed(drafter, sequence, 9) == [9, 2, 3, 4, 5]
    sequence.output.extend([7, 7, 7, 7])
    assert guessed(drafter, sequence, 9) == [7, 7, 7]
    drafter.keep_only(())
    assert guessed(drafter, sequence, 1) == [7]
    sequence.output.append(8)
    assert not guessed(drafter, sequence, 9)


def test_a_prediction_is_followed_from_its_start_and_found_again() -> None:
    bench = Bench()
    request = bench.add("r", [1, 2, 3], max_new=5)
    (sequence,) = bench.sequences["r"]
    drafter = Prediction()
    assert not guessed(drafter, sequence, 3)
    request.prediction = (10, 11, 12, 13, 14, 10, 15)
    assert guessed(drafter, sequence, 3) == [10, 11, 12]
    sequence.output.extend([10, 11])
    assert guessed(drafter, sequence, 3) == [12, 13, 14]
    sequence.output.append(99)  # in the place of 12
    assert guessed(drafter, sequence, 3) == [13, 14, 10]
    sequence.output.append(98)  # in the place of 13
    assert guessed(drafter, sequence, 2) == [14, 10]
    sequence.output.extend([97, 96])
    assert not guessed(drafter, sequence, 3)
    sequence.output.extend([13, 14])
    assert guessed(drafter, sequence, 3) == [10, 15]
    assert np.array(sequence.output).dtype == np.int32
