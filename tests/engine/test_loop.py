"""The engine loop around a scripted core: commands, refusals and faults."""

from __future__ import annotations

import pytest

from tests.client.scripted_core import CRASH, RAISE_IN_ADD, REFUSE, ScriptedCore
from yaie.base.errors import InvalidRequest, RequestError
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.engine.loop import EngineLoop

ENDLESS = 100_000


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> ScriptedCore:
    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    return ScriptedCore(EngineConfig(model="scripted"))


@pytest.fixture
def loop(core: ScriptedCore) -> EngineLoop:
    return EngineLoop(core)


def ask(
    request_id: str, first: int = 10, max_tokens: int = 3, n: int = 1, submission: int = 0
) -> GenerationRequest:
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=(first,),
        sampling=SamplingParams(max_tokens=max_tokens, n=n),
        submission=submission,
    )


def ends_of(loop: EngineLoop) -> dict[tuple[str, int], str]:
    ends = {}
    while loop.has_work:
        for delta in loop.step():
            if delta.finish_reason is not None:
                ends[delta.request_id, delta.index] = delta.finish_reason
    return ends


def test_commands_reach_the_core(loop: EngineLoop) -> None:
    loop.submit(ask("a"))
    loop.submit(ask("b", n=3, max_tokens=ENDLESS))
    assert [delta.token_ids for delta in loop.step()] == [(10,), (10,), (11,), (12,)]
    loop.abort("b", 1)
    loop.abort("unknown")
    loop.step()
    loop.abort("b")
    assert ends_of(loop) == {("a", 0): "length", ("b", 0): "abort", ("b", 2): "abort"}


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (REFUSE, RequestError("refused as asked", 400, "context_length_exceeded", "messages")),
        (
            RAISE_IN_ADD,
            RequestError(
                "the request failed inside the engine: KeyError: 'a bug in add'",
                500,
                "request_failed",
            ),
        ),
    ],
)
def test_a_fault_in_add_is_the_requests_error(
    loop: EngineLoop, kind: int, error: RequestError
) -> None:
    loop.submit(ask("bad", first=kind, n=4, submission=7))
    loop.submit(ask("good"))
    refused, good = loop.step()
    assert refused == TokenDelta(
        request_id="bad", submission=7, index=0, finish_reason="error", error=error
    )
    assert good.token_ids == (10,)


def test_a_refusal_is_reported_without_a_step_of_the_core(
    loop: EngineLoop, core: ScriptedCore
) -> None:
    assert not loop.has_work
    loop.refuse("bad", 3, InvalidRequest("malformed"))
    assert loop.has_work
    (refused,) = loop.step()
    assert (refused.request_id, refused.submission) == ("bad", 3)
    assert not loop.has_work
    assert loop.step() == []
    assert core.stats.num_steps == 0


def test_a_refused_twin_does_not_end_the_running_request(loop: EngineLoop) -> None:
    loop.submit(ask("twin"))
    loop.refuse("twin", 1, InvalidRequest("this id is in use"))
    deltas = [delta for _ in range(3) for delta in loop.step()]
    assert [delta.finish_reason for delta in deltas] == ["error", None, None, "length"]


def test_an_error_of_one_sequence_ends_the_whole_request(
    loop: EngineLoop, core: ScriptedCore
) -> None:
    loop.submit(ask("a", n=3, max_tokens=ENDLESS))
    loop.submit(ask("b"))
    loop.step()
    del core._drawn["a", 1]
    broken = TokenDelta(
        request_id="a", index=1, finish_reason="error", error=RequestError("broken")
    )
    core._outcomes.append(broken)
    assert broken in loop.step()
    assert core.stats.num_running == 1  # at once, before the next step
    assert ends_of(loop) == {("a", 0): "abort", ("a", 2): "abort", ("b", 0): "length"}


def test_a_failing_step_raises(loop: EngineLoop) -> None:
    loop.submit(ask("bad", first=CRASH))
    with pytest.raises(RuntimeError, match="a kernel failed"):
        loop.step()


def test_statistics_are_due_every_interval_and_without_work(loop: EngineLoop) -> None:
    loop.submit(ask("a", max_tokens=5))
    found: list[int | None] = []
    for now in (100.0, 100.05, 100.11, 100.2, 100.205):
        loop.step()
        stats = loop.take_stats(now)
        found.append(stats and stats.num_steps)
    assert found == [1, None, 3, None, 5]  # the last one as the core has no work left


def test_the_core_is_asked_for_work_once_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    class Core(ScriptedCore):
        @property
        def has_work(self) -> bool:
            nonlocal asked
            asked += 1
            return super().has_work

    monkeypatch.setattr("tests.client.scripted_core.STEP_S", 0.0)
    loop = EngineLoop(Core(EngineConfig(model="scripted")))
    loop.submit(ask("a", max_tokens=5))
    asked = 0
    while loop.has_work:
        loop.step()
    assert asked == 5
