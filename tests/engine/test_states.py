"""States of a sequence: the table of changes, and that a schedule makes each of them."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.engine.fake_model import Bench
from yaie.base.errors import InvariantViolated
from yaie.engine.request import TRANSITIONS, Sequence, SequenceState

WAITING, RUNNING = SequenceState.WAITING, SequenceState.RUNNING
SUSPENDED, FINISHED = SequenceState.SUSPENDED, SequenceState.FINISHED
LEGAL = {
    (WAITING, RUNNING),  # admitted
    (WAITING, SUSPENDED),  # its prompt pass has ended
    (WAITING, FINISHED),  # aborted, or overdue
    (RUNNING, SUSPENDED),  # preempted
    (RUNNING, FINISHED),
    (SUSPENDED, RUNNING),  # resumed
    (SUSPENDED, FINISHED),  # aborted
}


@pytest.mark.parametrize(("old", "new"), [*itertools.product(SequenceState, repeat=2)])
def test_only_the_changes_of_the_table_are_made(old: SequenceState, new: SequenceState) -> None:
    bench = Bench()
    sequence = bench.add("r", [1, 2, 3]).sequences[0]
    sequence.state = old
    if (old, new) in LEGAL:
        sequence.become(new)
        assert sequence.state is new
        return
    with pytest.raises(InvariantViolated, match=f"is {old.value} and cannot become {new.value}"):
        sequence.become(new)
    assert sequence.state is old


def test_schedules_make_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[SequenceState, SequenceState]] = set()
    become = Sequence.become

    def record(sequence: Sequence, state: SequenceState) -> None:
        seen.add((sequence.state, state))
        become(sequence, state)

    monkeypatch.setattr(Sequence, "become", record)
    rng, bench = random.Random(5), Bench(num_slots=70)
    for number in range(60):
        prompt = [rng.randrange(30) for _ in range(rng.randint(1, 8))]
        scored = rng.choice([None, None, 1])
        bench.add(f"r{number}", prompt, max_new=40, n=rng.randint(1, 6), prompt_logprobs=scored)
        bench.step()
        if rng.random() < 0.3:
            bench.abort(f"r{rng.randint(max(0, number - 6), number)}")
    while bench.scheduler.has_work:
        bench.step()
    assert seen == LEGAL == {(old, new) for old, news in TRANSITIONS.items() for new in news}
