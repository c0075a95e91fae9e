"""The warm-up before an engine is ready: every kind of step, and no trace of it."""

from __future__ import annotations

import pytest
import torch

from tests.engine.asking import MakeCore, ask, run, tokens_of
from tests.engine.watched_executor import Execute
from yaie.attention.plan import StepPlan
from yaie.base.errors import StartupError
from yaie.engine.core import EngineCore
from yaie.engine.warm_up import BATCH, NEW_TOKENS, PROMPT_TOKENS, SHARED_TOKENS, batches


class Watch:
    """Rows and logits of each step."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []

    def __call__(self, plan: StepPlan, execute: Execute) -> torch.Tensor:
        self.steps.append((plan.num_rows, len(plan.logit_rows)))
        return execute(plan)


def answers_of(core: EngineCore) -> list[tuple[list[int], int]]:
    """Return tokens and cached tokens of the warm-up's own prompts, and of a drawn answer."""
    prompts = [each.prompt_token_ids for batch in batches(core.info) for each in batch]
    requests = [ask(f"r{at}", prompt) for at, prompt in enumerate(prompts)]
    requests.append(ask("drawn", tokens_of(1, 20), temperature=1.0))
    found = []
    for request in requests:
        answers = run(core, request)
        last = answers.last(request.request_id)
        found.append((answers.tokens(request.request_id), last.num_cached_tokens))
    return found


def test_it_computes_prompts_decode_steps_and_a_batch(make_core: MakeCore) -> None:
    watch = Watch()
    core = make_core(watch)
    core.warm_up()
    own = BATCH * (PROMPT_TOKENS - SHARED_TOKENS)
    alone = [(PROMPT_TOKENS, 1)] + (NEW_TOKENS - 1) * [(1, 1)]
    assert watch.steps == [*alone, (own, BATCH), *(NEW_TOKENS - 1) * [(BATCH, BATCH)]]
    assert core.info.warm_up_s > 0


@pytest.mark.parametrize("exact", [False, True])
def test_it_leaves_no_trace(make_core: MakeCore, exact: bool) -> None:
    """Also in the seeds of requests without one."""
    fresh, warm = (make_core(seed=7, exact=exact) for _ in range(2))
    before = warm.stats
    warm.warm_up()
    assert warm.stats == before == fresh.stats
    warm.check()
    assert answers_of(warm) == answers_of(fresh)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_model_len": 2, "num_slots": 2},
        {"max_model_len": 17, "num_slots": 17},
        {"max_running": 1, "max_waiting": 1},
        {"max_step_rows": 1, "queue_timeout_s": 1e-9},
        {"prefix_cache": False},
    ],
)
def test_it_fits_every_size(make_core: MakeCore, settings: dict[str, object]) -> None:
    core = make_core(**settings)
    core.warm_up()
    assert core.info.warm_up_s > 0


def not_finite(plan: StepPlan, execute: Execute) -> torch.Tensor:
    return execute(plan) * torch.nan


def broken(plan: StepPlan, execute: Execute) -> torch.Tensor:
    raise RuntimeError("the kernel is missing")


@pytest.mark.parametrize(
    ("step", "why"), [(not_finite, "not finite|NaN"), (broken, "the kernel is missing")]
)
def test_its_fault_is_that_of_the_start(make_core: MakeCore, step: object, why: str) -> None:
    core = make_core(step)
    with pytest.raises(StartupError, match=f"warm-up failed: .*({why}).*--no-warmup"):
        core.warm_up()
