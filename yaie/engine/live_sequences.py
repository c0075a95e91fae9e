"""Live sequences: those with a cursor in the tree, and those that wait for one again.

Used by the scheduler and its admission.
"""

from __future__ import annotations

from collections.abc import Callable

from yaie.base.stats import EngineStats
from yaie.engine.queue.policy_protocol import AdmissionPolicy
from yaie.engine.queue.turn_grace import Close, Lingering
from yaie.engine.request import Sequence, SequenceState
from yaie.engine.step.preemption import choose_victim
from yaie.engine.step.sequence_states import SequenceStates
from yaie.kvcache.node import Cursor
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots


class LiveSequences:
    """Gives cursors to sequences and takes them."""

    def __init__(
        self,
        tree: RadixTree,
        waiting: AdmissionPolicy,
        lingering: Lingering,
        stats: EngineStats,
        states: SequenceStates | None,
    ) -> None:
        """`waiting` is charged for held slots; `lingering` cursors yield before a preemption."""
        self.running: list[Sequence] = []  # in order of admission
        self.suspended: list[Sequence] = []  # without a cursor; go before the waiting queue
        self._tree = tree
        self._waiting = waiting
        self._lingering = lingering
        self._stats = stats
        self._states = states

    @property
    def num_places(self) -> int:
        """Places of `max_running` that the sequences take."""
        return sum(sequence.num_places for sequence in (*self.running, *self.suspended))

    def start(self, sequence: Sequence, cursor: Cursor) -> None:
        """Have a sequence run on a cursor."""
        sequence.cursor = cursor
        sequence.entered_at = self._tree.clock
        sequence.become(SequenceState.RUNNING)
        self.running.append(sequence)

    def grow(self, sequence: Sequence, token_id: int) -> None:
        """Append a token to the tree; preempt until there is a slot for it."""
        while sequence.cursor is not None:  # this sequence may be the preempted one
            try:
                self._tree.append(sequence.cursor, token_id)
            except OutOfSlots:
                if not self._lingering.release_oldest():
                    self.preempt(choose_victim(sequence, self.running, self._waiting))
            else:
                return

    def preempt(self, sequence: Sequence) -> None:
        """Hold a sequence for want of slots or places."""
        self._stats.num_preemptions += 1
        self.hold(sequence)

    def hold(self, sequence: Sequence) -> None:
        """Take a sequence's cursor. Its computed tokens stay cached until they are evicted."""
        self._take_cursor(sequence, self._tree.close)
        self.suspend(sequence)

    def suspend(self, sequence: Sequence) -> None:
        """Have a sequence without a cursor wait for one."""
        sequence.become(SequenceState.SUSPENDED)
        self.suspended.append(sequence)

    def finish(self, sequence: Sequence, close: Close) -> None:
        """End a sequence, and its cursor with `close`."""
        if sequence.state is SequenceState.RUNNING:
            self._take_cursor(sequence, close)
        elif sequence.state is SequenceState.SUSPENDED:
            self.suspended.remove(sequence)
        sequence.become(SequenceState.FINISHED)

    def _take_cursor(self, sequence: Sequence, close: Callable[[Cursor], None]) -> None:
        assert sequence.cursor is not None
        held = sequence.count_own_tokens() * (self._tree.clock - sequence.entered_at)
        self._waiting.charge(sequence.request.tenant, held / self._tree.num_slots)
        if self._states is not None:
            self._states.leave(sequence)
        close(sequence.cursor)
        sequence.cursor = None
        self.running.remove(sequence)
