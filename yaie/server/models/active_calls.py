"""Completion requests in flight, of all models."""

from __future__ import annotations

import asyncio

from yaie.base.errors import YaieError
from yaie.server.replies.generation import Generation


class ActiveCalls:
    """Generations that run, from their start to their close."""

    def __init__(self) -> None:
        self._generations: set[Generation] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __len__(self) -> int:
        return len(self._generations)

    @property
    def is_idle(self) -> bool:
        """True without a generation."""
        return self._none.is_set()

    def add(self, generation: Generation) -> None:
        """Note a generation that has started."""
        self._generations.add(generation)
        self._none.clear()

    def discard(self, generation: Generation) -> None:
        """Forget a generation that was closed."""
        self._generations.discard(generation)
        if not self._generations:
            self._none.set()

    async def wait_idle(self, timeout_s: float) -> None:
        """Wait until every generation is closed. Raises `TimeoutError`."""
        await asyncio.wait_for(self._none.wait(), timeout_s)

    def fail(self, error: YaieError) -> None:
        """End every generation with an error."""
        for generation in list(self._generations):
            generation.fail(error)

    def names(self) -> dict[str, str]:
        """Return the response id of each engine request in flight."""
        return {
            request.request_id: generation.call.response_id
            for generation in self._generations
            for request in generation.call.requests
        }

    def abort(self, name: str, tenant: str | None) -> int:
        """End the generations with this id of response or HTTP request; return their number.

        `tenant`: ends only this tenant's generations; None without API keys.
        """
        found = [
            each
            for each in self._generations
            if each.is_named(name)
            and each.is_running
            and tenant in (None, each.call.requests[0].tenant)
        ]
        for generation in found:
            generation.abort()
        return len(found)
