"""The engine process's loop: idle work, sleep, and frames."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from tests.client.scripted_core import ScriptedCore
from yaie.base.cache_changes import BlocksStored
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import ExpectedPrompt, GenerationRequest, SamplingParams, TokenDelta
from yaie.client import worker
from yaie.client.wire import Deltas, Expect, PromptPart, Shutdown, Submit, ToChild, ToParent
from yaie.engine.loop import EngineLoop


class ReadyCore(ScriptedCore):
    """Has a few pieces of idle work."""

    pieces = 3

    def use_idle_moment(self) -> bool:
        self.pieces -= 1
        return self.pieces >= 0


class Script:
    """A channel with messages at given receives; notes the receives that would have slept."""

    def __init__(self, messages: dict[int, ToChild], receives: int) -> None:
        self._messages = messages
        self._receives = receives
        self.slept: list[bool] = []
        self.sent: list[ToParent] = []

    def receive(self, *, wait: bool) -> Iterator[ToChild]:
        self.slept.append(wait)
        if len(self.slept) >= self._receives:
            yield Shutdown()
        elif len(self.slept) in self._messages:
            yield self._messages[len(self.slept)]

    def send(self, message: ToParent) -> None:
        self.sent.append(message)


def served(script: Script, kind: type[ScriptedCore] = ReadyCore) -> ScriptedCore:
    core = kind(EngineConfig(model="scripted"))
    worker._serve(script, EngineLoop(core), [])  # type: ignore[arg-type]
    return core


def test_idle_work_is_done_before_it_sleeps() -> None:
    script = Script({}, receives=6)
    served(script)
    assert script.slept == [False, False, False, True, True, True]


def test_a_request_does_not_wait_for_idle_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    request = GenerationRequest(
        request_id="one", prompt_token_ids=(20,), sampling=SamplingParams(max_tokens=2)
    )
    script = Script({2: Submit.pack(request)}, receives=9)
    core = served(script)
    # Behind the first and second piece, between two steps, behind the third piece; then sleep.
    assert script.slept[:5] == [False, False, False, False, True]
    assert len(script.sent) == 2
    assert not core.has_work


def test_statistics_are_sent_with_the_last_step_of_a_short_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    monkeypatch.setattr("yaie.engine.loop.STATS_INTERVAL_S", 60.0)
    request = GenerationRequest(
        request_id="one", prompt_token_ids=(20,), sampling=SamplingParams(max_tokens=3)
    )
    script = Script({1: Submit.pack(request)}, receives=8)
    served(script)
    sent = [each for each in script.sent if isinstance(each, Deltas)]
    assert [each.stats and each.stats.num_steps for each in sent] == [1, None, 3]


class ChangingCore(ReadyCore):
    """Stores a block in each piece of idle work, as prefill ahead of a turn does."""

    def use_idle_moment(self) -> bool:
        is_left = super().use_idle_moment()
        if is_left:
            self.cache_changes = (BlocksStored(bytes([self.pieces] * 8), None, b"", 16),)
        return is_left


def test_blocks_of_idle_work_are_reported_before_it_sleeps() -> None:
    script = Script({}, receives=6)
    served(script, ChangingCore)
    sent = [each for each in script.sent if isinstance(each, Deltas)]
    names = [change.names[0] for each in sent for change in each.cache_changes]  # type: ignore[union-attr]
    assert names == [2, 1, 0]


class LongPromptCore(ReadyCore):
    """Gives a thousand prompt logprobs for each prompt."""

    def step(self) -> list[TokenDelta]:
        return [replace(delta, prompt_logprobs=(None,) * 1000) for delta in super().step()]


def test_logprobs_of_a_long_prompt_are_sent_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    request = GenerationRequest(
        request_id="one", prompt_token_ids=(20,), sampling=SamplingParams(max_tokens=1)
    )
    script = Script({1: Submit.pack(request)}, receives=4)
    served(script, LongPromptCore)
    *parts, last = script.sent
    lengths = [len(part.logprobs) for part in parts if isinstance(part, PromptPart)]
    assert sum(lengths) == 1000
    assert len(lengths) == len(parts) == 4
    assert not isinstance(last, PromptPart)


def test_a_request_that_cannot_be_unpacked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    good = GenerationRequest(
        request_id="good", prompt_token_ids=(20,), sampling=SamplingParams(max_tokens=1)
    )
    no_msgpack = Submit("bad", 1, msgspec.Raw(b"\xc1"))
    script = Script({1: no_msgpack, 2: Submit.pack(good)}, receives=6)
    served(script)
    deltas = [delta for sent in script.sent if isinstance(sent, Deltas) for delta in sent.deltas]
    ends = {delta.request_id: delta.finish_reason for delta in deltas}
    assert ends == {"bad": "error", "good": "length"}


class ExpectingCore(ScriptedCore):
    """Computes each expected prompt in two idle moments."""

    def use_idle_moment(self) -> bool:
        if not self.expected:
            return False
        self.num_idle_steps += 1
        if self.num_idle_steps % 2 == 0:
            self.expected.pop()
        return True

    num_idle_steps = 0

    @property
    def stats(self) -> EngineStats:
        return EngineStats(
            num_idle_steps=self.num_idle_steps, num_expected_prompts=len(self.expected)
        )


def test_an_expected_prompt_is_computed_and_reported() -> None:
    expect = Expect(ExpectedPrompt(token_ids=(1, 2)))
    script = Script({2: expect, 7: expect}, receives=12)
    served(script, ExpectingCore)
    reports = [sent.stats for sent in script.sent if isinstance(sent, Deltas) and sent.stats]
    # Each prompt is acknowledged, and reported when the idle moments are over.
    assert [(each.num_expected_prompts, each.num_idle_steps) for each in reports] == [
        (1, 0), (0, 2), (1, 2), (0, 4),
    ]  # fmt: skip


class CachedCore(ExpectingCore):
    """Finds each expected prompt in the cache."""

    def use_idle_moment(self) -> bool:
        return bool(self.expected) and bool(self.expected.pop())


def test_an_expected_prompt_without_a_step_is_reported() -> None:
    script = Script({2: Expect(ExpectedPrompt(token_ids=(1, 2)))}, receives=6)
    served(script, CachedCore)
    reports = [sent.stats for sent in script.sent if isinstance(sent, Deltas) and sent.stats]
    assert [each.num_expected_prompts for each in reports] == [1, 0]
