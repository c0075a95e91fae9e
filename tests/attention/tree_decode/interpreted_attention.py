"""Random trees through the interpreted kernels; run by `test_interpreted` in a process of its own.

Memory that nothing has written holds NaN: unused slots by `cases`, new tensors by torch's
deterministic mode.
"""

from __future__ import annotations

import os

import pytest
import torch

from tests.attention.tree_decode.cases import CPU, check, make_case
from tests.attention.tree_decode.interpreter import nan_in_new_tensors, right_rounding  # noqa: F401
from yaie.attention.tree_decode.backend import TritonBackend
from yaie.attention.tree_decode.probe import probe_layers
from yaie.device.queue import PlainQueue

FIRST, END = map(int, os.environ.get("TREE_SEEDS", "0:12").split(":"))


@pytest.mark.parametrize("seed", range(FIRST, END))
def test_kernels_equal_float64_over_whole_paths(seed: int) -> None:
    check(make_case(seed))


@pytest.mark.parametrize("pool_dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_pools_of_other_dtypes(pool_dtype: torch.dtype) -> None:
    check(make_case(2, dtype=torch.bfloat16, pool_dtype=pool_dtype))


@pytest.mark.parametrize("pool_dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_working_kernels_pass_the_probe(pool_dtype: torch.dtype) -> None:
    specs = [make_case(seed).spec for seed in range(6)]
    probe_layers(TritonBackend(PlainQueue(CPU)), specs, torch.bfloat16, pool_dtype, CPU)
