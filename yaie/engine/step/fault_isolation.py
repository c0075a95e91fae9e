"""Fault isolation: finds the sequences that make steps fail, by halves. Pure.

A kernel that raises for one row fails the whole step. The step's sequences are then computed again
in two halves, a failed half in two quarters, until a failed step has a single sequence: one faulty
sequence of 16 costs 8 more steps. Every other sequence continues, with the tokens that it
would have had.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from yaie.base.errors import InvariantViolated
from yaie.engine.request import Sequence

_MAX_FAULTY = 3  # without a step that succeeds; then the device or the model is broken


class FaultIsolation:
    """The groups of sequences that are computed apart, the next one last."""

    def __init__(self) -> None:
        self._groups: list[SequenceOf[Sequence]] = []
        self._num_faulty = 0
        self._has_worked = True  # a step succeeded since the search began

    @property
    def is_searching(self) -> bool:
        """True if a group is left to compute."""
        return bool(self._groups)

    def select(self, running: SequenceOf[Sequence]) -> SequenceOf[Sequence]:
        """Return the running sequences of the next group; all of them without a group."""
        while self._groups:
            group = set(self._groups[-1])
            selected = [each for each in running if each in group]
            if selected:
                return selected
            self._groups.pop()  # all were aborted or preempted
        return running

    def note_success(self) -> None:
        """Trust the sequences of the last step."""
        self._num_faulty = 0
        self._has_worked = True
        if self._groups:
            self._groups.pop()

    def note_failure(self, members: SequenceOf[Sequence], error: Exception) -> Sequence | None:
        """Split the sequences of a step that raised `error`, or return the only one.

        Raises `InvariantViolated` if at least three failed and no step succeeded meanwhile.
        """
        if self._groups:
            self._groups.pop()
        else:
            self._has_worked = False
        if len(members) > 1:
            middle = len(members) // 2
            self._groups += [members[middle:], members[:middle]]
            return None
        self._num_faulty += not self._has_worked
        if self._num_faulty >= _MAX_FAULTY and not self._groups:
            raise InvariantViolated(
                f"{self._num_faulty} sequences failed, each in its own step, and no other step "
                f"succeeded: the device or the model is broken: {error}"
            ) from error
        return members[0]
