"""States of recurrent layers over a fake model: each row continues from its own prefix's state."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.engine.fake_model import (
    Bench,
    FakeModel,
    WatchedScheduler,
    continuation,
    prompt_of_pooled,
)
from tests.engine.fake_model import make_prompt as prompt
from tests.sizes import IS_WHOLE, large, size
from yaie.attention.plan import StepPlan
from yaie.attention.state_chains import place_states
from yaie.base.errors import LogitsNotFinite
from yaie.engine.scheduled_step import ScheduledStep
from yaie.kvcache.node_states import NO_STATE

MAX_RUNNING = 6


class StatefulModel(FakeModel):
    """A fake model whose states are the prefixes themselves."""

    def __init__(self, num_slots: int, num_states: int) -> None:
        super().__init__(num_slots)
        self.states: list[list[int] | None] = [None] * num_states
        self.most_spare = 0

    def compute(self, plan: StepPlan) -> tuple[list[list[int]], list[list[int]]]:
        found = super().compute(plan)
        assert plan.chains is not None
        _, num_spare = place_states(plan.chains, len(self.states))
        self.most_spare = max(self.most_spare, num_spare)
        ends: list[list[int]] = []
        next_row = 0
        for chain in plan.chains:
            assert chain.first_row == next_row, "rows are in no chain or in two"
            next_row = chain.end_row
            start = self.states[chain.source] if chain.source != NO_STATE else []
            prefix = list(ends[chain.parent] if chain.parent >= 0 else start or [])
            for row in range(chain.first_row, chain.end_row):
                prefix.append(int(plan.token_ids[row]))
                assert prefix == self._read(plan, row), "a state of another prefix"
            ends.append(prefix)
        assert next_row == plan.num_rows
        for chain, end in zip(plan.chains, ends, strict=True):
            if chain.target != NO_STATE:
                self.states[chain.target] = end
        return found


class StatefulScheduler(WatchedScheduler):
    """A scheduler whose steps are made once: a second plan would take other slots."""

    def _compare_with_a_fresh_one(self, step: ScheduledStep) -> None:
        pass


class StateBench(Bench):
    """A bench of a model with recurrent layers; some steps fail."""

    def __init__(
        self,
        rng: random.Random,
        *,
        num_slots: int,
        num_states: int,
        rows: int,
        turn_ends: tuple[int, ...] = (),
    ) -> None:
        super().__init__(num_slots=num_slots, max_step_rows=rows, max_running=MAX_RUNNING)
        self.rng = rng
        self.model = StatefulModel(num_slots, num_states)
        self.scheduler = StatefulScheduler(
            self.tree,
            clock=lambda: self.now,
            max_step_rows=rows,
            max_running=MAX_RUNNING,
            num_states=num_states,
            turn_ends=turn_ends,
        )
        self.num_failed_steps = 0

    def step(self) -> ScheduledStep | None:
        if self.scheduler.running and self.rng.random() < 0.05:
            step = self.scheduler.schedule()
            if step is not None:
                self.num_failed_steps += 1
                for chain in step.plan.chains or ():  # some layers have written
                    if chain.target != NO_STATE:
                        self.model.states[chain.target] = None  # type: ignore[attr-defined]
                self.scheduler.steps.retry_smaller(step)
        return super().step()

    def check(self) -> None:
        super().check()
        states = self.scheduler.states
        assert states is not None
        if not self.scheduler.has_work:
            assert states.nodes.num_used == len(states.nodes), "an ended sequence holds a state"
        for node, offset, slot in states.nodes.checkpoints():
            held: list[int] = []
            above = node.parent
            tokens = [*node.tokens[:offset]]
            while above is not None:
                tokens = [*above.tokens, *tokens]
                above = above.parent
            held = self.model.states[slot] or []  # type: ignore[attr-defined]
            assert held == tokens, "a checkpoint of another prefix"


def run_schedule(seed: int) -> StateBench:
    """Run requests that branch, arrive, fail and abort at random, with few slots and states."""
    rng = random.Random(seed)
    longest, max_new = 40, rng.choice([12, 60])
    bench = StateBench(
        rng,
        num_slots=longest + max_new + rng.choice([0, 60, 200]),
        num_states=rng.choice([MAX_RUNNING, MAX_RUNNING + 2, 30]),
        rows=rng.choice([3, 5]),  # fewer than may run: the first need not progress in each step
        turn_ends=rng.choice([(), (0,)]),
    )
    known: list[list[int]] = [[1]]
    for number in range(rng.randint(3, 12)):
        base = rng.choice(known)[: rng.randint(1, longest)]
        tokens = base + [rng.randrange(3) for _ in range(rng.randint(0, longest - len(base)))]
        known += [tokens, tokens + continuation(tokens, 6)]  # a chat continues
        n = rng.choice([1, 2, 3])
        pooling = rng.choice([None, None, None, None, "last", "mean"])
        bench.add(
            f"r{number}",
            tokens,
            max_new=rng.choice([1, max_new // 2, max_new]),
            n=1 if pooling else n,
            salts=[rng.choice([0, number, number + each]) for each in range(1 if pooling else n)],
            stops=rng.random() < 0.3,
            namespace=rng.choice(["", "", "other"]),
            prompt_logprobs=rng.choice([None, None, 0]),
            forces=rng.choice([0, 0, 2]),
            pooling=pooling,
        )
        if rng.random() < 0.15:
            bench.faults[(f"r{number}", 0)] = rng.randint(0, 3)
        for _ in range(rng.choice([0, 0, 1, 3, 10])):
            bench.step()
        if rng.random() < 0.2:
            bench.abort(f"r{rng.randint(0, number)}", rng.choice([None, 0, 1]))
    bench.run()
    for name, request in bench.requests.items():
        last = bench.answers[(name, 0)].last
        if request.pooling is None:
            bench.expect(name)
        elif last is not None and last.finish_reason == "stop":
            pooled = np.frombuffer(last.pooled, "<f4")
            assert pooled == pytest.approx(prompt_of_pooled(request))
    bench.tree.clear()
    assert bench.scheduler.states is not None
    assert bench.scheduler.states.nodes.num_used == 0
    assert bench.model.most_spare <= MAX_RUNNING + 1  # as the memory plan counts
    return bench


@large
def test_every_row_continues_from_the_state_of_its_prefix() -> None:
    benches = [run_schedule(seed) for seed in range(size(100))]
    assert sum(bench.scheduler.stats.rows_recomputed for bench in benches) > 100
    assert sum(bench.num_failed_steps for bench in benches) > 4
    nodes = [bench.tree.states for bench in benches]
    assert sum(each.num_evicted for each in nodes if each is not None) > 4
    if IS_WHOLE:
        assert sum(bench.scheduler.stats.num_preemptions for bench in benches) > 4


@pytest.mark.parametrize(("shared", "own"), [(1600, 100), (1500, 150), (100, 30)])
def test_prompts_resume_where_they_part(shared: int, own: int) -> None:
    """From the third prompt on, just there; the second leaves the state."""
    rng = random.Random(0)
    bench = StateBench(rng, num_slots=64 * own + shared + 2000, num_states=400, rows=4096)
    rng.random = lambda: 1.0  # type: ignore[method-assign]  # no step fails
    for number in range(5):
        bench.add(f"r{number}", prompt(number, shared + own, shared=shared), max_new=1)
        bench.run()
    cached = [bench.requests[f"r{number}"].num_cached for number in range(5)]
    assert cached[0] == 0
    assert cached[2:] == [shared] * 3


def test_states_on_a_path_with_non_finite_logits_are_not_used_again() -> None:
    rng = random.Random(0)
    bench = StateBench(rng, num_slots=3000, num_states=60, rows=4096)
    rng.random = lambda: 1.0  # type: ignore[method-assign]  # no step fails
    for name in ("bad", "good"):
        bench.add(name, prompt(len(name), 240, shared=200), max_new=30)
        bench.step()
    (sequence,) = bench.sequences["bad"]
    bench._take([bench.scheduler.fail(sequence, LogitsNotFinite("non-finite"))])
    bench.check()
    bench.add("next", prompt(2, 260, shared=200), max_new=2)
    bench.run()
    bench.expect_all()
    assert bench.requests["good"].num_cached == 0
    assert bench.requests["next"].num_cached == 0  # though the tree holds the shared tokens
