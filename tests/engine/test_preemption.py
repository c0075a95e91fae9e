"""Preemption: tight pools give the same tokens, and priorities decide who loses a cursor."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import Bench
from tests.engine.fake_model import make_prompt as prompt
from yaie.engine.request import Sequence, SequenceState

# -- tight pools --------------------------------------------------------------------------------


def test_a_request_as_long_as_the_pool_is_admitted() -> None:
    """Cached tokens fill the pool and share one token with the prompt."""
    bench = Bench(num_slots=64)
    bench.add("held", prompt(1, 60), max_new=5)
    bench.run()
    assert bench.tree.num_free == 0
    tokens = [prompt(1, 1)[0], *prompt(2, 58)]
    bench.add("new", tokens, max_new=5)
    bench.run()
    bench.expect_all()


def test_the_oldest_progresses_among_twins() -> None:
    """Twins share their tokens: only preempting both frees slots."""
    bench = Bench(num_slots=164, max_step_rows=64)
    bench.add("old", prompt(1, 10), max_new=150)
    for name in ("twin", "twin's twin"):
        bench.add(name, prompt(2, 10), max_new=120)
    bench.run()
    bench.expect_all()
    assert bench.scheduler.stats.num_preemptions > 0


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=10)
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


def test_a_resume_computes_only_what_was_evicted() -> None:
    """The rest of its keys and values is found in the tree."""
    bench = Bench(num_slots=400, policy="fcfs", max_step_rows=256)
    bench.add("first", prompt(1, 150), max_new=60)
    bench.add("second", prompt(2, 150), max_new=90)
    bench.run()
    bench.expect_all()
    stats = bench.scheduler.stats
    needed = 150 + 59 + 150 + 89
    assert stats.num_preemptions > 0
    recomputed = stats.rows_computed - needed
    assert 0 < recomputed < 20  # the first took about 10 slots for its last tokens


# -- priorities ---------------------------------------------------------------------------------


def num_preemptions(bench: Bench, names: list[str]) -> dict[str, int]:
    """Run to the end; count how often each request lost a cursor."""
    lost = dict.fromkeys(names, 0)
    running: set[Sequence] = set()
    while bench.step() is not None:
        for name in names:
            for sequence in bench.sequences[name]:
                lost[name] += sequence in running and sequence.state is SequenceState.SUSPENDED
        running = set(bench.scheduler.running)
    bench.expect_all()
    return lost


@pytest.mark.parametrize("policy", ["priority", "fcfs"])
def test_urgent_requests_keep_their_cursors_under_priority(policy: str) -> None:
    """However cheap their recomputation, which decides under other policies."""
    bench = Bench(num_slots=170, policy=policy, max_step_rows=256)
    bench.add("old", prompt(1, 40), max_new=90, priority=5)
    bench.add("long", prompt(2, 40), max_new=90, priority=5)
    bench.add("urgent", prompt(3, 5), max_new=90)
    lost = num_preemptions(bench, ["old", "long", "urgent"])
    if policy == "priority":
        assert lost["urgent"] == 0
        assert lost["old"] + lost["long"] > 0
    else:
        assert lost["old"] == 0
        assert lost["urgent"] > 0


@pytest.mark.parametrize("num_slots", range(760, 764))
def test_the_cheapest_is_preempted_whichever_needs_a_slot(num_slots: int) -> None:
    """Also if it grows itself; the size of the pool decides which sequence grows last."""
    bench = Bench(num_slots=num_slots, policy="fcfs", max_step_rows=1024)
    bench.add("old", prompt(1, 50), max_new=200)
    bench.add("long", prompt(2, 500), max_new=200)
    bench.add("cheap", prompt(3, 10), max_new=190)
    while not bench.scheduler.suspended:
        bench.step()
    assert [seq.request.request_id for seq in bench.scheduler.suspended] == ["cheap"]
    bench.run()
    bench.expect_all()


def test_twins_are_preempted_together_for_an_urgent_one() -> None:
    """Preempting one of them frees no slot, and still the more urgent third is kept."""
    bench = Bench(num_slots=220, policy="priority", max_step_rows=256)
    bench.add("first", prompt(1, 10), max_new=100)
    bench.add("second", prompt(2, 10), max_new=100, priority=1)
    for name in ("twin", "twin's twin"):
        bench.add(name, prompt(3, 10), max_new=100, priority=2)
    lost = num_preemptions(bench, ["first", "second", "twin", "twin's twin"])
    assert (lost["first"], lost["second"]) == (0, 0)
    assert (lost["twin"], lost["twin's twin"]) == (1, 1)


def test_only_an_urgent_request_goes_before_a_preempted_one() -> None:
    bench = Bench(num_slots=140, policy="priority", max_step_rows=256, max_running=2)
    bench.add("a", prompt(1, 10), max_new=110, priority=1)
    bench.add("b", prompt(2, 10), max_new=110, priority=1)
    while not bench.scheduler.suspended:
        bench.step()
    bench.add("equal", prompt(3, 10), max_new=110, priority=1)
    bench.add("urgent", prompt(4, 10), max_new=5)
    ends: list[str] = []
    while bench.step() is not None:
        for (name, _), answer in bench.answers.items():
            if answer.last is not None and name not in ends:
                ends.append(name)
    bench.expect_all()
    assert ends == ["urgent", "a", "b", "equal"]
