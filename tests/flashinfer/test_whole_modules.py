"""FlashInfer's modules with their device kernels: found, loaded, planned, and launched.

The backend opens layers and runs steps. The fake CUDA runtime records each launch of a device
kernel; the kernel's template arguments, its grid and its shared memory are held to the plan and
to the layer. The kernels compute nothing here.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from tests.attention.trees import RandomTree
from tests.flashinfer import fake_device
from tests.flashinfer.fake_device import FakeRuntime, Launch
from tests.flashinfer.modules import Variant
from tests.flashinfer.plans import decode_plan, plan_of, shared_plan
from tests.flashinfer.whole_modules import LAYERS, VARIABLE
from yaie.attention.backend import PreparedStep
from yaie.attention.flashinfer.backend import FlashInferBackend
from yaie.attention.flashinfer.wrappers import LayerKind, Role
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.base.errors import ConfigError
from yaie.kvcache.pool import KVPool, LayerShape

pytestmark = [pytest.mark.flashinfer, pytest.mark.usefixtures("one_thread")]
CPU = torch.device("cpu")
NUM_SLOTS = 4096
KV_HEADS = 2
FULL, CAUSAL = 0, 1  # FlashInfer's numbers of masks
MOST_SHARED = 227 * 1024  # bytes that a block can have on compute capability 9.0
DECODE = "BatchDecodeWithPagedKVCacheKernel"
PREFILL = "BatchPrefillWithPagedKVCacheKernel"
PREFILL_MERGE = "PersistentVariableLengthMergeStatesKernel"


@pytest.fixture(scope="module")
def runtime() -> FakeRuntime:
    if VARIABLE not in os.environ:
        pytest.skip("needs FlashInfer's whole modules: python -m tests.flashinfer --whole-modules")
    found = fake_device.use()
    from flashinfer.jit import env

    env.FLASHINFER_AOT_DIR = env.FLASHINFER_JIT_DIR
    found.record_kernels()
    return found


class Layer:
    """An open backend with one layer, and its pool."""

    def __init__(self, runtime: FakeRuntime, variant: Variant, group: int) -> None:
        self.runtime, self.width = runtime, variant.width
        self.dtype, self.kv_dtype = torch.bfloat16, getattr(torch, variant.kv_dtype)
        self.spec = AttentionSpec(
            layer=0,
            num_heads=group * KV_HEADS,
            num_kv_heads=KV_HEADS,
            key_width=variant.width,
            value_width=variant.width,
            scale=variant.width**-0.5,
        )
        self.backend = FlashInferBackend(CPU)
        self.backend.open_layers([self.spec], self.dtype, self.kv_dtype, CPU)
        shape = LayerShape(KV_HEADS, variant.width, variant.width)
        self.pool = KVPool([shape], NUM_SLOTS, self.kv_dtype, CPU, self.backend.pool_layout(CPU))

    def attend(self, step: PreparedStep, num_rows: int) -> list[Kernel]:
        """Return the launches of one layer in a step."""
        queries = torch.zeros(num_rows, self.spec.num_heads, self.width, dtype=self.dtype)
        self.runtime.take_kernels()
        step.attend(self.spec, queries, self.pool.keys(0), self.pool.values(0), None)
        return [Kernel.of(launch) for launch in self.runtime.take_kernels()]

    def run(self, plan: StepPlan) -> list[Kernel]:
        return self.attend(self.backend.prepare(plan, CPU), plan.num_rows)

    def num_planned(self, role: Role) -> int:
        """Return the first figure of a wrapper's latest plan, its number of work items."""
        kind = LayerKind.of(self.spec, self.dtype, self.kv_dtype)
        return int(self.backend.wrapper(role, kind)._wrapper._plan_info[0])


class Kernel(NamedTuple):
    """A launch with its kernel's name in C++."""

    name: str
    arguments: str  # of its templates
    launch: Launch

    @classmethod
    def of(cls, launch: Launch) -> Kernel:
        shown = subprocess.run(
            ["c++filt", launch.name], capture_output=True, text=True, check=True
        ).stdout
        match = re.match(r"void flashinfer::(\w+)<(.*)>\(", shown)
        assert match, shown
        return cls(match[1], match[2].replace("flashinfer::", ""), launch)


@pytest.fixture(scope="module", params=[2, 8], ids=["groups-of-2", "groups-of-8"])
def group(request: pytest.FixtureRequest) -> int:
    """On CUDA cores decode has a module of its own; on tensor cores it is a prefill."""
    return int(request.param)


@pytest.fixture(scope="module", params=LAYERS, ids=lambda each: f"{each.kv_dtype}-{each.width}")
def layer(request: pytest.FixtureRequest, runtime: FakeRuntime, group: int) -> Layer:
    return Layer(runtime, request.param, group)


def check_prefill(layer: Layer, kernel: Kernel, num_items: int, mask: int, tile: int) -> None:
    """Hold a prefill launch to its plan, and its kernel to the layer and the mask."""
    assert kernel.name == PREFILL
    traits = re.search(r"KernelTraits<\(MaskMode\)(\d), (\d+u(?:, \d+u){6}), ", kernel.arguments)
    assert traits, kernel.arguments
    numbers = [int(each.rstrip("u")) for each in traits[2].split(", ")]
    tile_rows, _, key_blocks, key_chunks, value_chunks, row_warps, key_warps = numbers
    assert int(traits[1]) == mask
    assert tile_rows == tile
    assert 16 * key_chunks == 16 * value_chunks == layer.width
    element = "__nv_fp8_e4m3" if layer.kv_dtype.itemsize == 1 else "__nv_bfloat16"
    assert f"__nv_bfloat16, {element}, __nv_bfloat16, float, int" in kernel.arguments
    assert kernel.arguments.startswith("true,")  # keys and values of equal strides
    launch = kernel.launch
    assert launch.grid == (num_items, 1, KV_HEADS)
    assert launch.block == (32, row_warps, key_warps)
    least = 2 * tile_rows * layer.width  # the queries of a tile
    least += 2 * 16 * key_blocks * key_warps * layer.width * layer.kv_dtype.itemsize
    assert least <= launch.shared <= MOST_SHARED


def tile_of(lines: int) -> int:
    """Return FlashInfer's tile for rows times query heads of a KV head."""
    return next(tile for tile in (16, 64, 128) if lines <= tile or tile == 128)


def check_decode(layer: Layer, kernel: Kernel, num_items: int) -> None:
    """Hold a decode launch to its plan and the layer."""
    if layer.spec.group_size > 3:
        check_prefill(layer, kernel, num_items, FULL, tile=16)
        return
    assert kernel.name == DECODE
    launch = kernel.launch
    assert launch.grid == (num_items, KV_HEADS, 1)
    vector = max(16 // layer.kv_dtype.itemsize, layer.width // 32)
    assert launch.block[:2] == (layer.width // vector, layer.spec.group_size)
    assert 128 <= launch.block[0] * launch.block[1] * launch.block[2] <= 1024
    assert 0 < launch.shared <= MOST_SHARED


def test_modules_come_from_the_folder_of_finished_ones(layer: Layer) -> None:
    loaded = {
        Path(line.split()[-1])
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "/batch_" in line and line.endswith(".so")
    }
    folder = Path(os.environ[VARIABLE])
    assert all(path.is_relative_to(folder) for path in loaded)
    named = [path.stem for path in loaded if f"head_dim_qk_{layer.width}_" in path.stem]
    named = [name for name in named if ("dtype_kv_e4m3" in name) == (layer.kv_dtype.itemsize == 1)]
    prefill = [name for name in named if name.startswith("batch_prefill")]
    assert len(prefill) == 1
    assert prefill[0].endswith("_kv_stride_equal")
    if layer.spec.group_size < 4:
        assert any(name.startswith("batch_decode") for name in named)


@pytest.mark.parametrize("num_rows", [1, 6, 40])
def test_decode_of_rows_that_share_nothing(layer: Layer, num_rows: int) -> None:
    (kernel,) = layer.run(decode_plan([9] * num_rows))
    check_decode(layer, kernel, num_rows)


def test_long_keys_are_split_over_blocks_and_merged(layer: Layer) -> None:
    kernel, merge = layer.run(decode_plan([3000, 9]))
    check_decode(layer, kernel, layer.num_planned("decode"))
    assert layer.num_planned("decode") > 2
    assert "MergeStates" in merge.name
    assert f"{layer.width // 16}u" in merge.arguments or str(layer.width) in merge.arguments


@pytest.mark.parametrize("num_rows", [2, 5, 100])
def test_a_shared_segment_is_a_full_prefill(layer: Layer, num_rows: int) -> None:
    own, shared = layer.run(shared_plan(30, num_rows))
    check_decode(layer, own, num_rows)
    lines = num_rows * layer.spec.group_size
    check_prefill(layer, shared, layer.num_planned("shared"), FULL, tile_of(lines))


@pytest.mark.parametrize("num_rows", [2, 7, 90])
def test_prompt_rows_are_a_causal_prefill(layer: Layer, num_rows: int) -> None:
    plan = plan_of([Segment(np.arange(num_rows), 0, 0, num_rows, 0)], list(range(num_rows)))
    (kernel,) = layer.run(plan)
    lines = num_rows * layer.spec.group_size
    check_prefill(layer, kernel, layer.num_planned("extend"), CAUSAL, tile_of(lines))


@pytest.mark.parametrize("seed", range(8))
def test_random_trees(layer: Layer, seed: int) -> None:
    plan = RandomTree(seed, num_slots=NUM_SLOTS, depth=seed % 4).plan()
    kernels = [kernel for kernel in layer.run(plan) if kernel.name != PREFILL_MERGE]
    assert 1 <= len(kernels) <= 2
    calls: list[tuple[Role, int]] = [("extend", CAUSAL), ("shared", FULL)]
    for kernel, (role, mask) in zip(kernels, calls, strict=False):
        traits = re.search(r"\(MaskMode\)\d, (\d+)u", kernel.arguments)
        assert traits
        check_prefill(layer, kernel, layer.num_planned(role), mask, tile=int(traits[1]))


def test_a_captured_step_keeps_its_grids(layer: Layer) -> None:
    static = layer.backend.make_static(8, NUM_SLOTS - 1, CPU)
    seen = set()
    for lengths in ([1], [300, 2, 2], [90] * 8, [2000]):
        static.refill(decode_plan(lengths))
        seen.add(tuple(kernel.launch for kernel in layer.attend(static, 8)))
    assert len(seen) == 1
    (launches,) = seen
    (wrapper,) = static._wrappers.values()
    check_decode(layer, Kernel.of(launches[0]), int(wrapper._wrapper._plan_info[0]))


def test_a_module_that_nothing_has_built_is_refused_by_name(runtime: FakeRuntime) -> None:
    with pytest.raises(ConfigError, match="lacks a module for heads of 256 in bfloat16"):
        Layer(runtime, Variant(width=256), 2)
