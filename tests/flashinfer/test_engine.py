"""The whole engine with the FlashInfer backend, step by step against the reference backend.

Both run the same bfloat16 weights over the same plans, each with a pool of its own. Random
schedules over a pool of few slots keep eviction and preemption going. A step's launches are
compared by name with those of its plan, and a plan never reads from the device.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from tests.engine.asking import Answers
from tests.engine.watched_executor import Execute, WatchedExecutor
from tests.flashinfer.fake_device import FakeRuntime
from tests.flashinfer.models import MODELS, VOCAB_SIZE, write_model
from yaie.attention.flashinfer.backend import FlashInferBackend
from yaie.attention.flashinfer.cascade import Cascade, Groups, RowPaths, make_cascade
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.config import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.pool_memory import PoolMemory
from yaie.engine.transformers_executor import TransformersExecutor
from yaie.models.loader import load_model
from yaie.types import GenerationRequest, SamplingParams

pytestmark = [
    pytest.mark.flashinfer,
    pytest.mark.timeout(3600),
    pytest.mark.usefixtures("one_thread"),
]
LONGEST = 40
NUM_SCHEDULES = 200
# Of logits between -5 and 5. Each layer rounds its attention to bfloat16, whose step at 1 is 0.008,
# after sums in another order. `test_one_wrong_key_is_seen` shows what a wrong key does.
TOLERANCE = {"llama": 0.1, "gemma2": 0.1, "gpt_oss": 0.15}  # experts multiply what differs


@dataclass
class Twins:
    """Two executors of one model, and what their comparison has seen."""

    device: FakeRuntime
    folder: Path
    tolerance: float
    num_steps: int = 0
    num_tokens: int = 0  # compared
    num_near_ties: int = 0
    largest_error: float = 0.0
    launches: dict[str, int] = field(default_factory=dict)

    def core(self, **settings: object) -> EngineCore:
        config = EngineConfig(
            model=str(self.folder),
            dtype="bfloat16",
            device="cpu",
            max_model_len=2 * LONGEST,
            audit=True,
            **settings,  # type: ignore[arg-type]
        )
        loaded = load_model(config)
        backend = FlashInferBackend(loaded.device)
        layout = backend.pool_layout(loaded.device)
        backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
        subject = TransformersExecutor(loaded, backend, PoolMemory(loaded, None, layout))
        plain = TransformersExecutor(loaded, ReferenceBackend(), PoolMemory(loaded, None, "HND"))
        for tensor in (*subject.pool.tensors(), *plain.pool.tensors()):
            tensor.fill_(torch.nan)  # a key that is read before it is written would show

        def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
            self.device.take_launches()
            got = execute(plan)
            self.count_launches(plan, [spec.sliding_window for spec in loaded.specs])
            self.compare(got, plain.execute(plan))
            return got

        return EngineCore(config, WatchedExecutor(subject, step))

    def compare(self, got: torch.Tensor, expected: torch.Tensor) -> None:
        self.num_steps += 1
        torch.testing.assert_close(got, expected, rtol=0, atol=self.tolerance)
        if len(got):
            self.largest_error = max(self.largest_error, float((got - expected).abs().max()))
        best = expected.topk(2, dim=-1).values
        is_clear = best[:, 0] - best[:, 1] > 2 * self.tolerance
        assert torch.equal(got.argmax(-1)[is_clear], expected.argmax(-1)[is_clear])
        self.num_tokens += int(is_clear.sum())
        self.num_near_ties += int((~is_clear).sum())

    def count_launches(self, plan: StepPlan, windows: list[int | None]) -> None:
        """Hold the step's launches, layer by layer, to the calls of its plan."""
        expected = []
        for window in windows:
            cascade = make_cascade(RowPaths(plan), window)
            is_decode = cascade.own.is_decode and cascade.window_left < 0
            expected.append("decode" if is_decode else "prefill causal")
            if cascade.shared is not None:
                expected.append("prefill full")
        launches = self.device.take_launches()
        assert [name for name in launches if "merge" not in name] == expected
        for name in launches:
            self.launches[name] = self.launches.get(name, 0) + 1
        assert self.device.num_reads == 0


@pytest.fixture(scope="module", params=MODELS)
def twins(
    request: pytest.FixtureRequest,
    device: FakeRuntime,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Twins]:
    folder = write_model(tmp_path_factory.mktemp("model"), request.param)
    found = Twins(device, folder, TOLERANCE[request.param])
    yield found
    print(f"\n{request.param}: {found}")


def run_schedule(twins: Twins, seed: int) -> EngineCore:
    """Run requests whose prompts overlap, in a pool too small for all of them."""
    rng = random.Random(seed)
    core = twins.core(
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


@pytest.mark.parametrize("part", range(4))
def test_schedules(twins: Twins, part: int) -> None:
    share = NUM_SCHEDULES // 4 // len(MODELS) + 1
    stats = [run_schedule(twins, 1000 * part + seed).stats for seed in range(share)]
    assert sum(stat.num_evicted_tokens for stat in stats) > 0
    assert sum(stat.num_preemptions for stat in stats) > 0
    assert sum(stat.cached_tokens for stat in stats) > 0
    assert 2 * twins.num_tokens > twins.num_near_ties
    assert set(twins.launches) >= {"decode", "prefill causal", "prefill full"}


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
