"""The whole engine with the FlashInfer backend, step by step against the reference backend.

Both run the same bfloat16 weights over the same plans, each with a pool of its own. Random
schedules over a pool of few slots keep eviction and preemption going. A step's launches are
compared by name with those of its plan, and a plan never reads from the device.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.engine.asking import Answers
from tests.engine.watched_executor import Execute, WatchedExecutor
from tests.flashinfer.comparison import Comparison
from tests.flashinfer.fake_device import FakeRuntime
from tests.flashinfer.models import VOCAB_SIZE, write_model
from tests.flashinfer.repeating_queue import RepeatingQueue
from yaie.attention.flashinfer.backend import FlashInferBackend
from yaie.attention.flashinfer.cascade import Cascade, Groups, RowPaths, make_cascade
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.base.settings import EngineConfig, KVDtype
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.core import EngineCore
from yaie.engine.execution.memory import SPARE_SLOTS, PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.load.loader import load_model

pytestmark = [
    pytest.mark.flashinfer,
    pytest.mark.timeout(3600),
    pytest.mark.usefixtures("one_thread"),
]
LONGEST = 40
NUM_SCHEDULES = 200
# Of logits between -5 and 5. Each layer rounds its attention to bfloat16, whose step at 1 is 0.008,
# after sums in another order. `test_one_wrong_key_is_seen` shows what a wrong key does.
TOLERANCE = 0.1


class Subject(NamedTuple):
    """A model, and the dtype of its pool."""

    model: str
    num_heads: int = 4
    num_kv_heads: int = 2
    kv_dtype: KVDtype = "auto"
    tolerance: float = TOLERANCE


SUBJECTS = {
    "llama": Subject("llama"),
    "groups-of-7": Subject("llama", num_heads=7, num_kv_heads=1, tolerance=0.25),  # larger logits
    "float8-pool": Subject("llama", kv_dtype="float8_e4m3fn"),
    "gemma2": Subject("gemma2"),
    "gpt_oss": Subject("gpt_oss", tolerance=0.15),  # experts multiply what differs
}


@dataclass
class Twins:
    """Two executors of one model, and their comparison."""

    device: FakeRuntime
    folder: Path
    subject: Subject
    seen: Comparison
    num_replayed: int = 0
    launches: dict[str, int] = field(default_factory=dict)

    def core(self, *, captures: bool, **settings: object) -> EngineCore:
        """Return an engine; with `captures`, its decode steps are replayed where they can be."""
        config = EngineConfig(
            model=str(self.folder),
            dtype="bfloat16",
            kv_dtype=self.subject.kv_dtype,
            device="cpu",
            max_model_len=2 * LONGEST,
            audit=True,
            **settings,  # type: ignore[arg-type]
        )
        loaded = load_model(config)
        backend = FlashInferBackend(loaded.device)
        layout = backend.pool_layout(loaded.device)
        backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
        with_spare = replace(loaded, num_slots=loaded.num_slots + SPARE_SLOTS)
        subject = TransformersExecutor(loaded, backend, PoolMemory(with_spare, None, layout))
        if captures:
            subject.capture_decoding(RepeatingQueue(loaded.device), max_rows=8)
        plain = TransformersExecutor(loaded, ReferenceBackend(), PoolMemory(loaded, None, "HND"))
        for tensor in (*subject.pool.tensors(), *plain.pool.tensors()):
            tensor.fill_(torch.nan)  # a key that is read before it is written would show

        def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
            self.device.take_launches()
            graphs = subject._graphs
            before = 0 if graphs is None else graphs.num_replayed
            got = execute(plan)
            is_replayed = graphs is not None and graphs.num_replayed > before
            self.num_replayed += is_replayed
            windows = [spec.sliding_window for spec in loaded.specs]
            self.count_launches(plan, windows, is_replayed=is_replayed)
            self.seen.add(got, plain.execute(plan))
            return got

        return EngineCore(config, WatchedExecutor(subject, step))

    def count_launches(
        self, plan: StepPlan, windows: list[int | None], *, is_replayed: bool
    ) -> None:
        """Hold the step's launches, layer by layer, to the calls of its plan."""
        expected = []
        for window in windows:
            cascade = make_cascade(RowPaths(plan), window)
            is_decode = cascade.own.is_decode and cascade.window_left < 0
            if not is_decode:
                expected.append("prefill causal")
            else:  # on tensor cores it is a prefill of one row each
                expected.append("decode" if self.subject.num_kv_heads > 1 else "prefill full")
            if cascade.shared is not None and not is_replayed:
                expected.append("prefill full")
        launches = self.device.take_launches()
        assert [name for name in launches if "merge" not in name] == expected
        for name in launches:
            self.launches[name] = self.launches.get(name, 0) + 1
        assert self.device.num_reads == 0


@pytest.fixture(scope="module", params=SUBJECTS)
def twins(
    request: pytest.FixtureRequest,
    device: FakeRuntime,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Twins]:
    subject = SUBJECTS[request.param]
    folder = write_model(
        tmp_path_factory.mktemp("model"),
        subject.model,
        num_heads=subject.num_heads,
        num_kv_heads=subject.num_kv_heads,
    )
    found = Twins(device, folder, subject, Comparison(subject.tolerance))
    yield found
    print(f"\n{request.param}: {found}")


def run_schedule(twins: Twins, seed: int) -> EngineCore:
    """Run requests whose prompts overlap, in a pool too small for all of them."""
    rng = random.Random(seed)
    core = twins.core(
        captures=rng.random() < 0.5,
        num_slots=rng.choice([2 * LONGEST, 2 * LONGEST + 20, 160]),
        max_step_rows=rng.choice([5, 16, 128]),
        max_running=rng.choice([3, 8]),
    )
    words = [rng.randrange(3, VOCAB_SIZE) for _ in range(8)]
    prompts: list[tuple[int, ...]] = [tuple(rng.choices(words, k=LONGEST // 2))]
    answers = Answers()
    for number in range(6):
        base = rng.choice(prompts)
        base = base[: rng.randint(1, len(base))]
        own = rng.choices(words, k=rng.randint(0, LONGEST - len(base)))
        prompts.append((*base, *own))
        sampling = SamplingParams(
            n=rng.choice([1, 1, 2, 3]),
            temperature=rng.choice([0.0, 1.0]),
            seed=number,
            max_tokens=rng.choice([3, 12, 30]),
            ignore_eos=True,
            prompt_logprobs=0 if rng.random() < 0.15 else None,
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
    return core


def test_schedules(twins: Twins) -> None:
    stats = [run_schedule(twins, seed).stats for seed in range(NUM_SCHEDULES // len(SUBJECTS))]
    assert sum(stat.num_evicted_tokens for stat in stats) > 0
    assert sum(stat.num_preemptions for stat in stats) > 0
    assert sum(stat.cached_tokens for stat in stats) > 0
    assert 2 * twins.seen.num_tokens > twins.seen.num_near_ties
    assert 8 * twins.num_replayed > twins.seen.num_steps
    assert set(twins.launches) >= {"prefill causal", "prefill full"}


@pytest.mark.parametrize("part", ["own", "shared"])
def test_one_wrong_key_is_seen(twins: Twins, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(paths: RowPaths, window: int | None) -> Cascade:
        cascade = make_cascade(paths, window)
        groups: Groups | None = getattr(cascade, part)
        if groups is not None and len(groups.slots) > 3:
            groups.slots[1] = groups.slots[2]
        return cascade

    monkeypatch.setattr("yaie.attention.flashinfer.backend.make_cascade", spoil)
    with pytest.raises(AssertionError, match="not close"):
        for seed in range(5):
            run_schedule(twins, seed)
