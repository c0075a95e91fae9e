"""The fused decoder at positions near the end of the context, behind a gap in each sequence."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.models.zoo_models import RECOGNISED_FOR_A_GPU, executor_of, fuse, load_case
from yaie.models.fused.operations import HeadOperation
from yaie.models.fused.plain import PlainOperations
from yaie.models.native.numerics_check import far_plan


@pytest.mark.parametrize("name", ["qwen3", *RECOGNISED_FOR_A_GPU])
def test_far_positions_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    executor = executor_of(load_case(name, tmp_path))
    plan = far_plan(executor.loaded)
    assert plan is not None
    assert plan.positions.max() == executor.loaded.max_model_len - 1
    expected = executor.execute(plan)
    fuse(executor, PlainOperations())
    assert executor.name == "fused"
    torch.testing.assert_close(executor.execute(plan), expected, rtol=1e-4, atol=1e-4)


class _NearTables(PlainOperations):
    """A rotation by tables that end early."""

    def rotate(
        self, projected: torch.Tensor, positions: torch.Tensor, heads: HeadOperation
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return super().rotate(projected, positions.clamp(max=40), heads)


def test_tables_that_end_early_are_seen(tmp_path: Path) -> None:
    executor = executor_of(load_case("qwen3", tmp_path))
    plan = far_plan(executor.loaded)
    assert plan is not None
    expected = executor.execute(plan)
    fuse(executor, _NearTables())
    assert executor.name == "fused"  # near positions agree
    assert not torch.allclose(executor.execute(plan), expected, rtol=1e-4, atol=1e-4)
