"""`DetokenizeBudget`: limits the tokens decoded per event-loop iteration, over all requests.

Sequences in lockstep have tokens to decode at the same time. Decoded in one iteration of the event
loop, they would delay other requests and probes.
"""

from __future__ import annotations

import asyncio
from collections import deque

# Tokens decoded in a row, over all requests, before the event loop serves others.
TOKENS_IN_A_ROW = 256
# Tokens of a sequence decoded at once: few cost more per token, many delay the other sequences.
BATCH_TOKENS = 32


class DetokenizeBudget:
    """A token budget that each event-loop iteration renews. Waiters are served in order."""

    def __init__(self) -> None:
        self._num_left = TOKENS_IN_A_ROW
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._is_renewing = False

    def take(self, num_tokens: int) -> bool:
        """Use the budget for `num_tokens` tokens; return False if that would have to wait."""
        if self._waiting or num_tokens > self._num_left:
            return False
        self._num_left -= num_tokens
        self._renew_soon()
        return True

    async def reserve(self, num_tokens: int) -> None:
        """Wait for the turn to decode `num_tokens` tokens, at most `TOKENS_IN_A_ROW`."""
        if self.take(num_tokens):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((num_tokens, turn))
        self._renew_soon()
        await turn

    def _renew_soon(self) -> None:
        if not self._is_renewing:
            self._is_renewing = True
            asyncio.get_running_loop().call_soon(self._renew)  # in the next iteration

    def _renew(self) -> None:
        self._is_renewing = False
        self._num_left = TOKENS_IN_A_ROW
        while self._waiting and self._waiting[0][0] <= self._num_left:
            num_tokens, turn = self._waiting.popleft()
            if not turn.done():  # or cancelled: its request has ended
                self._num_left -= num_tokens
                turn.set_result(None)
        if self._num_left < TOKENS_IN_A_ROW:
            self._renew_soon()
