"""The measured size of a pool, and errors that name the value that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.attention.dense import path_of
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.base.errors import NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.memory_profile import largest_plan, size_pool
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.engine.sampling.device.device_sampler import sampling_bytes
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model

MIB = 2**20


class Gpu:
    """A device with memory for steps of `room` rows, at `row_bytes` each, and `left` beside."""

    def __init__(self, room: int = 10**6, row_bytes: int = 1000, left: int = 20 * MIB) -> None:
        self._room, self._row_bytes, self._left = room, row_bytes, left
        self.rows: list[int] = []  # of the steps that were tried

    def executor(self, loaded: LoadedModel) -> Executor:
        executor = TransformersExecutor(loaded, ReferenceBackend(), PoolMemory(loaded, None, "HND"))
        real = executor.execute

        def execute(plan: StepPlan) -> torch.Tensor:
            self.rows.append(plan.num_rows)
            if plan.num_rows > self._room:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return real(plan)

        executor.execute = execute  # type: ignore[method-assign]
        return executor

    def free(self) -> int:
        return self._left

    def peak(self, run: Callable[[], object]) -> int:
        run()
        return self.rows[-1] * self._row_bytes


def configured(folder: Path, **settings: object) -> tuple[LoadedModel, EngineConfig]:
    config = EngineConfig(
        model=str(folder),
        device="cpu",
        max_step_rows=200,
        max_running=8,
        **settings,  # type: ignore[arg-type]
    )
    return load_model(replace(config, num_slots=300, max_model_len=64), may_pack=False), config


def test_a_pool_takes_its_share_of_what_the_largest_step_leaves(tiny_model_dir: Path) -> None:
    loaded, config = configured(tiny_model_dir)
    small, large = Gpu(), Gpu(row_bytes=50_000)
    slots = [size_pool(loaded, config, gpu.executor, gpu).num_slots for gpu in (small, large)]
    assert small.rows == large.rows == [200]
    each = loaded.metadata.kv_bytes_per_token
    # 200 rows, and 8 of them once more in graphs
    taken = 208 * 1000 + 4 * 8 * 420 + sampling_bytes(8, 420)
    assert slots[0] == int(0.5 * (20 * MIB - taken)) // each  # half on a CPU
    assert (slots[0] - slots[1]) * each == pytest.approx(0.5 * 208 * 49_000, rel=0.01)


def test_a_given_pool_is_checked_and_the_number_that_fits_is_named(tiny_model_dir: Path) -> None:
    loaded, config = configured(tiny_model_dir, num_slots=10**6)
    gpu = Gpu()
    with pytest.raises(NotEnoughMemory, match=r"at most --num-slots (\d+)") as refused:
        size_pool(loaded, config, gpu.executor, gpu)
    assert refused.value.param == "num_slots"
    fitting = int(str(refused.value).split("--num-slots ")[1].split()[0])
    config = replace(config, num_slots=fitting)
    assert size_pool(loaded, config, gpu.executor, gpu).num_slots == fitting


def test_a_step_that_does_not_fit_names_the_rows_that_do(tiny_model_dir: Path) -> None:
    loaded, config = configured(tiny_model_dir)
    gpu = Gpu(room=60)
    with pytest.raises(NotEnoughMemory, match=r"--max-step-rows 50$") as refused:
        size_pool(loaded, config, gpu.executor, gpu)
    assert refused.value.param == "max_step_rows"
    assert gpu.rows == [200, 100, 50]
    with pytest.raises(NotEnoughMemory, match="a step of one token"):
        none = Gpu(room=0)
        size_pool(loaded, config, none.executor, none)
    with pytest.raises(
        NotEnoughMemory, match=r"adapters \(1\.0 MiB\).* smaller --max-loras"
    ) as refused:
        size_pool(loaded, config, none.executor, none, adapter_bytes=MIB)
    assert refused.value.param == "max_loras"


def test_other_errors_of_the_step_are_not_taken_for_memory(tiny_model_dir: Path) -> None:
    loaded, config = configured(tiny_model_dir)

    def broken(_: LoadedModel) -> Executor:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        size_pool(loaded, config, broken, Gpu())


def test_a_pool_that_cannot_be_allocated_names_the_number_that_fits(tiny_model_dir: Path) -> None:
    loaded, _ = configured(tiny_model_dir)
    with pytest.raises(NotEnoughMemory, match=r"at most --num-slots \d+ would fit") as refused:
        PoolMemory(replace(loaded, num_slots=2**45), None, "HND")
    assert refused.value.param == "num_slots"


@pytest.mark.parametrize(("rows", "longest"), [(1, 1), (10, 4), (12, 4), (5, 100)])
def test_the_largest_plan_gives_each_row_its_whole_prompt(rows: int, longest: int) -> None:
    plan = largest_plan(rows, longest, 3)
    assert len(plan.logit_rows) == min(rows, 3)
    for row in range(rows):
        path = path_of(plan, row)
        assert sorted(path) == list(range(row % longest + 1))
        assert path[row % longest] == row
