"""Log-probabilities of prompts in the core: bounded memory a step, errors of one request."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import yaie.engine.sampling.logprobs as logprobs_module
from tests.engine.watched_executor import Execute, WatchedExecutor
from yaie.attention.plan import StepPlan
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.engine.core import EngineCore

PROMPT = tuple(3 + i * 7 % 400 for i in range(600))


@pytest.fixture
def core(tiny_model_dir: Path) -> EngineCore:
    return EngineCore(
        EngineConfig(
            model=str(tiny_model_dir),
            device="cpu",
            num_slots=2048,
            max_running=64,
            max_step_rows=2048,
            threads=1,
            audit=True,
        )
    )


def ask(name: str, prompt: tuple[int, ...] = PROMPT, **sampling: int) -> GenerationRequest:
    params = SamplingParams(temperature=0.0, max_tokens=2, ignore_eos=True, **sampling)  # type: ignore[arg-type]
    return GenerationRequest(request_id=name, prompt_token_ids=prompt, sampling=params)


def run(core: EngineCore, *requests: GenerationRequest) -> dict[str, list[TokenDelta]]:
    found: dict[str, list[TokenDelta]] = {request.request_id: [] for request in requests}
    for request in requests:
        core.add(request)
    while core.has_work:
        for delta in core.step():
            found[delta.request_id].append(delta)
    return found


def counting_logit_rows(core: EngineCore) -> list[int]:
    """Count the logit rows of each step."""
    counts: list[int] = []

    def counted(plan: StepPlan, execute: Execute) -> torch.Tensor:
        counts.append(len(plan.logit_rows))
        return execute(plan)

    core.executor = WatchedExecutor(core.executor, counted)
    return counts


def test_a_step_holds_at_most_max_running_logits(core: EngineCore) -> None:
    counts = counting_logit_rows(core)
    other = tuple(reversed(PROMPT))
    found = run(core, ask("a", prompt_logprobs=0), ask("b", other, prompt_logprobs=1))
    assert max(counts) <= 64
    for name in ("a", "b"):
        prompt_logprobs = found[name][0].prompt_logprobs
        assert prompt_logprobs is not None
        assert len(prompt_logprobs) == len(PROMPT)
        assert found[name][-1].finish_reason == "length"


def test_an_error_in_prompt_logprobs_ends_one_request_only(
    core: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = logprobs_module.token_logprobs

    def faulty(
        logits: object, rows: object, token_ids: list[int], num_top: list[int], **settings: object
    ) -> object:
        if 9 in num_top:
            raise RuntimeError("no logprobs today")
        return real(logits, rows, token_ids, num_top, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(logprobs_module, "token_logprobs", faulty)
    found = run(
        core,
        ask("fine", PROMPT[:20], prompt_logprobs=1),
        ask("faulty", PROMPT[5:25], prompt_logprobs=9),
        ask("long and faulty", PROMPT[1:], prompt_logprobs=9),
        ask("plain", PROMPT[:9]),
    )
    assert [found[name][-1].finish_reason for name in found] == [
        "length",
        "error",
        "error",
        "length",
    ]
    assert "no logprobs today" in found["faulty"][-1].error.message
    assert len(found["faulty"]) == len(found["long and faulty"]) == 1
    assert core.stats.num_live_slots == 0


def test_an_error_after_the_forward_ends_only_the_step(
    core: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(core._sampler, "sample", fail)
        assert run(core, ask("lost"))["lost"][-1].finish_reason == "error"
    assert core.stats.num_live_slots == 0
    assert run(core, ask("next"))["next"][-1].finish_reason == "length"
