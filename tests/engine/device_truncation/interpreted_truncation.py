"""The kernel's source against its twins; `test_interpreted` runs it, with Triton interpreted.

The interpreter calls torch's exponential for that of CUDA, as torch on a GPU has the same one.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from hypothesis import given, settings
from triton.language.extra.cuda import libdevice
from triton.runtime.interpreter import TensorHandle

from tests.device import strict
from tests.device.delayed_queue import DelayedQueue
from tests.device.strict import device, to_device
from tests.engine.device_truncation.rows import Rows, check, rows
from tests.engine.sampling import state_of, task
from yaie.base.types import SamplingParams
from yaie.device.queue import PlainQueue
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.sampling.device.device_truncation import Limits
from yaie.engine.sampling.device.truncation_choice import check_truncation
from yaie.engine.sampling.device.truncation_kernel import TritonTruncation

IS_LARGE = os.environ.get("TRUNCATION_SET") == "large"
CPU = torch.device("cpu")
KINDS: list[dict[str, Any]] = [
    {"top_p": 0.9},
    {"top_k": 50, "temperature": 2.0},
    {"top_p": 0.95, "temperature": 2.0},
    {"top_k": 4000, "top_p": 0.8, "min_p": 1e-4},
    {"top_k": 1},
    {"top_p": 1e-9},
    {"top_p": 1 - 1e-9},
    {},
]


@pytest.fixture(scope="module", autouse=True)
def torchs_exponential() -> None:
    """Give the interpreter an exponential; it has none of CUDA's library."""

    def exp(x: Any) -> Any:
        numbers = np.array(x.handle.data, dtype=np.float32)
        result = torch.from_numpy(numbers.reshape(-1)).exp().numpy().reshape(numbers.shape)
        return tl.tensor(TensorHandle(result, tl.float32), x.type)

    libdevice.exp = exp


@settings(max_examples=600 if IS_LARGE else 25)
@given(rows(most=1500))
def test_the_kernel_keeps_the_tokens_of_its_twins(batch: Rows) -> None:
    check(batch, TritonTruncation())


@pytest.mark.parametrize("vocab_size", [32_000, 50_257, 128_256, 150_001] if IS_LARGE else [9000])
@pytest.mark.parametrize("decimals", [None, 2, 0] if IS_LARGE else [1])
def test_large_vocabularies(vocab_size: int, decimals: int | None) -> None:
    """Flat rows need the most passes; rounded ones have thousands of ties at each border."""
    logits = np.random.default_rng(vocab_size).normal(size=(len(KINDS), vocab_size), scale=2.0)
    logits[1::2] *= 3
    if decimals is not None:
        logits = logits.round(decimals)
    check(Rows.of(logits, [SamplingParams(**kind) for kind in KINDS]), TritonTruncation())


def test_borders_between_numbers_of_no_difference() -> None:
    """Neighbouring floats, numbers below the normal ones, and zeros of both signs."""
    start = np.array([0.0, -0.0, *(-np.arange(1, 40) * 1e-45), -1e-38, -1.0], np.float32)
    near = np.nextafter(np.full(20, -1.0, np.float32), np.float32(-2))
    logits = np.concatenate([start, near, np.float32([-87.0, -103.9, -104.1, -500.0])])
    kinds: list[dict[str, Any]] = [
        *({"top_k": count} for count in (1, 2, 20, 41, 50, 64)),
        *({"top_p": share} for share in (0.01, 0.5, 0.7, 0.999)),
    ]
    batch = Rows(
        torch.from_numpy(np.stack([logits] * len(kinds))), [SamplingParams(**k) for k in kinds]
    )
    check(batch, TritonTruncation())


def test_a_working_kernel_passes_its_first_launch() -> None:
    assert check_truncation(TritonTruncation(), CPU, 5000).name == "triton"


def sampled(sampler: DeviceSampler | CpuSampler, logits: torch.Tensor, seed: int) -> list[Any]:
    vocab_size = logits.shape[1]
    tasks = [
        task(i, state_of(SamplingParams(seed=seed + i, **kind), vocab_size=vocab_size, index=i))
        for i, kind in enumerate(KINDS)
    ]
    return sampler.sample(logits, tasks)


def test_a_seed_gives_the_tokens_of_the_cpu() -> None:
    sampler = DeviceSampler(
        3000, PlainQueue(CPU), max_tasks=len(KINDS), truncation=TritonTruncation()
    )
    logits = torch.randn(len(KINDS), 3000) * 2
    assert sampled(sampler, logits, 5) == sampled(CpuSampler(3000), logits, 5)


_operations = torch.library.Library("yaie_tests", "DEF")  # the double records operations
_operations.define(
    "truncate(Tensor(a!) scaled, Tensor(b!) spare, Tensor least, Tensor num_kept, Tensor shares, "
    "bool[] flags) -> (Tensor(a!), Tensor(b!))"
)


def _truncate(
    scaled: torch.Tensor, spare: torch.Tensor, *limits: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    *tensors, flags = limits
    TritonTruncation().truncate(scaled, spare, Limits(*tensors, *flags))
    return scaled, spare


_operations.impl("truncate", _truncate, "CPU")


class OnTheDevice:
    """The kernel as an operation of the strict device, which runs it when its turn comes."""

    name = "triton"
    skips_rows = True

    def truncate(self, scaled: torch.Tensor, spare: torch.Tensor, limits: Limits) -> None:
        flags = [limits.has_min_p, limits.has_top_k, limits.has_top_p]
        tensors = (scaled, spare, limits.least, limits.num_kept, limits.shares)
        torch.ops.yaie_tests.truncate(*tensors, flags)


def test_a_captured_program_truncates_the_rows_of_the_moment() -> None:
    strict.setup()
    queue = DelayedQueue()
    sampler = DeviceSampler(700, queue, max_tasks=len(KINDS), truncation=OnTheDevice())
    for step in range(10):
        logits = torch.randn(len(KINDS), 700) * 2
        tasks = [
            task(i, state_of(SamplingParams(seed=step + i, **kind), vocab_size=700, index=i))
            for i, kind in enumerate(KINDS)
        ]
        rows_there = to_device(logits)
        with device.forbid_waits():
            launched = sampler.launch(rows_there, tasks)
        assert launched.results() == CpuSampler(700).sample(logits, tasks)
    assert sampler.num_captured == 1
