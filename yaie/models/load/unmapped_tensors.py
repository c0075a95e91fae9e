"""Unmapped tensors: a checkpoint's tensors, read from their files into new memory.

Mapped pages count as memory of the process; these are freed with the tensor. Called for experts.
"""

from __future__ import annotations

import os
from dataclasses import replace
from math import prod

import torch

from yaie.base.errors import ModelUnsupported
from yaie.models.files.checkpoint import DTYPES, ELEMENT_BYTES, StoredTensor

_DTYPES = {
    **DTYPES,
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "U8": "uint8",
    "I8": "int8",
    "I32": "int32",
    "I64": "int64",
}


class UnmappedTensors:
    """Reads tensors; opens a file for each of them."""

    def read(self, tensor: StoredTensor) -> torch.Tensor:
        """Return a tensor. Raises `ModelUnsupported` if its file has become shorter."""
        found = empty_like(tensor, torch.device("cpu"))
        row_bytes = prod(found.shape[1:]) * ELEMENT_BYTES[tensor.kind]
        first = tensor.first_byte + tensor.first_row * row_bytes
        memory = found.flatten().view(torch.uint8).numpy().data
        with tensor.file.open("rb", buffering=0) as file:
            done = 0
            while done < len(memory):
                count = os.preadv(file.fileno(), [memory[done:]], first + done)
                if not count:
                    raise ModelUnsupported(
                        f"{tensor.file} was truncated while it was read; download it again",
                        code="model_damaged",
                    )
                done += count
        return found.transpose(-1, -2).contiguous() if tensor.is_transposed else found


def empty_like(tensor: StoredTensor, device: torch.device) -> torch.Tensor:
    """Return memory for a tensor, in the order of its file."""
    return torch.empty(
        _shape_in_file(tensor), dtype=getattr(torch, _DTYPES[tensor.kind]), device=device
    )


def matrix_of(tensor: StoredTensor, index: int) -> StoredTensor:
    """Return one matrix of a tensor that stacks them."""
    shape = tensor.shape[1:]
    skipped = (tensor.first_row + index) * prod(shape) * ELEMENT_BYTES[tensor.kind]
    first_byte = tensor.first_byte + skipped
    return replace(tensor, shape=shape, first_byte=first_byte, num_rows=None, first_row=0)


def _shape_in_file(tensor: StoredTensor) -> tuple[int, ...]:
    if not tensor.is_transposed:
        return tensor.shape
    *stacked, rows, columns = tensor.shape
    return (*stacked, columns, rows)
