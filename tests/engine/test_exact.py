"""Exact mode: one path has the same logits, to the last bit, in whatever step they are computed.

Every step of many engines is listened to: cold and warm, alone and in a batch of 32, in chunks of
1, 7 and 128 rows, after eviction and preemption, with short nodes folded or not, on 1 or 2 threads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.attention.test_cpu import LOADED, SETS
from tests.attention.test_exact import path_of
from tests.conformance.zoo import CASES, VOCAB_SIZE, save
from tests.engine.watched_executor import Execute, WatchedExecutor
from yaie.attention.plan import FoldingCost, StepPlan
from yaie.config import EngineConfig
from yaie.engine.core import EngineCore
from yaie.kernels import loader
from yaie.stats import EngineStats
from yaie.types import GenerationRequest, SamplingParams

_CASES = {case.name: case for case in CASES}
FAMILIES = ["llama", "mistral-window", "qwen2", "qwen3", "smollm3", "granite", "phi3", "llama-tied"]
BY_DEFAULT = {("llama", "float32"), ("mistral-window", "bfloat16"), ("phi3", "float32")}
SUBJECTS = [
    pytest.param(name, dtype, marks=() if (name, dtype) in BY_DEFAULT else pytest.mark.slow)
    for name in FAMILIES
    for dtype in ("float32", "bfloat16")
]
PREFIX = 150  # of all prompts: more than two blocks of keys, and no multiple of one
Prompt = tuple[int, ...]

needs_library = pytest.mark.skipif(LOADED is None, reason=loader.status().reason)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Instruction set and threads are the process's own."""
    threads = torch.get_num_threads()
    set_before = LOADED.instruction_set if LOADED else ""
    yield
    torch.set_num_threads(threads)
    if LOADED:
        LOADED.use_instruction_set(set_before)
        LOADED.threads = threads


@dataclass
class Heard:
    """The logits of every path that some step has computed."""

    logits: dict[Prompt, torch.Tensor] = field(default_factory=dict)
    num_compared: int = 0
    num_differing: int = 0

    def listen(self, core: EngineCore) -> None:
        """Compare all logits that this engine computes from now on."""
        token_of_slot = np.full(core.info.num_slots, -1)

        def heard(plan: StepPlan, execute: Execute) -> torch.Tensor:
            token_of_slot[plan.slots] = plan.token_ids
            logits = execute(plan)
            for line, row in zip(logits, plan.logit_rows.tolist(), strict=True):
                path = tuple(token_of_slot[path_of(plan, row)].tolist())
                known = self.logits.setdefault(path, line.clone())
                self.num_compared += known is not line
                self.num_differing += not torch.equal(known, line)
            return logits

        core.executor = WatchedExecutor(core.executor, heard)


@dataclass
class Lives:
    """Engines of one model, and what all of them said."""

    folder: Path
    dtype: str
    exact: bool = True
    quantization: str | None = None
    kv_dtype: str = "auto"
    heard: Heard = field(default_factory=Heard)
    stats: list[EngineStats] = field(default_factory=list)
    answers: dict[tuple[Prompt, int, int], list[object]] = field(default_factory=dict)

    def prompts(self) -> list[Prompt]:
        """Prompts that branch in many places."""
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
        """One more engine, listened to."""
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
        self.heard.listen(core)
        return core

    def run(
        self, core: EngineCore, prompts: list[Prompt], *, steps_between: int = 0, num_new: int = 6
    ) -> None:
        """Ask, some of it greedily and some at random, and note every answer."""
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
            self.said[delta.request_id, delta.index] = said = self.said.get(
                (delta.request_id, delta.index), []
            )
            said += [*zip(delta.token_ids, delta.logprobs, strict=True)]
            said += [delta.prompt_logprobs] if delta.prompt_logprobs else []
            if delta.finish_reason is not None:
                key = asked[delta.request_id], delta.index, num_new
                self.answers.setdefault(key, []).append(
                    self.said.pop((delta.request_id, delta.index))
                )

    said: dict[tuple[str, int], list[object]] = field(default_factory=dict)


def live(lives: Lives) -> None:
    """All situations that the promise names."""
    prompts = lives.prompts()
    core = lives.core(prefix_cache=False)
    for prompt in prompts:  # alone, and nothing held
        lives.run(core, [prompt])
    core = lives.core()
    lives.run(core, prompts)  # together, cold
    lives.run(core, prompts[::-1])  # together, warm
    lives.run(lives.core(threads=2), (prompts * 3)[:32])  # a batch of 32
    for chunk in (1, 7, 128):
        lives.run(lives.core(max_step_rows=chunk), prompts, steps_between=2)
    lives.run(lives.core(folding=0, threads=2), prompts)
    lives.run(lives.core(folding=10_000), prompts)
    # Answers longer than what admission leaves room for, in a pool that is always full.
    lives.run(lives.core(num_slots=256, max_step_rows=50, max_running=6), prompts, num_new=45)


def folder_of(name: str, folder: Path) -> Path:
    save(_CASES[name], _CASES[name].build(), folder)
    return folder


@needs_library
@pytest.mark.parametrize(("name", "dtype"), SUBJECTS)
def test_a_path_has_one_vector_of_logits(name: str, dtype: str, tmp_path: Path) -> None:
    lives = Lives(folder_of(name, tmp_path), dtype)
    live(lives)
    assert lives.heard.num_differing == 0
    assert lives.heard.num_compared > 1000
    assert sum(stats.num_evicted_tokens for stats in lives.stats) > 100
    assert sum(stats.num_preemptions for stats in lives.stats) > 0


@needs_library
@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_with_integer_weights(quantization: str, tmp_path: Path) -> None:
    lives = Lives(folder_of("llama", tmp_path), "bfloat16", quantization=quantization)
    live(lives)
    assert lives.heard.num_differing == 0


@needs_library
@pytest.mark.parametrize("instruction_set", SETS)
def test_with_an_int8_pool(instruction_set: str, tmp_path: Path) -> None:
    assert LOADED is not None
    LOADED.use_instruction_set(instruction_set)
    lives = Lives(folder_of("llama", tmp_path), "bfloat16", kv_dtype="int8")
    live(lives)
    assert lives.heard.num_differing == 0


@needs_library
@pytest.mark.parametrize("instruction_set", SETS[1:])
def test_in_every_instruction_set(instruction_set: str, tmp_path: Path) -> None:
    assert LOADED is not None
    LOADED.use_instruction_set(instruction_set)
    lives = Lives(folder_of("qwen3", tmp_path), "bfloat16")
    live(lives)
    assert lives.heard.num_differing == 0


@needs_library
def test_without_it_paths_have_several(tmp_path: Path) -> None:
    """The tests above can fail."""
    lives = Lives(folder_of("llama", tmp_path), "bfloat16", exact=False)
    live(lives)
    assert lives.heard.num_differing > 100
