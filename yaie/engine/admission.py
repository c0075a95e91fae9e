"""Admission: waiting requests and suspended sequences enter the tree while there is room.

Used by the scheduler, at the start of a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from yaie.base.queries import Miss
from yaie.base.stats import EngineStats
from yaie.engine.live_sequences import LiveSequences
from yaie.engine.queue.match_cache import MatchCache
from yaie.engine.queue.policy_protocol import AdmissionPolicy
from yaie.engine.queue.queue_limits import Backlog
from yaie.engine.queue.turn_grace import Lingering
from yaie.engine.request import PooledPass, PromptPass, Request, Sequence, SequenceState
from yaie.engine.step.preemption import (
    StepDemand,
    choose_displaced,
    count_missing,
    first_to_resume,
    has_room,
)
from yaie.kvcache.match import Match, kind_of_miss
from yaie.kvcache.node import Tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

_REMEMBERED_MISSES = 64  # of the last admitted requests


class Admission:
    """Admits requests whole, and resumes suspended sequences before them."""

    def __init__(
        self,
        tree: RadixTree,
        live: LiveSequences,
        waiting: AdmissionPolicy,
        *,
        backlog: Backlog,
        matches: MatchCache,
        lingering: Lingering,
        stats: EngineStats,
        clock: Callable[[], float],
        max_step_rows: int,
        max_running: int,
    ) -> None:
        self.lacks_slots = False  # the last admission ended for want of slots
        self.misses: deque[Miss] = deque(maxlen=_REMEMBERED_MISSES)
        self._tree = tree
        self._live = live
        self._waiting = waiting
        self._backlog = backlog
        self._matches = matches
        self._lingering = lingering
        self._stats = stats
        self._clock = clock
        self._max_step_rows = max_step_rows
        self._max_running = max_running

    @property
    def num_free_places(self) -> int:
        """Sequences that could still be admitted; 0 if slots are short."""
        return 0 if self.lacks_slots else max(0, self._max_running - self._live.num_places)

    def run(self) -> None:
        """Give cursors to suspended sequences and to waiting requests, while there is room.

        Suspended ones go first, except before a request that outranks them.
        """
        self.lacks_slots = False
        running, waiting = self._live.running, self._waiting
        if not self._live.suspended and not len(waiting):
            return
        demand = StepDemand(running)
        while True:
            ready = [seq for seq in self._live.suspended if seq.is_ready]
            sequence = first_to_resume(ready, waiting)
            if sequence is not None:
                if not self._resume(sequence, demand):
                    self.lacks_slots = True
                    return
                demand.add(sequence)
                continue
            if not len(waiting) or demand.fills(self._max_step_rows, self._max_running):
                return
            request = waiting.next(self._tree.clock)
            if request is None:
                return
            live = [seq for seq in request.sequences if seq.state is SequenceState.WAITING]
            has_places = not running or demand.num_places + len(live) <= self._max_running
            missing = [demand.num_places + len(live) - self._max_running, 0]
            if has_places:
                match = self._matches.find(request)
                opening = (self._tree, match, len(request.prompt), running, live)
                if has_room(*opening):
                    self._begin(request, live, match, demand)
                    continue
                missing[1] = 0 if self._lingering else count_missing(*opening)  # they yield first
            displaced = choose_displaced(request, running, waiting, *missing)
            if displaced is None:
                self.lacks_slots = has_places
                return
            if has_places and self._lingering.release_oldest():
                continue
            self._live.preempt(displaced)
            demand = StepDemand(running)

    def leave_queue(self, request: Request, remove: Callable[[Request], None]) -> None:
        """Drop a request from the queue's books; `remove` takes it out of the policy."""
        remove(request)
        self._backlog.remove(request)
        self._matches.forget(request)

    def _begin(
        self, request: Request, live: list[Sequence], match: Match, demand: StepDemand
    ) -> None:
        """Admit a request whole: its prompt pass if it needs one, else its live sequences."""
        tree, stats = self._tree, self._stats
        stats.count_admission(self._waiting.reason(request))
        self.leave_queue(request, self._waiting.remove)
        now, rows = self._clock(), self._matches.count_new(request, match)
        self._waiting.charge(request.tenant, rows)
        self._backlog.waits.admit(request, now, rows)
        for sequence in live:
            sequence.admitted_s = now
        if request.num_missing_prompt_logprobs:
            request.prompt_pass = PromptPass(request)
            live = [request.prompt_pass]
        first, *others = live
        wanted = tree.wanted_again.in_double
        kind = kind_of_miss(match)
        if not self._enter(first, request.prompt, match):
            for sequence in live:
                self._live.suspend(sequence)
            return
        missed = len(request.prompt) - match.num_resumable
        evicted = min(missed, tree.wanted_again.in_double - wanted)
        stats.count_miss(missed, evicted, kind)
        self.misses.append(Miss(request.request_id, match.num_resumable, evicted, kind))
        assert first.cursor is not None
        for sequence in others:
            self._live.start(sequence, tree.fork(first.cursor))
        if isinstance(first, PromptPass | PooledPass):
            demand.add(first)
        else:
            demand.add_siblings(len(live), len(request.prompt) - match.num_known + 1)

    def _resume(self, sequence: Sequence, demand: StepDemand) -> bool:
        """Give a suspended sequence a cursor; False if `max_running` or the slots are exhausted."""
        running = self._live.running
        if running and demand.num_places + sequence.num_places > self._max_running:
            return False
        tokens = sequence.tokens()
        match = self._tree.match(sequence.request.namespace, tokens)
        if not has_room(self._tree, match, len(tokens), running, [sequence]):
            return False
        if not self._enter(sequence, tokens, match):
            return False
        self._live.suspended.remove(sequence)
        return True

    def _enter(self, sequence: Sequence, tokens: Tokens, match: Match) -> bool:
        """Open a cursor for a sequence; False if there are too few slots."""
        try:
            cursor = self._tree.open(sequence.request.namespace, tokens, match)
        except OutOfSlots:
            return False
        self._live.start(sequence, cursor)
        return True
