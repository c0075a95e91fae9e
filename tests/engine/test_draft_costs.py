"""Costs of drafts on a simulated clock: what pays is drafted, and nothing is ever much slower."""

from __future__ import annotations

import random
from collections.abc import Collection

import pytest

from tests.engine.fake_model import VOCAB_SIZE, Bench, expected, make_prompt
from yaie.attention.plan import StepPlan
from yaie.engine.drafts.draft_lengths import RowCosts, rising
from yaie.engine.drafts.drafter import Guess
from yaie.engine.drafts.learned_costs import LearnedCosts
from yaie.engine.request import Sequence

# Ratios that a memory-bound and a compute-bound processor showed, and none.
CHEAP = rising([(1, 1.0), (2, 1.05), (4, 1.12), (8, 1.35), (16, 1.9), (32, 3.6)], 0.03)
DEAR = rising([(1, 1.0), (2, 1.1), (4, 1.3), (8, 2.0), (16, 3.2), (32, 6.0)], 0.05)
FLAT = rising([(size, 1.0) for size in (1, 2, 4, 8, 16, 32)], 0.01)


class Occasional:
    """A drafter with a guess at some places, whose tokens are right with a probability each."""

    def __init__(self, share_guessed: float, share_right: float, seed: int) -> None:
        self.share_guessed = share_guessed
        self.share_right = share_right
        self.random = random.Random(seed)

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        if self.random.random() >= self.share_guessed:
            return None
        after = expected(sequence)[len(sequence.output) :]
        tokens = [
            token if self.random.random() < self.share_right else (token + 1) % VOCAB_SIZE
            for token in after[: min(limit, self.random.randint(2, 6))]
        ]
        return Guess(tuple(tokens), "occasional", len(tokens))

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        pass


class TimedBench(Bench):
    """A bench whose clock moves by the true costs of each step."""

    def __init__(self, true: RowCosts, *, noise: float = 0.0, max_draft_tokens: int = 0) -> None:
        super().__init__(num_slots=3000, max_draft_tokens=max_draft_tokens)
        self.true, self.noise, self.random = true, noise, random.Random(0)
        self.num_rows = self.num_drafted = 0
        self._compute = self.model.compute
        self.model.compute = self.compute  # type: ignore[method-assign]

    def compute(self, plan: StepPlan) -> tuple[list[list[int]], list[list[int]]]:
        drafted = sum(len(draft.token_ids) for draft in self.scheduler.drafting.live)
        self.num_rows += plan.num_rows
        self.num_drafted += drafted
        cost = self.true.cost(plan.num_rows) + (self.true.planning if drafted else 0.0)
        interrupted = 3.0 if self.random.random() < self.noise / 10 else 1.0
        self.now += cost * self.random.uniform(1 - self.noise, 1 + self.noise) * interrupted
        return self._compute(plan)


def run(
    true: RowCosts,
    start: RowCosts | None,
    drafter: Occasional,
    *,
    noise: float = 0.0,
    num_answers: int = 4,
    at_once: int = 1,
) -> TimedBench:
    """Answer prompts one after the other, `at_once` together, and return the bench at its end."""
    bench = TimedBench(true, noise=noise, max_draft_tokens=16 if start else 0)
    drafting = bench.scheduler.drafting
    drafting.drafters = (drafter,)
    drafting.learned = LearnedCosts(start) if start else None
    for answer in range(num_answers):
        for place in range(at_once):
            salt = 1 + answer * at_once + place
            bench.add(f"{answer} {place}", make_prompt(salt, 8), max_new=150, salts=[salt])
        bench.run()
    bench.expect_all()
    return bench


def slower(
    true: RowCosts, start: RowCosts, share_guessed: float, share_right: float, **settings: float
) -> float:
    """Return the time with drafts by the time without."""
    times = [
        run(true, each, Occasional(share_guessed, share_right, 1), **settings).now  # type: ignore[arg-type]
        for each in (start, None)
    ]
    return times[0] / times[1]


@pytest.mark.parametrize("start", [DEAR, FLAT])
def test_guesses_that_are_never_right_are_soon_not_drafted(start: RowCosts) -> None:
    bench = run(DEAR, start, Occasional(1.0, 0.0, 1), num_answers=1)
    before = bench.num_drafted
    assert before < 0.3 * bench.num_rows
    bench = run(DEAR, start, Occasional(1.0, 0.0, 1), num_answers=3)
    assert bench.num_drafted - before < 0.01 * bench.num_rows


@pytest.mark.parametrize(
    ("share_guessed", "share_right", "most"),
    [
        (0.12, 0.45, 0.99),  # open chat at temperature 0, as a small model repeats itself
        pytest.param(0.15, 0.1, 1.01, marks=pytest.mark.slow),  # at temperature 1
        pytest.param(1.0, 0.9, 0.5, marks=pytest.mark.slow),  # an edit
    ],
)
@pytest.mark.parametrize("true", [CHEAP, DEAR])
@pytest.mark.parametrize("start", [pytest.param(CHEAP, marks=pytest.mark.slow), DEAR, FLAT])
def test_no_load_gets_slower_whatever_was_measured(
    start: RowCosts, true: RowCosts, share_guessed: float, share_right: float, most: float
) -> None:
    assert slower(true, start, share_guessed, share_right, noise=0.3) < most


def test_many_sequences_are_not_slower() -> None:
    """One more draft is one token less where rows cost as much as tokens."""
    true = rising([(1, 1.0), (8, 1.1), (32, 4.4)])
    assert slower(true, CHEAP, 0.5, 0.3, at_once=12, num_answers=1) < 1.02


def test_costs_follow_the_steps_and_not_the_speed() -> None:
    learned = LearnedCosts(FLAT)
    clock = random.Random(0)
    for step in range(2000):
        speed = 2.0 if step > 1000 else 1.0 + step / 1000  # a growing context, and other work
        num_drafted = clock.choice([0, 0, 1, 3, 7])
        cost = DEAR.cost(1 + num_drafted) + (DEAR.planning if num_drafted else 0.0)
        learned.observe(1 + num_drafted, num_drafted, speed * cost * clock.uniform(0.8, 1.2))
    first = learned.costs.cost(1)
    for num_rows in (2, 4, 8):
        found = learned.costs.cost(num_rows) / first
        assert found == pytest.approx(DEAR.cost(num_rows) + DEAR.planning, rel=0.15)


def test_costs_that_forbid_all_drafts_fade() -> None:
    far_off = rising([(1, 1.0), (8, 50.0), (32, 90.0)])
    learned = LearnedCosts(far_off)
    for _ in range(3000):
        learned.observe(1, 0, 1.0)
    assert learned.costs.cost(8) < 2.0 * learned.costs.cost(1)
    assert learned.costs.cost(1) == 1.0
