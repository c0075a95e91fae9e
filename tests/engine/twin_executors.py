"""An engine whose every step a second executor computes too, with the reference backend."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from tests.engine.asking import Answers
from tests.engine.watched_executor import Execute, Step, WatchedExecutor
from tests.flashinfer.comparison import Comparison
from tests.flashinfer.models import VOCAB_SIZE
from yaie.attention.plan import StepPlan
from yaie.base.settings import AttentionBackendName, EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.load.loader import load_model

LONGEST = 40  # of a prompt
# Of logits between -5 and 5. Each layer rounds its attention to bfloat16, whose step at 1 is 0.008,
# after sums in another order.
TOLERANCE = 0.1


@dataclass
class Twins:
    """An engine, the executor under test, and the comparison of its logits."""

    core: EngineCore
    subject: Executor
    seen: Comparison


def make_twins(
    folder: Path,
    backend: AttentionBackendName,
    device: Literal["cpu", "cuda"],
    spoil: Step | None = None,
) -> Twins:
    """Return an engine with a backend in bfloat16, as users get it; `spoil` runs its steps.

    Keys that are read before they are written are NaN.
    """
    config = EngineConfig(
        model=str(folder),
        dtype="bfloat16",
        device=device,
        attention_backend=backend,
        num_slots=160,
        max_model_len=2 * LONGEST,
        max_step_rows=64,
        max_running=8,
        audit=True,
    )
    subject = choose_executor(load_model(config), backend, config=config)
    plain = choose_executor(load_model(config), "reference")
    for executor in (subject, plain):
        for tensor in executor.pool.tensors():
            tensor.fill_(torch.nan)
    seen = Comparison(TOLERANCE)

    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        got = execute(plan) if spoil is None else spoil(plan, execute)
        seen.add(got.cpu(), plain.execute(plan).cpu())
        return got

    return Twins(EngineCore(config, WatchedExecutor(subject, step)), subject, seen)


def run_overlapping_prompts(core: EngineCore, seed: int, num_requests: int = 8) -> None:
    """Run requests whose prompts grow out of each other, in a pool too small for all of them."""
    rng = random.Random(seed)
    words = [rng.randrange(3, VOCAB_SIZE) for _ in range(8)]
    prompts = [tuple(rng.choices(words, k=LONGEST // 2))]
    answers = Answers()
    for number in range(num_requests):
        base = rng.choice(prompts)
        base = base[: rng.randint(1, len(base))]
        own = rng.choices(words, k=rng.randint(0, LONGEST - len(base)))
        prompts.append((*base, *own))
        sampling = SamplingParams(
            n=rng.choice([1, 1, 2, 4]),
            temperature=rng.choice([0.0, 1.0]),
            seed=number,
            max_tokens=rng.choice([3, 12, 30]),
            ignore_eos=True,
        )
        core.add(
            GenerationRequest(
                request_id=f"r{number}", prompt_token_ids=prompts[-1], sampling=sampling
            )
        )
        for _ in range(rng.choice([0, 1, 3])):
            if core.has_work:
                answers.take(core.step())
    while core.has_work:
        answers.take(core.step())
    for deltas in answers.deltas.values():
        assert deltas[-1].finish_reason == "length", deltas[-1].error
