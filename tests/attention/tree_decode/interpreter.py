"""Triton's interpreter with right bf16 and fp8.

Triton 3.9 computes with the raw bits of bf16 operands as integers, and cuts float32 to bf16 or fp8
instead of rounding. The kernels of a process are interpreted if TRITON_INTERPRET was set before
their import.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter

_TORCH = {
    tl.float32: torch.float32,
    tl.float16: torch.float16,
    tl.bfloat16: torch.bfloat16,
    tl.float8e4nv: torch.float8_e4m3fn,
    tl.float8e5: torch.float8_e5m2,
}
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def correct_rounding() -> None:
    """Replace these operations in this process."""
    dot = interpreter.InterpreterBuilder.create_dot
    binary_op = interpreter.InterpreterBuilder.binary_op
    convert = interpreter._convert_float

    def widened(operand: Any) -> Any:
        if operand.dtype.scalar != tl.bfloat16:
            return operand
        bits = operand.data.astype(np.uint32) << 16
        return interpreter.TensorHandle(bits.view(np.float32), tl.float32)

    def create_dot(self: Any, first: Any, second: Any, *rest: Any) -> Any:
        return dot(self, widened(first), widened(second), *rest)

    def convert_float(data: Any, source: Any, target: Any, mode: Any) -> Any:
        if source not in _TORCH or target not in _TORCH:
            return convert(data, source, target, mode)
        numbers = torch.frombuffer(bytearray(data.tobytes()), dtype=_TORCH[source])
        rounded = numbers.to(_TORCH[target])
        bits = rounded.view(torch.uint8).numpy().view(_BITS[rounded.itemsize])
        return bits.reshape(data.shape)

    def rounded_op(self: Any, first: Any, second: Any, op: Any) -> Any:
        if first.dtype.scalar != tl.bfloat16 or op not in (np.add, np.subtract, np.multiply):
            return binary_op(self, first, second, op)
        wide = binary_op(self, widened(first), widened(second), op)
        bits = convert_float(wide.data, tl.float32, tl.bfloat16, None)
        return interpreter.TensorHandle(bits, tl.bfloat16)

    interpreter.InterpreterBuilder.binary_op = rounded_op
    interpreter.InterpreterBuilder.create_dot = create_dot
    interpreter._convert_float = convert_float


@pytest.fixture(scope="module", autouse=True)
def right_rounding() -> None:
    """Correct the interpreter of a module that imports this fixture."""
    correct_rounding()


@pytest.fixture(autouse=True)
def nan_in_new_tensors() -> Iterator[None]:
    """Fill new tensors with NaN, in a module that imports this fixture."""
    torch.use_deterministic_algorithms(True)
    assert torch.utils.deterministic.fill_uninitialized_memory
    assert torch.empty(3).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)
