"""Random trees through the interpreted kernels; run by `test_interpreted` in a process of its own.

Memory that nothing has written holds NaN: unused slots by `cases`, new tensors by torch's
deterministic mode.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.attention.tree_decode.cases import CPU, check, make_case
from tests.attention.tree_decode.interpreter import nan_in_new_tensors, right_rounding  # noqa: F401
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.backend import TreeDecodeBackend
from yaie.attention.tree_decode.probe import probe_layers
from yaie.attention.tree_decode.work_items import WorkItems
from yaie.base.errors import ConfigError
from yaie.device.queue import PlainQueue

FIRST, END = map(int, os.environ.get("TREE_SEEDS", "0:12").split(":"))


@pytest.mark.parametrize("seed", range(FIRST, END))
def test_kernels_equal_float64_over_whole_paths(seed: int) -> None:
    check(make_case(seed))


@pytest.mark.parametrize("pool_dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_pools_of_other_dtypes(pool_dtype: torch.dtype) -> None:
    check(make_case(2, dtype=torch.bfloat16, pool_dtype=pool_dtype))


def kinds() -> list[AttentionSpec]:
    """Return layers of several groups, some with a window that ends among the probe's keys."""
    specs = [make_case(seed).spec for seed in range(6 if END - FIRST > 2 else 2)]
    return [*specs, *(replace(each, sliding_window=300, has_sinks=True) for each in specs[:3:2])]


@pytest.mark.parametrize("pool_dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_working_kernels_pass_the_probe(pool_dtype: torch.dtype) -> None:
    probe_layers(TreeDecodeBackend(PlainQueue(CPU)), kinds(), torch.bfloat16, pool_dtype, CPU)


def test_the_probe_refuses_a_kernel_that_misplaces_wide_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wide items begin one key too late; narrow ones are right."""
    real = WorkItems.__init__

    def misplaced(items: WorkItems, table: Any, *others: Any) -> None:
        wide = table[:, 6] == 1
        table[wide, 0] += 1
        real(items, table, *others)

    monkeypatch.setattr(WorkItems, "__init__", misplaced)
    with pytest.raises(ConfigError, match=r"relative error .* in a tree"):
        probe_layers(
            TreeDecodeBackend(PlainQueue(CPU)), kinds()[-1:], torch.bfloat16, torch.bfloat16, CPU
        )
