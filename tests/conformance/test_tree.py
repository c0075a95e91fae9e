"""Every supported architecture through the real tree and planner, under eviction pressure.

Sequences with shared prefixes come, grow by tokens of their own or their neighbours' choice, and
end, in a pool so small that prefixes are evicted and computed again all the time.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.conformance.subject import Subject, close
from yaie.attention.plan import FoldingCost, RowSelection, plan_step
from yaie.kvcache.node import Cursor, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

NUM_SLOTS = 110
LONGEST = 60
NUM_STEPS = 18
MOST_STEPS = 90
MOST_LIVE = 4


class Schedule:
    """A small engine without a sampler, driven by a seeded generator."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self.subject = subject
        self.random = random.Random(seed)
        self.tree = RadixTree(NUM_SLOTS)
        self.live: list[Cursor] = []
        self.prompts = list(self._prompts())

    def _prompts(self) -> Iterator[list[int]]:
        trunk = self.subject.tokens(25, seed=1)
        for seed in range(8):
            shared = trunk[: self.random.choice((0, 8, 19, 25))]
            yield shared + self.subject.tokens(self.random.randint(1, 30), seed=100 + seed)

    def step(self) -> None:
        """Admit or end a sequence, compute under a random budget, then check and grow."""
        if len(self.live) < MOST_LIVE:
            prompt = as_tokens(self.random.choice(self.prompts))
            with suppress(OutOfSlots):  # it waits
                self.live.append(self.tree.open("", prompt))
        elif self.random.random() < 0.4:
            self.tree.close(self.live.pop(self.random.randrange(len(self.live))))
        selection = RowSelection(self.random.choice((3, 11, 64)))
        ready = [cursor for cursor in self.live if selection.add(cursor)[1]]
        cost = FoldingCost(segment_overhead=self.random.choice((0, 32, 10_000)))
        planned = plan_step(selection, cost)
        logits = self.subject.executor.execute(planned.plan)
        for node, entry in selection.entries.items():
            self.tree.mark_computed(node, entry.computed_to)
        places = {(c.node, c.offset - 1): self.tree.tokens(c).tolist() for c in ready}
        for place, tokens in places.items():
            got = logits[planned.logit_index[place]]  # type: ignore[index]
            close(got, self.subject.expected(tokens)[-1])
        for cursor in ready:
            self._grow(cursor)
        self.tree.check()

    def _grow(self, cursor: Cursor) -> None:
        if cursor.position < LONGEST:
            with suppress(OutOfSlots):
                # Few distinct tokens: cursors meet, part, and enter nodes computed by others.
                self.tree.append(cursor, self.random.choice((5, 6)))
                return
        self.tree.close(cursor)
        self.live.remove(cursor)


@pytest.mark.integration
def test_schedules_through_the_tree(subject: Subject) -> None:
    schedule = Schedule(subject, seed=zlib.crc32(subject.case.name.encode()))
    for _ in range(NUM_STEPS):
        schedule.step()
    for _ in range(MOST_STEPS - NUM_STEPS):  # continue until the pool is under pressure
        if schedule.tree.num_evicted_tokens:
            break
        schedule.step()
    assert schedule.tree.num_evicted_tokens > 0
