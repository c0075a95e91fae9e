"""`StepRows`: the most rows of a step, lowered while the device is short of memory. Pure."""

from __future__ import annotations

_GOOD_STEPS = 64  # before the limit doubles again


class StepRows:
    """The limit on the rows of a step.

    The memory of a step grows with its rows. After a step that ran out of memory the limit is half
    its rows, and it doubles with every `_GOOD_STEPS` steps that succeed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._num_good = 0
        self.limit = most

    def shrink(self, num_rows: int) -> None:
        """Lower the limit below a step of `num_rows` rows, but not below 1."""
        self.limit = max(1, num_rows // 2)
        self._num_good = 0

    def succeeded(self) -> None:
        """Count a step."""
        if self.limit == self._most:
            return
        self._num_good += 1
        if self._num_good == _GOOD_STEPS:
            self.limit = min(self._most, 2 * self.limit)
            self._num_good = 0
