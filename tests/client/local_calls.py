"""A core that notes its steps, and calls of `LocalClient` as `LLM` makes them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from tests.client.scripted_core import ScriptedCore
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.client.local_client import LocalClient


class Core(ScriptedCore):
    """Notes the stepping threads, and can act in the middle of a step."""

    def __init__(self) -> None:
        super().__init__(EngineConfig(model="scripted"))
        self.step_s = 0
        self.steppers: list[int] = []
        self.in_step: Callable[[], None] = lambda: None
        self._busy = threading.Lock()

    def step(self) -> list[TokenDelta]:
        assert self._busy.acquire(blocking=False), "two threads step at once"
        try:
            self.steppers.append(threading.get_ident())
            self.in_step()
            return super().step()
        finally:
            self._busy.release()


class Call:
    """Requests of one caller and their deltas not taken yet."""

    def __init__(self, client: LocalClient, *requests: GenerationRequest) -> None:
        self._client = client
        self._arrived: deque[TokenDelta] = deque()
        self.submissions = [client.prepare(each, self._arrived.append) for each in requests]
        client.send(self.submissions)

    def take(self) -> list[TokenDelta]:
        """Wait for deltas; empty once all requests have ended."""
        if any(submission.is_open for submission in self.submissions):
            self._client.wait_until(lambda: self._arrived)
        taken = []
        while self._arrived:
            taken.append(self._arrived.popleft())
        return taken

    def take_all(self) -> list[TokenDelta]:
        taken = []
        while deltas := self.take():
            taken += deltas
        return taken

    def close(self) -> None:
        self._client.close_submissions(self.submissions)


def drain(client: LocalClient, *requests: GenerationRequest) -> dict[str, list[int]]:
    call = Call(client, *requests)
    drawn: dict[str, list[int]] = {request.request_id: [] for request in requests}
    for delta in call.take_all():
        drawn[delta.request_id] += delta.token_ids
    call.close()
    return drawn


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def num_waiting(client: LocalClient) -> int:
    """Number of threads waiting for the step of another."""
    return len(client._changed._waiters)  # type: ignore[attr-defined]
