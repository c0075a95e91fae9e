"""Batch invariance (`exact`): the logits of a path have the same bits in every step.

The tests record all steps of many engines: cold and warm, alone and in a batch of 32, in chunks of
1, 7 and 128 rows, after eviction and preemption, with short nodes folded or not, with drafts, on 1
or 2 threads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.attention.test_cpu import LOADED, SETS
from tests.attention.test_exact import path_of
from tests.conformance.case import VOCAB_SIZE, save
from tests.conformance.zoo import CASES
from tests.engine.watched_executor import Execute, WatchedExecutor
from yaie.attention.plan import FoldingCost, StepPlan
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.core import EngineCore
from yaie.kernels import library_search

_CASES = {case.name: case for case in CASES}
FAMILIES = ["llama", "mistral-window", "qwen2", "qwen3", "smollm3", "granite", "phi3", "llama-tied"]
LEVELS: dict[tuple[str, str], Any] = {
    ("llama", "float32"): (),  # in the default level
    ("mistral-window", "bfloat16"): pytest.mark.integration,
    ("phi3", "float32"): pytest.mark.integration,
}
SUBJECTS = [
    pytest.param(name, dtype, marks=LEVELS.get((name, dtype), pytest.mark.slow))
    for name in FAMILIES
    for dtype in ("float32", "bfloat16")
]
PREFIX = 150  # of all prompts: more than two blocks of keys, and not a multiple of one
Prompt = tuple[int, ...]

needs_library = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restore the instruction set and the threads of the process."""
    threads = torch.get_num_threads()
    set_before = LOADED.instruction_set if LOADED else ""
    yield
    torch.set_num_threads(threads)
    if LOADED:
        LOADED.use_instruction_set(set_before)
        LOADED.threads = threads


@dataclass
class LogitLog:
    """The logits of every path, and comparisons between steps."""

    logits: dict[Prompt, torch.Tensor] = field(default_factory=dict)
    num_compared: int = 0
    num_differing: int = 0

    def watch(self, core: EngineCore) -> None:
        """Compare the logits of all further steps of this engine."""
        token_of_slot = np.full(core.info.num_slots, -1)

        def compare(plan: StepPlan, execute: Execute) -> torch.Tensor:
            token_of_slot[plan.slots] = plan.token_ids
            logits = execute(plan)
            for line, row in zip(logits, plan.logit_rows.tolist(), strict=True):
                path = tuple(token_of_slot[path_of(plan, row)].tolist())
                known = self.logits.setdefault(path, line.clone())
                self.num_compared += known is not line
                self.num_differing += not torch.equal(known, line)
            return logits

        core.executor = WatchedExecutor(core.executor, compare)


@dataclass
class Engines:
    """Engines of one model, with their logits, answers and statistics."""

    folder: Path
    dtype: str
    exact: bool = True
    quantization: str | None = None
    kv_dtype: str = "auto"
    log: LogitLog = field(default_factory=LogitLog)
    stats: list[EngineStats] = field(default_factory=list)
    answers: dict[tuple[Prompt, int, int], list[object]] = field(default_factory=dict)

    def prompts(self) -> list[Prompt]:
        """Return prompts that branch in many places."""
        rng = random.Random(5)

        def words(count: int) -> Prompt:
            return tuple(rng.randrange(3, VOCAB_SIZE) for _ in range(count))

        shared = words(PREFIX)
        grown = [shared[:1], shared[:64], shared]
        for _ in range(9):
            base = rng.choice(grown)
            grown.append(base[: rng.randint(1, len(base))] + words(rng.randint(1, 40)))
        return grown

    def core(self, *, folding: int = 32, **settings: object) -> EngineCore:
        """Return a new engine with recorded logits."""
        settings = {"num_slots": 4096, "threads": 1, "max_model_len": 256, **settings}
        core = EngineCore(
            EngineConfig(
                model=str(self.folder),
                dtype=self.dtype,  # type: ignore[arg-type]
                device="cpu",
                exact=self.exact,
                quantization=self.quantization,  # type: ignore[arg-type]
                kv_dtype=self.kv_dtype,  # type: ignore[arg-type]
                **settings,  # type: ignore[arg-type]
            )
        )
        torch.set_num_threads(1)  # the kernels keep theirs
        core.scheduler._folding = FoldingCost(folding)
        self.log.watch(core)
        return core

    def run(
        self, core: EngineCore, prompts: list[Prompt], *, steps_between: int = 0, num_new: int = 6
    ) -> None:
        """Run the prompts, some greedily and some at random, and record every answer."""
        asked = {}
        for number, prompt in enumerate(prompts):
            is_greedy = len(prompt) % 3 > 0
            sampling = SamplingParams(
                n=1 if is_greedy else 2,
                temperature=0.0 if is_greedy else 1.0,
                seed=len(prompt),
                max_tokens=num_new,
                ignore_eos=True,
                logprobs=3,
                prompt_logprobs=1 if len(prompt) % 5 == 0 else None,
            )
            name = f"r{number}"
            asked[name] = prompt
            core.add(GenerationRequest(request_id=name, prompt_token_ids=prompt, sampling=sampling))
            for _ in range(steps_between):
                self.step(core, asked, num_new)
        while core.has_work:
            self.step(core, asked, num_new)
        self.stats.append(core.stats)
        for answers in self.answers.values():
            while len(answers) > 1:
                last = answers.pop()
                if self.exact:
                    assert answers[0] == last

    def step(self, core: EngineCore, asked: dict[str, Prompt], num_new: int) -> None:
        for delta in core.step():
            assert delta.error is None
            self.unfinished[delta.request_id, delta.index] = said = self.unfinished.get(
                (delta.request_id, delta.index), []
            )
            said += [*zip(delta.token_ids, delta.logprobs, strict=True)]
            said += [delta.prompt_logprobs] if delta.prompt_logprobs else []
            if delta.finish_reason is not None:
                key = asked[delta.request_id], delta.index, num_new
                self.answers.setdefault(key, []).append(
                    self.unfinished.pop((delta.request_id, delta.index))
                )

    unfinished: dict[tuple[str, int], list[object]] = field(default_factory=dict)


def run_all(engines: Engines) -> None:
    """Run the prompts in every situation that batch invariance covers."""
    prompts = engines.prompts()
    core = engines.core(prefix_cache=False)
    for prompt in prompts:  # alone, without a cache
        engines.run(core, [prompt])
    core = engines.core()
    engines.run(core, prompts)  # together, cold
    engines.run(core, prompts[::-1])  # together, warm
    core = engines.core(speculate="4")
    engines.run(core, prompts)  # with drafts from prompts and outputs
    engines.run(core, prompts[::-1])  # with drafts from held answers
    engines.run(engines.core(threads=2), (prompts * 3)[:32])  # a batch of 32
    for chunk in (1, 7, 128):
        engines.run(engines.core(max_step_rows=chunk), prompts, steps_between=2)
    engines.run(engines.core(folding=0, threads=2), prompts)
    engines.run(engines.core(folding=10_000), prompts)
    # Answers beyond the room that admission leaves, in a pool that is always full.
    engines.run(engines.core(num_slots=256, max_step_rows=50, max_running=6), prompts, num_new=45)


def folder_of(name: str, folder: Path) -> Path:
    save(_CASES[name], _CASES[name].build(), folder)
    return folder


@needs_library
@pytest.mark.parametrize(("name", "dtype"), SUBJECTS)
def test_a_path_has_one_vector_of_logits(name: str, dtype: str, tmp_path: Path) -> None:
    engines = Engines(folder_of(name, tmp_path), dtype)
    run_all(engines)
    assert engines.log.num_differing == 0
    assert engines.log.num_compared > 1000
    assert sum(stats.num_evicted_tokens for stats in engines.stats) > 100
    assert sum(stats.num_preemptions for stats in engines.stats) > 0
    assert sum(stats.accepted_tokens for stats in engines.stats) > 0


@pytest.mark.integration
@needs_library
@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_quantized_weights_are_batch_invariant(quantization: str, tmp_path: Path) -> None:
    engines = Engines(folder_of("llama", tmp_path), "bfloat16", quantization=quantization)
    run_all(engines)
    assert engines.log.num_differing == 0


@pytest.mark.integration
@needs_library
@pytest.mark.parametrize("instruction_set", SETS)
def test_an_int8_pool_is_batch_invariant(instruction_set: str, tmp_path: Path) -> None:
    assert LOADED is not None
    LOADED.use_instruction_set(instruction_set)
    engines = Engines(folder_of("llama", tmp_path), "bfloat16", kv_dtype="int8")
    run_all(engines)
    assert engines.log.num_differing == 0


@pytest.mark.integration
@needs_library
@pytest.mark.parametrize("instruction_set", SETS[1:])
def test_every_instruction_set_is_batch_invariant(instruction_set: str, tmp_path: Path) -> None:
    assert LOADED is not None
    LOADED.use_instruction_set(instruction_set)
    engines = Engines(folder_of("qwen3", tmp_path), "bfloat16")
    run_all(engines)
    assert engines.log.num_differing == 0


@pytest.mark.integration
@needs_library
def test_without_the_setting_logits_differ(tmp_path: Path) -> None:
    """Show that the tests above can fail."""
    engines = Engines(folder_of("llama", tmp_path), "bfloat16", exact=False)
    run_all(engines)
    assert engines.log.num_differing > 100
