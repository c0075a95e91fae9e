"""The kernels compiled for each architecture, as the launcher would compile them on a GPU.

A step runs as on a device up to the launch itself (`compiling_driver`): types, divisibility and
constants are those of the real call. Triton refuses a kernel whose shared memory is too large.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.attention.trees import decode_step
from tests.triton_process import needs_triton
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import PlainQueue
from yaie.kvcache.pool import KVPool, LayerShape

if TYPE_CHECKING:
    from tests.attention.tree_decode.compiling_driver import Launch

pytestmark = needs_triton
ARCHITECTURES = (
    90,
    *(pytest.param(each, marks=pytest.mark.slow) for each in (80, 100, 120)),
)
# The product of a wide block on its tensor cores; narrow blocks use mma.sync everywhere.
WIDE_PRODUCT = {80: "mma.sync", 90: "wgmma.mma_async", 100: "tcgen05.mma", 120: "mma.sync"}
# Triton 3.9 sets ptxas' level of register allocation. At that level ptxas spills one register of
# narrow items for compute capability 10.0 to stay within 64; by itself it spills nothing.
MOST_STACK = {100: 8}  # bytes a thread
MERGED = ("merge_partials", "outputs")  # a graph's allocator gives it one address
BF16, FP16, FP32, INT8 = torch.bfloat16, torch.float16, torch.float32, torch.int8


@dataclass(frozen=True)
class Kind:
    """A layer, and a step with or without wide items."""

    dtype: torch.dtype
    pool_dtype: torch.dtype
    width: int
    group: int
    rows: int  # below one prefix; more than a narrow item's make it a wide one
    window: int | None = None
    softcap: float | None = None
    sinks: bool = False


KINDS = {
    "narrow": Kind(BF16, BF16, 128, 4, rows=2),
    "both, all features": Kind(BF16, BF16, 128, 7, 64, window=128, softcap=30.0, sinks=True),
}
MORE_KINDS = {
    **{
        f"{dtype}, width {width}, group {group}, {rows} rows": Kind(
            dtype, dtype, width, group, rows
        )
        for dtype in (BF16, FP16)
        for width in (64, 128, 256)
        for group in (1, 4, 5, 8)
        for rows in (1, 64)
    },
    **{
        f"int8 pool, width {width}, {rows} rows": Kind(BF16, INT8, width, 4, rows, 512, 20.0)
        for width in (64, 128)
        for rows in (1, 64)
    },
    **{f"float32, width {width}": Kind(FP32, FP32, width, 4, 64) for width in (64, 128)},
    "one KV head for 71 heads": Kind(BF16, BF16, 64, 71, rows=4),
}


def launches_of(kind: Kind, architecture: int) -> list[Launch]:
    """Run one layer of one step, with the pool that a GPU has, and return its launches."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.attention.tree_decode.backend import TreeDecodeBackend

    kv_heads, device = 2, torch.device("cpu")
    heads, width = kv_heads * kind.group, kind.width
    spec = AttentionSpec(
        layer=0,
        num_heads=heads,
        num_kv_heads=kv_heads,
        key_width=width,
        value_width=width,
        scale=0.1,
        sliding_window=kind.window,
        softcap=kind.softcap,
        has_sinks=kind.sinks,
    )
    plan = decode_step(num_rows=kind.rows, shared=100, own=8)
    shape = LayerShape(kv_heads, width, width)
    pool = KVPool([shape], 1024, kind.pool_dtype, device, "NHD")
    keys, values = pool.keys(0), pool.values(0)
    queries = torch.zeros(kind.rows, heads, width, dtype=kind.dtype)
    new = torch.zeros(kind.rows, kv_heads, width, dtype=kind.dtype)
    found: list[Launch] = []
    with launches_to(architecture, found.append):
        backend = TreeDecodeBackend(PlainQueue(device))
        backend.open_layers([spec], kind.dtype, kind.pool_dtype, device)
        step = backend.prepare(plan, device)
        step.write(keys, values, new, new)
        step.attend(spec, queries, keys, values, torch.zeros(heads) if kind.sinks else None)
    return found


def resources_of(cubin: bytes, folder: Path) -> dict[str, int]:
    """Return registers, bytes of stack and bytes of spilled registers of a thread."""
    import triton

    file = folder / "kernel.cubin"
    file.write_bytes(cubin)
    shown = subprocess.run(
        [triton.knobs.nvidia.cuobjdump.path, "-res-usage", file],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = {name: int(number) for name, number in re.findall(r"(REG|STACK|LOCAL):(\d+)", shown)}
    assert len(found) == 3, shown
    return found


def check(kind: Kind, architecture: int, folder: Path) -> None:
    from tests.attention.tree_decode.compiling_driver import SHARED_MEMORY

    launches = launches_of(kind, architecture)
    assert [each.name for each in launches] == ["write_rows", "attend_items", "merge_partials"]
    for launch in launches:
        used = resources_of(launch.kernel.asm["cubin"], folder)
        assert used["STACK"] <= MOST_STACK.get(architecture, 0), (launch.name, used)
        assert used["LOCAL"] == 0
        assert 0 < used["REG"] <= 255
        assert launch.kernel.metadata.shared <= SHARED_MEMORY[architecture]
    code = launches[1].kernel.asm["ptx"]
    has_wide = kind.rows * kind.group > 16
    if kind.dtype is not FP32:
        assert not has_wide or WIDE_PRODUCT[architecture] in code
        assert kind.group > 16 or "mma.sync" in code
    if kind.pool_dtype.itemsize > 1:  # keys and values stream in units of 16 bytes
        assert re.search(r"cp\.async\.cg\.shared\.global .*0x10", code)


@pytest.mark.integration
def test_a_captured_launch_does_not_depend_on_the_tree() -> None:
    """Kernels, grids and addresses are equal for trees of all shapes."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.attention.tree_decode.backend import TreeDecodeBackend

    device, width = torch.device("cpu"), 64
    spec = AttentionSpec(
        layer=0, num_heads=4, num_kv_heads=2, key_width=width, value_width=width, scale=0.1
    )
    pool = KVPool([LayerShape(2, width, width)], 4096, BF16, device, "NHD")
    queries = torch.zeros(8, 4, width, dtype=BF16)
    new = torch.zeros(8, 2, width, dtype=BF16)
    backend = TreeDecodeBackend(PlainQueue(device))
    backend.open_layers([spec], BF16, BF16, device)
    step = backend.make_static(8, 4095, device)
    found: list[Launch] = []
    with launches_to(80, found.append):
        for rows, shared in ((1, 0), (8, 2000), (3, 17)):
            plan = decode_step(rows, shared, own=40)
            assert step.holds(plan)
            step.refill(plan)
            step.write(pool.keys(0), pool.values(0), new, new)
            step.attend(spec, queries, pool.keys(0), pool.values(0), None)
    seen = {(each.name, each.kernel.hash, each.grid, *addresses_of(each)) for each in found}
    assert len(found) == 9 and len(seen) == 3
    smaller = backend.make_static(4, 4095, device)
    assert not smaller.holds(decode_step(8, 100, own=4))


def addresses_of(launch: Launch) -> list[tuple[str, int]]:
    return [
        (name, argument.data_ptr())
        for name, argument in launch.arguments.items()
        if isinstance(argument, torch.Tensor) and (launch.name, name) != MERGED
    ]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> Iterator[int]:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_fit_their_architecture(kind: str, architecture: int, tmp_path: Path) -> None:
    check(KINDS[kind], architecture, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", MORE_KINDS)
def test_more_kernels_fit_their_architecture(kind: str, architecture: int, tmp_path: Path) -> None:
    check(MORE_KINDS[kind], architecture, tmp_path)


def test_both_classes_are_among_the_kinds() -> None:
    assert {each.rows * each.group > 16 for each in KINDS.values()} == {True, False}
