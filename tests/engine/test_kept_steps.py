"""Kept steps: the plan of the next decode step is the last one, extended.

Every `Bench` compares each of its steps with one made from scratch, so the random schedules of the
other modules compare them too. Here the kept steps are the subject.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import Bench, continuation, make_prompt
from tests.sizes import large, size
from yaie.attention.segment_table import ROOM
from yaie.engine.queue.turn_grace import LINGER_S


def run_decode(seed: int, *, max_step_rows: int = 256) -> Bench:
    """Run long answers that overlap, with a few events between steps of plain decoding."""
    rng = random.Random(seed)
    bench = Bench(
        num_slots=rng.choice([300, 3000]),
        eviction=rng.choice(["adaptive", "lru"]),
        policy=rng.choice(["prefix-aware", "priority"]),
        max_step_rows=max_step_rows,
        max_running=12,
        segment_overhead=rng.choice([0, 4, 32]),
    )
    shared = rng.choice([0, 3, 40])
    for number in range(rng.randint(1, 10)):
        n = rng.choice([1, 1, 1, 3])
        bench.add(
            f"r{number}",
            make_prompt(number, shared + rng.randint(1, 30), shared),
            max_new=rng.choice([5, 60, 120]),
            n=n,
            salts=[number + index for index in range(n)],
            stops=rng.random() < 0.2,
            priority=rng.randint(0, 1),
            prompt_logprobs=rng.choice([None, None, None, 0]),
            forces=rng.choice([0, 0, 0, 1]),
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
    return bench


@pytest.mark.integration
@large
@given(st.integers(0, 2**32), st.sampled_from([3, 16, 256]))
@settings(deadline=None, max_examples=size(250))
def test_extended_steps_equal_fresh_ones(seed: int, max_step_rows: int) -> None:
    run_decode(seed, max_step_rows=max_step_rows)


@pytest.mark.integration
def test_the_random_schedules_extend_steps_between_every_kind_of_event() -> None:
    happened: Counter[str] = Counter()
    for seed in range(30):
        bench = run_decode(seed)
        stats = bench.scheduler.stats
        happened["extended"] += stats.num_extended_steps
        happened["fresh"] += stats.num_steps - stats.num_extended_steps
        happened["preempted"] += stats.num_preemptions
        happened["evicted"] += bench.tree.num_evicted_nodes
        happened["forced"] += stats.forced_tokens
        happened["aborted"] += stats.num_aborted
        happened["failed"] += stats.num_failed
    assert happened["extended"] > 500
    assert happened["fresh"] > 300
    assert min(happened.values()) > 2, happened


def test_a_decode_step_is_extended_beyond_the_room_of_its_segments() -> None:
    bench = Bench(num_slots=2000, max_step_rows=64)
    for number in range(4):
        bench.add(f"r{number}", make_prompt(number, 20, 10), max_new=2 * ROOM + 50, salts=[number])
    bench.run()
    bench.expect_all()
    stats = bench.scheduler.stats
    assert stats.num_extended_steps > 2 * ROOM
    # One of the prompts, and one for each answer that branches off the one before.
    assert stats.num_steps - stats.num_extended_steps < 8


def test_an_end_drops_a_row_of_the_kept_step() -> None:
    """The first of three ends leaves every fork; the last one leaves a single path."""
    bench = Bench(num_slots=400, segment_overhead=0)
    for number in range(4):
        prompt = make_prompt(number, 20, 10)
        bench.add(f"r{number}", prompt, max_new=[30, 10, 20, 25][number], salts=[number])
    num_rows, extended = [], []
    while (step := bench.step()) is not None:
        num_rows.append(step.plan.num_rows)
        extended.append(step.is_extended)
    bench.expect_all()
    ends = [i for i in range(2, len(num_rows)) if num_rows[i] < num_rows[i - 1]]
    assert [num_rows[i] for i in ends] == [3, 2, 1]
    assert extended[ends[0]]
    assert not extended[ends[-1]]


def test_a_sequence_that_resumes_at_its_old_node_gets_a_fresh_step() -> None:
    """Rows are in order of admission, and it is the last one now."""
    bench = Bench(num_slots=400)
    for number in range(3):
        bench.add(f"r{number}", make_prompt(number, 20), max_new=20, salts=[number])
    for _ in range(4):
        step = bench.step()
    assert step is not None
    assert step.is_extended
    sequence = bench.scheduler.running[1]
    node = sequence.last_token[0]
    bench.scheduler._live.preempt(sequence)
    step = bench.step()  # compared with a fresh one
    assert step is not None
    assert sequence in step.members
    assert sequence.last_token[0] is node
    bench.run()
    bench.expect_all()


def test_a_sequence_that_branches_off_gets_a_fresh_step() -> None:
    bench = Bench(num_slots=400)
    prompt = make_prompt(0, 6)
    bench.add("cached", prompt[:5], max_new=1)
    bench.run()
    other = next(token for token in range(7) if token != continuation(prompt, 1)[0])
    bench.add("below", [*prompt, other], max_new=5)
    bench.step()
    bench.add("above", prompt, max_new=5)
    step = bench.step()
    assert step is not None
    assert step.plan.num_rows == 2
    bench.run()
    bench.expect_all()


def test_sequences_at_one_place_of_the_tree_get_fresh_steps() -> None:
    bench = Bench(num_slots=400)
    bench.add("r", make_prompt(0, 20), max_new=20, n=2, salts=[0, 0])
    bench.run()
    bench.expect_all()
    assert bench.scheduler.stats.num_extended_steps == 0


def test_a_kept_step_leaves_the_plans_before_it_as_they_were() -> None:
    bench = Bench(num_slots=400)
    bench.add("r", make_prompt(0, 20), max_new=20)
    plans = []
    bench.on_step.append(
        lambda step: plans.append((step.plan, [s.slots for s in step.plan.segments]))
    )
    bench.run()
    for plan, slots in plans:
        assert [segment.slots.tolist() for segment in plan.segments] == [s.tolist() for s in slots]
        assert all(segment.slots[-1] == plan.slots[-1] for segment in plan.segments)
