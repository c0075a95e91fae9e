"""An engine of `flashinfer+triton`: FlashInfer's planner and wrappers, and interpreted Triton.

`test_by_cost` runs this file in a process of its own. The cost model counts bytes alone, so that
a tiny model takes every method: decode for a path by itself, a tree for a few rows below a shared
prefix, a cascade for more rows than one block of the tree holds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from tests.attention.tree_decode.interpreter import right_rounding  # noqa: F401
from tests.engine.asking import ask, run
from tests.engine.watched_executor import Execute, WatchedExecutor
from tests.flashinfer.comparison import Comparison
from tests.flashinfer.fake_device import FakeRuntime
from tests.flashinfer.models import VOCAB_SIZE, write_model
from tests.flashinfer.repeating_queue import RepeatingQueue
from yaie.attention.auto_backend import AutoBackend
from yaie.attention.cost_model import DeviceTraits
from yaie.attention.flashinfer.cascade import RowPaths, make_cascade, make_unshared
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.registry import _make_by_cost
from yaie.attention.tree_decode import backend as tree_decode
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.execution.memory import SPARE_SLOTS, PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.load.loader import load_model

BYTES_ONLY = DeviceTraits(
    launch_s=1e-12, cache_bytes=0, uncaptured_layer_s=0.0, cascade_layer_s=0.0
)
Dtype = Literal["bfloat16", "float16"]
NUM_LAYERS = 2
TOLERANCE = {"bfloat16": 0.1, "float16": 0.02}  # of logits between -5 and 5
GROUP = 3  # decode on CUDA cores; a block of tree decode holds 21 rows, one of a cascade 42
NUM_SAMPLES = 24
TREE_LAUNCHES = {"launch_items": "tree", "launch_merge": "tree parts", "launch_write": "tree write"}


def tokens_of(seed: int, length: int) -> tuple[int, ...]:
    return tuple(random.Random(seed).choices(range(3, VOCAB_SIZE), k=length))


SHARED = tokens_of(1, 40)


def config_of(folder: Path, dtype: Dtype) -> EngineConfig:
    return EngineConfig(
        model=str(folder),
        dtype=dtype,
        device="cpu",
        num_slots=320,
        max_model_len=128,
        max_running=32,
        audit=True,
    )


class Watch:
    """The launches of an engine's steps, and the comparison of its logits."""

    def __init__(
        self,
        device: FakeRuntime,
        folder: Path,
        dtype: Dtype,
        max_rows: int,
    ) -> None:
        self.device, self.seen = device, Comparison(TOLERANCE[dtype])
        self.launches: list[str] = []  # by Triton, in this step
        self.steps: Counter[tuple[str, bool]] = Counter()  # by method, replayed or not
        config = config_of(folder, dtype)
        loaded = load_model(config)
        backend = _make_by_cost(loaded.device)
        assert isinstance(backend, AutoBackend)
        assert backend.name == "flashinfer+triton"
        backend._traits = BYTES_ONLY
        backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
        with_spare = replace(loaded, num_slots=loaded.num_slots + SPARE_SLOTS)
        memory = PoolMemory(with_spare, None, backend.pool_layout(loaded.device))
        self.subject = TransformersExecutor(loaded, backend, memory)
        if max_rows:
            self.subject.capture_decoding(RepeatingQueue(loaded.device), max_rows)
        self.plain = TransformersExecutor(
            loaded, ReferenceBackend(), PoolMemory(loaded, None, "HND")
        )
        for tensor in (*self.subject.pool.tensors(), *self.plain.pool.tensors()):
            tensor.fill_(torch.nan)  # a key that is read before it is written would show
        self.core = EngineCore(config, WatchedExecutor(self.subject, self.step))

    def step(self, plan: StepPlan, execute: Execute) -> torch.Tensor:
        self.device.take_launches()
        self.launches.clear()
        graphs = self.subject.graphs
        before = 0 if graphs is None else graphs.num_replayed
        got = execute(plan)
        is_replayed = graphs is not None and graphs.num_replayed > before
        choice = self.subject.attention_choice
        method = "prompt" if choice is None else choice.method
        self.steps[method, is_replayed] += 1
        self.check_launches(plan, method)
        self.seen.add(got, self.plain.execute(plan))
        return got

    def check_launches(self, plan: StepPlan, method: str) -> None:
        """Hold the step's launches to its method: those of one library alone."""
        by_flashinfer = [each for each in self.device.take_launches() if "merge" not in each]
        if method == "tree":
            assert by_flashinfer == []
            assert self.launches == ["tree write", "tree", "tree parts"] * NUM_LAYERS
            return
        assert self.launches == []
        if method == "prompt":
            assert isinstance(self.subject._backend, AutoBackend)
            method = self.subject._backend.chooser.choose_for_prompts(plan)
        make_groups = make_cascade if method == "cascade" else make_unshared
        cascade = make_groups(RowPaths(plan), None)
        layer = ["decode" if cascade.own.is_decode else "prefill causal"]
        if cascade.shared is not None:
            layer.append("prefill full")
        assert by_flashinfer == layer * NUM_LAYERS
        assert self.device.num_reads == 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Watch]:
    """Note Triton's launches in the watch of this list."""
    watches: list[Watch] = []

    def noting(launch: Callable[..., None], name: str) -> Callable[..., None]:
        def noted(*arguments: Any, **keywords: Any) -> None:
            for watch in watches:
                watch.launches.append(name)
            launch(*arguments, **keywords)

        return noted

    for function, name in TREE_LAUNCHES.items():
        monkeypatch.setattr(tree_decode, function, noting(getattr(tree_decode, function), name))
    return watches


def answers_of(core: EngineCore) -> dict[tuple[str, int], list[int]]:
    """Return all tokens of requests that end one after the other, then of many below a prefix."""
    found = run(
        core,
        ask("alone", tokens_of(2, 9), max_tokens=9),
        ask("first", (*SHARED, *tokens_of(3, 4)), max_tokens=6),
        ask("second", (*SHARED, *tokens_of(4, 2)), max_tokens=4),
        ask("third", (*SHARED, *tokens_of(5, 3)), max_tokens=3),
    )
    many = run(core, ask("many", SHARED, max_tokens=4, n=NUM_SAMPLES, temperature=1.0, seed=7))
    return {
        (name, index): each.tokens(name, index)
        for each in (found, many)
        for name, index in each.deltas
    }


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("dtype", "max_rows"), [("bfloat16", 4), ("float16", 0)])
def test_a_whole_engine_takes_every_method(
    device: FakeRuntime,
    tmp_path: Path,
    counted: list[Watch],
    dtype: Dtype,
    max_rows: int,
) -> None:
    folder = write_model(tmp_path, "llama", num_heads=2 * GROUP, num_kv_heads=2)
    watch = Watch(device, folder, dtype, max_rows)
    counted.append(watch)
    core = watch.core
    found = answers_of(core)
    assert {key: len(tokens) for key, tokens in found.items()} == {
        ("alone", 0): 9,
        ("first", 0): 6,
        ("second", 0): 4,
        ("third", 0): 3,
        **{("many", index): 4 for index in range(NUM_SAMPLES)},
    }
    print(watch.steps, watch.seen)
    may_replay = max_rows > 0
    for method, replays in (("decode", may_replay), ("tree", may_replay), ("cascade", False)):
        assert watch.steps[method, replays] > 0, watch.steps
    assert watch.steps["prompt", False] > 0
    stats = core.stats
    assert stats.num_flashinfer_decode_steps == steps_by(watch, "decode")
    assert stats.num_tree_decode_steps == steps_by(watch, "tree")
    assert stats.num_flashinfer_cascade_steps == steps_by(watch, "cascade")
    assert stats.num_failed == stats.num_out_of_memory == 0
    assert watch.seen.num_tokens > watch.seen.num_near_ties
    if dtype == "float16":  # rounding decides no token
        assert found == answers_of(reference_core(config_of(folder, dtype)))


def reference_core(config: EngineConfig) -> EngineCore:
    """Return an engine with the reference backend alone."""
    loaded = load_model(config)
    memory = PoolMemory(loaded, None, "HND")
    return EngineCore(config, TransformersExecutor(loaded, ReferenceBackend(), memory))


def steps_by(watch: Watch, method: str) -> int:
    return watch.steps[method, True] + watch.steps[method, False]
