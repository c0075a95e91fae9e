"""The engine process's loop: what it does while nobody asks for anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.scripted_core import ScriptedCore
from yaie.client import worker
from yaie.client.messages import Shutdown, ToChild, ToParent, pack_add
from yaie.config import EngineConfig
from yaie.types import GenerationRequest, SamplingParams


class ReadyCore(ScriptedCore):
    """Has a few pieces of idle work."""

    pieces = 3

    def use_idle_moment(self) -> bool:
        self.pieces -= 1
        return self.pieces >= 0


class Script:
    """A channel whose messages come at given looks at it; notes which looks would have slept."""

    def __init__(self, messages: dict[int, ToChild], looks: int) -> None:
        self._messages = messages
        self._looks = looks
        self.slept: list[bool] = []
        self.sent: list[ToParent] = []

    def receive(self, *, wait: bool) -> Iterator[ToChild]:
        self.slept.append(wait)
        if len(self.slept) >= self._looks:
            yield Shutdown()
        elif len(self.slept) in self._messages:
            yield self._messages[len(self.slept)]

    def send(self, message: ToParent) -> None:
        self.sent.append(message)


def served(script: Script) -> ReadyCore:
    core = ReadyCore(EngineConfig(model="scripted"))
    worker._serve(script, core, [])  # type: ignore[arg-type]
    return core


def test_idle_moments_are_used_before_it_sleeps() -> None:
    script = Script({}, looks=6)
    served(script)
    assert script.slept == [False, False, False, True, True, True]


def test_a_request_does_not_wait_for_idle_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    request = GenerationRequest(
        request_id="one", prompt_token_ids=(20,), sampling=SamplingParams(max_tokens=2)
    )
    script = Script({2: pack_add(request)}, looks=9)
    core = served(script)
    # Behind the first and second piece, between two steps, behind the third piece; then sleep.
    assert script.slept[:5] == [False, False, False, False, True]
    assert len(script.sent) == 2
    assert not core.has_work
