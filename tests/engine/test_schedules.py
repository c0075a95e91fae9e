"""Random schedules over real models: every answer equals that of the prompt alone.

A pool of a few hundred slots keeps eviction and preemption going; prompts branch, continue earlier
answers, are sampled n times and aborted. The judge is transformers' `generate`, asked once for
each prompt. 8 schedules by default; `slow` has 2,000, and
tests/gpu has some on a CUDA device.
"""

from __future__ import annotations

import importlib
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from tests.engine.chaotic_model import write_chaotic_model
from tests.engine.oracle import Oracle, Prompt
from yaie.base.settings import AttentionBackendName, EngineConfig, KVDtype
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.engine.core import EngineCore

MAX_NEW = 10
LONGEST = 48
LONG_NEW = 50  # of samples; admission leaves room for 32, so these meet a full pool
NUM_PROMPTS = 150
LEAST_MARGIN = 1e-3  # rounding may let a nearer runner-up win
pytestmark = pytest.mark.usefixtures("one_thread")

POLICIES = ["prefix-aware", "fcfs", "lpm", "priority"]
EVICTIONS = ["adaptive", "lru"]
CHUNKS = [1, 7, 128]


@dataclass
class Subject:
    """A model, its oracle, and overlapping prompts."""

    folder: Path
    oracle: Oracle
    device: Literal["cpu", "cuda"] = "cpu"
    backend: AttentionBackendName = "auto"
    kv_dtype: KVDtype = "auto"
    least_margin: float = LEAST_MARGIN
    tolerance: float = 1e-4  # of a log-probability
    prompts: list[Prompt] = field(default_factory=list)
    num_near_ties: int = 0  # skipped prompts: their answers depend on rounding

    def fill(self, seed: int) -> None:
        """Prompts grow out of each other: branches, prefixes, and chats that go on."""
        rng = random.Random(seed)
        words = [rng.randrange(3, self.oracle.vocab_size) for _ in range(12)]
        grown: list[Prompt] = [(words[0],)]
        while len(self.prompts) < NUM_PROMPTS:
            base = rng.choice(grown)
            if rng.random() < 0.3:
                base += self.oracle.says(base).tokens[: rng.randint(1, MAX_NEW)]
            base = base[: rng.randint(1, LONGEST)]
            own = [rng.choice(words) for _ in range(rng.randint(0, LONGEST - len(base)))]
            prompt = (*base, *own)
            if min(self.oracle.says(prompt).margins) < self.least_margin:
                self.num_near_ties += 1
                continue
            grown.append(prompt)
            self.prompts.append(prompt)


def make_subject(folder: Path) -> Subject:
    subject = Subject(folder, Oracle(folder, MAX_NEW))
    subject.fill(seed=1)
    return subject


def builtin_folder() -> Path:
    return Path(importlib.import_module("yaie.models.builtin").__file__ or "").parent


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return make_subject(write_chaotic_model(tmp_path_factory.mktemp("chaotic_model")))


@pytest.fixture(scope="module")
def builtin() -> Subject:
    return make_subject(builtin_folder())


# -- one schedule -------------------------------------------------------------------------------


@dataclass
class Asked:
    """A request of a schedule, and the results of its sequences."""

    prompt: Prompt
    sampling: SamplingParams
    tokens: list[list[int]]
    logprobs: list[list[float]]
    reasons: list[str | None]


class Schedule:
    """One engine with a random configuration and a random load."""

    def __init__(self, subject: Subject, seed: int, *, max_step_rows: int) -> None:
        self.subject = subject
        self.rng = random.Random(seed)
        self.num_slots = self.rng.choice([LONGEST + LONG_NEW, LONGEST + LONG_NEW + 12, 200])
        self.core = EngineCore(
            EngineConfig(
                model=str(subject.folder),
                dtype="float32",
                kv_dtype=subject.kv_dtype,
                device=subject.device,
                attention_backend=subject.backend,
                num_slots=self.num_slots,
                max_model_len=LONGEST + LONG_NEW,
                max_step_rows=max_step_rows,
                max_running=self.rng.choice([3, 8, 32]),
                policy=self.rng.choice(POLICIES),  # type: ignore[arg-type]
                eviction=self.rng.choice(EVICTIONS),  # type: ignore[arg-type]
                speculate=["off", "5"][seed % 2],
                audit=True,  # every invariant after every step
            )
        )
        self.asked: dict[str, Asked] = {}

    def run(self, num_requests: int) -> EngineStats:
        rng = self.rng
        # A few prompts each, so that they repeat while they are cached.
        prompts = rng.sample(self.subject.prompts, 5)
        for number in range(num_requests):
            self.ask(f"r{number}", rng.choice(prompts))
            for _ in range(rng.choice([0, 0, 1, 4, 12])):
                self.step()
            if rng.random() < 0.15:
                self.core.abort(f"r{rng.randint(0, number)}", rng.choice([None, 0, 1]))
        while self.core.has_work:
            self.step()
        stats = self.core.stats
        assert stats.num_live_slots == 0
        assert self.core.scheduler.tree.clear() == stats.num_cached_slots
        assert self.core.stats.num_free_slots == self.num_slots
        return stats

    def ask(self, name: str, prompt: Prompt) -> None:
        rng = self.rng
        n = rng.choice([1, 1, 1, 2, 3])
        # Longer samples among the greedy ones make branches and take slots.
        is_greedy = rng.random() < 0.7
        sampling = SamplingParams(
            n=n,
            temperature=0.0 if is_greedy else 1.0,
            seed=rng.randrange(1000),
            max_tokens=rng.randint(1, MAX_NEW) if is_greedy else rng.choice([5, LONG_NEW]),
            ignore_eos=True,
            logprobs=0,
            prompt_logprobs=0 if rng.random() < 0.1 else None,
        )
        request = GenerationRequest(
            request_id=name,
            prompt_token_ids=prompt,
            sampling=sampling,
            cache_salt=rng.choice(["", "", "", "salt"]),
            priority=rng.randint(0, 2),
        )
        if n > self.core._config.max_running:
            return
        self.asked[name] = Asked(
            prompt, sampling, [[] for _ in range(n)], [[] for _ in range(n)], [None] * n
        )
        self.core.add(request)

    def step(self) -> None:
        if self.core.has_work:
            for delta in self.core.step():
                self.take(delta)
        stats = self.core.stats
        total = stats.num_free_slots + stats.num_live_slots + stats.num_cached_slots
        assert total == self.num_slots

    def take(self, delta: TokenDelta) -> None:
        asked = self.asked[delta.request_id]
        asked.tokens[delta.index] += delta.token_ids
        asked.logprobs[delta.index] += [entry.logprob for entry in delta.logprobs]
        if delta.finish_reason is not None:
            assert delta.finish_reason in ("length", "abort"), delta.error
            asked.reasons[delta.index] = delta.finish_reason

    def judge(self) -> None:
        """Greedy answers word for word, all log-probabilities within the subject's tolerance."""
        for asked in self.asked.values():
            assert all(asked.reasons)
            for tokens, logprobs, reason in zip(
                asked.tokens, asked.logprobs, asked.reasons, strict=True
            ):
                if reason == "length":
                    assert len(tokens) == asked.sampling.max_tokens
                if asked.sampling.is_greedy:
                    said = self.subject.oracle.says(asked.prompt)
                    assert tuple(tokens) == said.tokens[: len(tokens)]
                    expected = list(said.logprobs[: len(tokens)])
                else:
                    expected = self._logprobs_of(asked.prompt, tokens)
                assert logprobs == pytest.approx(expected, abs=self.subject.tolerance)

    def _logprobs_of(self, prompt: Prompt, tokens: list[int]) -> list[float]:
        lines = self.subject.oracle.logprobs((*prompt, *tokens))
        return [float(lines[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens)]


def run_schedules(subject: Subject, seeds: range) -> list[EngineStats]:
    """Run schedules with chunk sizes in turn; fewer requests if each row is a step."""
    found = []
    for seed in seeds:
        max_step_rows = CHUNKS[seed % len(CHUNKS)]
        schedule = Schedule(subject, seed, max_step_rows=max_step_rows)
        found.append(schedule.run(num_requests=4 if max_step_rows == 1 else 10))
        schedule.judge()
    return found


# -- the tests ----------------------------------------------------------------------------------


@pytest.mark.integration
def test_some_schedules(tiny: Subject) -> None:
    stats = run_schedules(tiny, range(5000, 5008))
    assert sum(stat.num_evicted_tokens for stat in stats) > 100
    assert sum(stat.num_preemptions for stat in stats) > 0
    assert sum(stat.num_aborted for stat in stats) > 0
    assert sum(stat.cached_tokens for stat in stats) > 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(8))
def test_all_schedules(tiny: Subject, part: int) -> None:
    run_schedules(tiny, range(10_000 + 200 * part, 10_200 + 200 * part))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
def test_all_schedules_of_the_builtin_model(builtin: Subject, part: int) -> None:
    run_schedules(builtin, range(20_000 + 100 * part, 20_100 + 100 * part))


def test_prompts_overlap_and_their_answers_are_clear(tiny: Subject) -> None:
    assert len(tiny.prompts) == NUM_PROMPTS
    assert tiny.num_near_ties < NUM_PROMPTS // 10
    for prompt in tiny.prompts:
        assert min(tiny.oracle.says(prompt).margins) >= LEAST_MARGIN
    starts = {prompt[:3] for prompt in tiny.prompts if len(prompt) > 3}
    assert len(starts) < NUM_PROMPTS // 2


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(2))
def test_answers_depend_on_every_token_of_the_prompt(tiny: Subject, seed: int) -> None:
    """Otherwise a wrong key or value could go undetected."""
    rng = random.Random(seed)
    prompt = max(rng.sample(tiny.prompts, 20), key=len)
    assert len(prompt) > 40
    oracle = Oracle(tiny.folder, max_new=40)
    said = oracle.says(prompt)
    for position in range(len(prompt)):
        other = 3 + (prompt[position] + rng.randrange(1, 100)) % (oracle.vocab_size - 3)
        changed = oracle.says((*prompt[:position], other, *prompt[position + 1 :]))
        assert changed.tokens != said.tokens
        # Visible at once, and a hundred times the tolerance of a schedule.
        assert (
            abs(changed.logprobs[0] - said.logprobs[0]) > 1e-3
            or changed.tokens[0] != said.tokens[0]
        )


@pytest.mark.parametrize("eviction", EVICTIONS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_requests_under_every_policy_and_eviction(
    tiny: Subject, policy: str, eviction: str
) -> None:
    config = EngineConfig(
        model=str(tiny.folder),
        dtype="float32",
        device="cpu",
        num_slots=120,
        max_model_len=100,
        max_step_rows=24,
        max_running=8,
        policy=policy,  # type: ignore[arg-type]
        eviction=eviction,  # type: ignore[arg-type]
        audit=True,
    )
    core = EngineCore(config)
    rng = random.Random(11)
    got: dict[str, list[int]] = {}
    prompts = {f"r{i}": prompt for i, prompt in enumerate(rng.sample(tiny.prompts, 12) * 2)}
    for name, prompt in prompts.items():
        sampling = SamplingParams(temperature=0.0, max_tokens=MAX_NEW, ignore_eos=True)
        core.add(
            GenerationRequest(
                request_id=name,
                prompt_token_ids=prompt,
                sampling=sampling,
                priority=rng.randint(0, 3),
            )
        )
    while core.has_work:
        for delta in core.step():
            got.setdefault(delta.request_id, []).extend(delta.token_ids)
    assert core.stats.num_evicted_tokens > 0
    for name, prompt in prompts.items():
        assert tuple(got[name]) == tiny.oracle.says(prompt).tokens
