"""Costs of following grammars: of a grammar in the engine's steps, of a request outside."""

from __future__ import annotations

import time

# Processor time of one grammar in the engine's steps, all answers together: calls above `CHEAP_S`
# count with the rest, and each token gives `RETURNED_S` back. Ordinary calls take 0.02 ms.
CHEAP_S = 0.0002
RETURNED_S = 0.00002
STEP_S = 0.03
WATCHED = 64  # calls after a slow one
_BYTES_PER_S = 160 << 20  # that a lexer grows by in costly calls, at most
# Processor time of one request's masks in the grammar process: its sequences share `TOKEN_S` for
# a mask each, and the time beyond it adds up to `REQUEST_S`. A sequence may always take
# `LEAST_TOKEN_S`.
REQUEST_S = 0.5
TOKEN_S = 0.005
LEAST_TOKEN_S = 0.001


class GrammarCost:
    """Cost of one compiled grammar in the engine; all its states share it."""

    __slots__ = (
        "__weakref__",
        "_base_bytes",
        "_num_watched",
        "_over_s",
        "_spent_s",
        "is_costly",
        "source",
    )

    def __init__(self, source: str, num_bytes: int, *, is_costly: bool = False) -> None:
        """`source` is in llguidance's format; it needs `num_bytes` once compiled."""
        self.source = source
        self.is_costly = is_costly  # followed in the grammar process
        self._base_bytes = num_bytes
        self._num_watched = 0  # calls whose processor time is read
        self._over_s = 0.0
        self._spent_s = 0.0

    @property
    def num_bytes(self) -> int:
        """Bytes in the engine, with the growth since the compilation."""
        if self.is_costly:
            return 0
        return self._base_bytes + int(self._spent_s * _BYTES_PER_S)

    def now(self) -> float:
        """Return the time of the clock that `charge` compares with."""
        return time.thread_time() if self._num_watched else time.perf_counter()

    def charge(self, began_s: float) -> None:
        """Count a call since `began_s`; the grammar becomes costly beyond `STEP_S`.

        Processor time is read after a call that was slow by the wall clock: reading it is a call of
        the kernel.
        """
        spent_s = self.now() - began_s
        if spent_s > CHEAP_S:
            if self._num_watched:
                self._over_s += spent_s - CHEAP_S
                self._spent_s += spent_s
                self.is_costly = self.is_costly or self._over_s > STEP_S
            self._num_watched = WATCHED
        elif self._num_watched:
            self._num_watched -= 1
            self._over_s = max(0.0, self._over_s - RETURNED_S)


class Spending:
    """Processor time of one request's masks in the grammar process; its sequences share it."""

    __slots__ = ("_num_sequences", "_over_s", "cpu_s", "num_masks")

    def __init__(self) -> None:
        self._num_sequences = 1
        self.cpu_s = 0.0
        self.num_masks = 0
        self._over_s = 0.0

    def share(self) -> Spending:
        """Return it for one more sequence of the request."""
        self._num_sequences += 1
        return self

    def charge(self, cpu_s: float) -> None:
        """Count one mask."""
        self.cpu_s += cpu_s
        self.num_masks += 1
        free_s = min(TOKEN_S, max(LEAST_TOKEN_S, TOKEN_S / self._num_sequences))
        self._over_s = max(0.0, self._over_s + cpu_s - free_s)

    @property
    def is_over(self) -> bool:
        """True beyond the request's budget."""
        return self._over_s > REQUEST_S
