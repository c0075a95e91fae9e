"""The compiled sm_80 kernels, run by an interpreter of PTX: cases of the interpreted source again.

Each address must lie in a tensor that the launch was given, at a multiple of the access's size, and
each write in an output. Asynchronous copies take effect when the kernel waits for them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.attention.trees import decode_step
from tests.ptx.grid import run
from tests.ptx.memory import Memory, MemoryFault, Region
from tests.ptx.program import Program, parse
from tests.triton_process import needs_triton
from yaie.attention.tree_decode.step_metadata import Capacity
from yaie.attention.tree_decode.work_items import Splitting

if TYPE_CHECKING:
    from tests.attention.tree_decode.cases import Case
    from tests.attention.tree_decode.compiling_driver import Launch

pytestmark = needs_triton
OUTPUTS = {
    "write_rows": {"keys", "values", "key_scales", "value_scales"},
    "attend_items": {"outputs", "lses"},
    "merge_partials": {"outputs"},
}
KINDS = {
    "bf16": (torch.bfloat16, torch.bfloat16),
    "fp16 over an int8 pool": (torch.float16, torch.int8),
}
# A pattern of the code, and its replacement: faults that a real device may hide.
BROKEN = {
    "no wait for asynchronous copies": (r"cp\.async\.wait_group\s+\d+", "cp.async.wait_group 99"),
    "no barriers": (r"bar\.sync\s+\d+;", ""),
    "a load beside its address": (r"(ld\.global\.v4\.b32 [^\[]*\[ %rd\d+ \+ )0", r"\g<1>4"),
}
SCRATCH = (0, 0)  # Triton's own pointers, which these kernels leave unread


@functools.cache
def _parsed(code: str) -> Program:
    return parse(code)


def execute(launch: Launch, edit: Callable[[str], str]) -> None:
    """Run a launch on the memory of its arguments, after a change of its code."""
    memory = Memory()
    numbers: list[int | float] = []
    for name, argument in launch.arguments.items():
        if isinstance(argument, torch.Tensor):
            is_output = name in OUTPUTS[launch.name]
            memory.add(Region.of(name, argument, is_writable=is_output))
            numbers.append(argument.data_ptr())
        else:
            numbers.append(argument)
    metadata = launch.kernel.metadata
    run(
        _parsed(edit(launch.kernel.asm["ptx"])),
        launch.grid,
        [*numbers, *SCRATCH],
        memory,
        num_warps=metadata.num_warps,
        shared_bytes=metadata.shared,
    )


@pytest.fixture
def nan_in_new_tensors() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@contextlib.contextmanager
def kernels_of(warps: int, edit: Callable[[str], str] = str) -> Iterator[None]:
    """Run the launches of this block, compiled for blocks of `warps` warps, with edited code."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.attention.tree_decode import backend
    from yaie.attention.tree_decode.variants import Variant

    class Narrowed(Variant):
        @classmethod
        def of(cls, *arguments: Any) -> Variant:
            found = Variant.of(*arguments)
            return dataclasses.replace(found, num_warps=warps, num_warps_wide=warps)

    with pytest.MonkeyPatch.context() as patch, launches_to(80, lambda each: execute(each, edit)):
        patch.setattr(backend, "Variant", Narrowed)
        yield


def make_case(kind: str) -> Case:
    """Return a case with narrow and wide items, and a loop of several rounds over keys."""
    from tests.attention.tree_decode import cases

    dtype, pool_dtype = KINDS[kind]
    made = cases.make_case(2, dtype=dtype, pool_dtype=pool_dtype)
    spec = dataclasses.replace(
        made.spec,
        num_heads=8,
        num_kv_heads=2,
        sliding_window=150 if pool_dtype is torch.int8 else None,
        softcap=20.0 if pool_dtype is torch.int8 else None,
        has_sinks=True,
    )
    plan = decode_step(num_rows=6, shared=200, own=9)
    capacity = Capacity(rows=32, keys=4096, items=16, partials=96)
    return dataclasses.replace(
        made, plan=plan, spec=spec, splitting=Splitting(1), capacity=capacity
    )


@pytest.mark.integration
@pytest.mark.usefixtures("nan_in_new_tensors")
@pytest.mark.parametrize(
    ("kind", "warps"),
    [
        ("bf16", 4),
        ("fp16 over an int8 pool", 4),
        *(pytest.param(kind, 1, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_compiled_kernels_equal_float64(kind: str, warps: int) -> None:
    from tests.attention.tree_decode.cases import check

    with kernels_of(warps):
        check(make_case(kind))


@pytest.mark.integration
@pytest.mark.usefixtures("nan_in_new_tensors")
@pytest.mark.parametrize("broken", BROKEN)
def test_the_interpreter_sees_broken_code(broken: str) -> None:
    from tests.attention.tree_decode.cases import check

    pattern, replacement = BROKEN[broken]
    edit = functools.partial(re.sub, pattern, replacement)
    with kernels_of(4, edit), pytest.raises((AssertionError, MemoryFault)):
        check(make_case("bf16"))


@pytest.mark.slow
@pytest.mark.usefixtures("nan_in_new_tensors")
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.timeout(900)
def test_more_compiled_kernels_equal_float64(seed: int, warps: int) -> None:
    from tests.attention.tree_decode import cases

    dtype = (torch.bfloat16, torch.float16)[seed % 2]
    pool_dtype = torch.int8 if seed % 5 == 0 else dtype
    with kernels_of(warps):
        cases.check(cases.make_case(seed, dtype=dtype, pool_dtype=pool_dtype))
