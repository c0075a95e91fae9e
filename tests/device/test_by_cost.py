"""Engines that change their method of attention from step to step, on the strict device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import CONTEXT_LEN, config_of, on_device
from tests.device.padded_backend import PaddedBackend, PaddedStep
from tests.engine.asking import Answers, ask, run, tokens_of
from yaie.attention.auto_backend import AutoBackend
from yaie.attention.backend import AttentionBackend
from yaie.attention.cost_model import DeviceTraits, Method
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend, ReferenceStep
from yaie.base.errors import ConfigError
from yaie.engine.core import EngineCore
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.kvcache.pool import PoolLayout
from yaie.models.load.loader import load_model

# Bytes alone count, so that shared keys decide even in a tiny model.
BYTES_ONLY = DeviceTraits(
    launch_s=1e-12, cache_bytes=0, uncaptured_layer_s=0.0, cascade_layer_s=0.0
)
REQUESTS = [
    ask("short", tokens_of(5, 6), max_tokens=4),
    ask("first", (*tokens_of(1, 24), *tokens_of(2, 3)), max_tokens=14),
    ask("second", (*tokens_of(1, 24), *tokens_of(3, 2)), max_tokens=10),
    ask("third", (*tokens_of(1, 24), *tokens_of(4, 2)), max_tokens=12, temperature=1.0, seed=3),
    ask("alone", tokens_of(6, 5), max_tokens=24),
]


class Counted(PaddedBackend):
    """A capturable backend that counts its steps by method."""

    def __init__(self, queue: DelayedQueue, method: Method, used: Counter[tuple[str, str]]) -> None:
        super().__init__(queue, CONTEXT_LEN)
        self._method, self._used = method, used

    @property
    def name(self) -> str:
        return self._method

    def pool_layout(self, device: torch.device) -> PoolLayout:
        return "NHD"

    def prepare(self, plan: StepPlan, device: torch.device) -> ReferenceStep:
        self._used["eager", self._method] += 1
        return super().prepare(plan, device)

    def make_static(self, num_rows: int, spare_slot: int, device: torch.device) -> PaddedStep:
        step, refill = super().make_static(num_rows, spare_slot, device), PaddedStep.refill

        def counted(plan: StepPlan) -> None:
            self._used["captured", self._method] += 1
            refill(step, plan)

        step.refill = counted  # type: ignore[method-assign]
        return step


def engine(
    folder: Path, methods: Sequence[Method], *, max_rows: int
) -> tuple[EngineCore, Counter[tuple[str, str]]]:
    """Return an engine with a backend for each method, and the steps of each."""
    config = config_of(folder, max_running=8)
    loaded = on_device(load_model(config, may_pack=False))
    queue, used = DelayedQueue(), Counter[tuple[str, str]]()
    backends: dict[Method, AttentionBackend] = {
        method: Counted(queue, method, used) for method in methods
    }
    backend = AutoBackend(backends, BYTES_ONLY)
    backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
    executor = TransformersExecutor(loaded, backend, PoolMemory(loaded, None, "NHD"))
    if max_rows:
        executor.capture_decoding(queue, max_rows)
    used.clear()
    return EngineCore(config, executor), used


@pytest.mark.integration
@pytest.mark.parametrize("max_rows", [0, 8])
@pytest.mark.parametrize(
    ("methods", "switched"),
    [
        (("cascade", "decode", "tree"), {"decode", "tree"}),
        (("cascade", "decode"), {"cascade", "decode"}),
    ],
)
def test_switching_between_steps_keeps_the_tokens(
    tiny_model_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    methods: Sequence[Method],
    switched: set[str],
    max_rows: int,
) -> None:
    core, used = engine(tiny_model_dir, methods, max_rows=max_rows)
    queue = DelayedQueue()
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    expected: Answers = run(EngineCore(config_of(tiny_model_dir)), *REQUESTS)
    found = run(core, *REQUESTS)
    for name, index in expected.deltas:
        assert found.tokens(name, index) == expected.tokens(name, index)
    stats = core.stats
    counted = {
        "decode": stats.num_flashinfer_decode_steps,
        "cascade": stats.num_flashinfer_cascade_steps,
        "tree": stats.num_tree_decode_steps,
    }
    assert {method for method, number in counted.items() if number} == switched
    num_prompt_steps = stats.num_steps - sum(counted.values())
    assert 0 < num_prompt_steps < 5
    of_prompts = _by_method(used)
    of_prompts.subtract(counted)
    assert of_prompts["tree"] == 0 and min(of_prompts.values()) >= 0
    assert of_prompts.total() == num_prompt_steps
    assert (stats.num_replayed_steps > 0) == (max_rows > 0)
    assert stats.num_failed == 0
    assert stats.attention_estimate_s > 0


def test_a_method_that_cannot_be_captured_leaves_the_other_its_graphs(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Counted.make_static

    def make_static(backend: Counted, *arguments: object) -> PaddedStep:
        if backend.name == "decode":
            raise RuntimeError("a plan is not at fixed addresses")
        return real(backend, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Counted, "make_static", make_static)
    core, used = engine(tiny_model_dir, ("cascade", "decode", "tree"), max_rows=8)
    assert "cannot be captured" in caplog.text and "fixed addresses" in caplog.text
    run(core, *REQUESTS)
    steps = _steps(used)
    assert set(steps) == {"captured tree", "eager decode", "eager cascade"}
    assert core.stats.num_replayed_steps == steps["captured tree"]
    assert core.stats.num_flashinfer_decode_steps == steps["eager decode"]


def test_a_size_without_memory_in_one_method_is_captured_in_the_other(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logits that all graphs share are then those of the larger size."""
    real = Counted.make_static

    def make_static(backend: Counted, num_rows: int, *others: object) -> PaddedStep:
        if backend.name == "decode" and num_rows > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(backend, num_rows, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Counted, "make_static", make_static)
    queue = DelayedQueue()
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    core, used = engine(tiny_model_dir, ("cascade", "decode", "tree"), max_rows=8)
    assert core.executor.graphs is not None
    assert core.executor.graphs.report.sizes == (1, 2, 4, 8)
    expected = run(EngineCore(config_of(tiny_model_dir)), *REQUESTS)
    found = run(core, *REQUESTS)
    for name, index in expected.deltas:
        assert found.tokens(name, index) == expected.tokens(name, index)
    assert _steps(used)["captured tree"] > 0 < _steps(used)["captured decode"]


def _steps(used: Counter[tuple[str, str]]) -> dict[str, int]:
    return {" ".join(key): number for key, number in used.items()}


def _by_method(used: Counter[tuple[str, str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, method), number in used.items():
        found[method] += number
    return found


class Refused(ReferenceBackend):
    """A backend that can compute no model."""

    @property
    def name(self) -> str:
        return "refused"

    def open_layers(self, *arguments: object) -> None:
        raise ConfigError("the device is too old; use another", param="attention_backend")


def test_a_method_that_the_device_forbids_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    device = torch.device("cpu")
    backend = AutoBackend({"cascade": ReferenceBackend(), "tree": Refused()})
    backend.open_layers([], torch.float32, torch.float32, device)
    assert backend.name == "reference"
    assert "refused computes no attention: the device is too old" in caplog.text
    with pytest.raises(ConfigError, match="too old"):
        AutoBackend({"cascade": Refused(), "tree": ReferenceBackend()}).open_layers(
            [], torch.float32, torch.float32, device
        )
