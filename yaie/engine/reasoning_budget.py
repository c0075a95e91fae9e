"""Reasoning budget: closes an output's reasoning once it has reached its limit. Pure."""

from __future__ import annotations

from yaie.base.types import ReasoningLimit

# Most tokens before the one that opens the reasoning, such as line ends; a later one is text.
MAX_BEFORE = 8


class ReasoningBudget:
    """One output's state under a `ReasoningLimit`."""

    __slots__ = ("_is_open", "_is_over", "_limit", "_num_tokens")

    def __init__(self, limit: ReasoningLimit) -> None:
        self._limit = limit
        self._is_open = limit.is_open
        self._is_over = False
        self._num_tokens = 0  # in the reasoning, or before it

    def fresh(self) -> ReasoningBudget:
        """Return the state of another output."""
        return ReasoningBudget(self._limit)

    @property
    def forced(self) -> int | None:
        """The only token that may follow: the closer, once the limit is reached."""
        is_due = self._is_open and self._num_tokens >= self._limit.max_tokens
        return self._limit.closer_id if is_due and not self._is_over else None

    def add(self, token_id: int) -> None:
        """Add a token of the output."""
        if self._is_over:
            return
        self._num_tokens += 1
        if token_id == self._limit.closer_id:
            self._is_over = True
        elif not self._is_open:
            if token_id == self._limit.opener_id:
                self._is_open, self._num_tokens = True, 0
            self._is_over = self._num_tokens > MAX_BEFORE
