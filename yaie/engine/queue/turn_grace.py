"""Turn grace: keeps the paths of ended turns pinned until their next turns can arrive.

A caller sees the end of a turn after the step, and answers some milliseconds later. The step that
starts meanwhile would evict the conversation for a waiting request. Used by the scheduler; pure,
with its clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from yaie.kvcache.node import Cursor
from yaie.kvcache.radix_tree import RadixTree

Close = Callable[[Cursor], None]  # ends a cursor, now or later

LINGER_S = 0.05  # a tool call or a program answers sooner; people take seconds


class Lingering:
    """Ended turns' cursors, oldest first.

    Each cursor stays open through one step, or for `LINGER_S` if the step is shorter. It yields
    earlier to an admitted request.
    """

    def __init__(self, tree: RadixTree, clock: Callable[[], float]) -> None:
        self._tree = tree
        self._clock = clock
        self._step = 0
        self._held: deque[tuple[int, float, Cursor]] = deque()  # last step, last moment, cursor

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, cursor: Cursor) -> None:
        """Keep an ended sequence's cursor open."""
        self._held.append((self._step + 1, self._clock() + LINGER_S, cursor))

    def begin_step(self, *, yields: bool) -> None:
        """Close the cursors whose time is over, or all if they yield to suspended sequences."""
        self._step += 1
        if yields:
            self.release_all()
        now = self._clock()
        while self._held and self._held[0][0] < self._step and self._held[0][1] <= now:
            self.release_oldest()

    def release_oldest(self) -> bool:
        """Close the oldest cursor; False if there is none."""
        if not self._held:
            return False
        self._tree.close(self._held.popleft()[-1])
        return True

    def release_all(self) -> None:
        """Close every cursor."""
        while self.release_oldest():
            pass
