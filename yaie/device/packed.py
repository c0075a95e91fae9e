"""Packed arrays: several dtypes in one buffer, so that one copy transfers all of them.

`Upload` copies from the host to the device once a step; `Download` comes back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.device.queue import DeviceQueue, Mark

_ALIGNMENT = 64  # bytes; of any type, and of vector loads
_TORCH_DTYPES = {
    "int32": torch.int32,
    "int64": torch.int64,
    "float32": torch.float32,
    "float64": torch.float64,
    "bool": torch.bool,
    "uint8": torch.uint8,
}


@dataclass(frozen=True, slots=True)
class PackedField:
    """One array's type and shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The array's size in bytes."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)


Fields = Mapping[str, PackedField]


class _Packed:
    """The arrays on both sides, by name."""

    def __init__(self, queue: DeviceQueue, fields: Fields) -> None:
        offsets = {}
        nbytes = 0
        for name, field in fields.items():
            offsets[name] = nbytes
            nbytes += -(-field.nbytes // _ALIGNMENT) * _ALIGNMENT
        self._queue = queue
        self._host_memory = queue.host_buffer(max(nbytes, 1))
        self._device_memory = torch.empty(max(nbytes, 1), dtype=torch.uint8, device=queue.device)
        whole = self._host_memory.numpy()
        self._host: dict[str, NDArray[Any]] = {}
        self.device: dict[str, torch.Tensor] = {}
        for name, field in fields.items():
            begin, end = offsets[name], offsets[name] + field.nbytes
            self._host[name] = whole[begin:end].view(field.dtype).reshape(field.shape)
            part = self._device_memory[begin:end].view(_TORCH_DTYPES[field.dtype])
            self.device[name] = part.view(field.shape)


class Upload(_Packed):
    """Arrays that the host fills and the device reads."""

    def __init__(self, queue: DeviceQueue, fields: Fields) -> None:
        super().__init__(queue, fields)
        self._sent: Mark | None = None

    def fill(self) -> dict[str, NDArray[Any]]:
        """Return the host's arrays, once their last copy is complete."""
        if self._sent is not None:
            self._sent.wait()
            self._sent = None
        return self._host

    def send(self) -> None:
        """Launch the copy to the device."""
        self._queue.upload(self._device_memory, self._host_memory)
        self._sent = self._queue.mark()


class Download(_Packed):
    """Arrays that the device writes and the host reads."""

    def fetch(self) -> Mark:
        """Launch the copy to the host; `read` after the mark."""
        self._queue.download(self._host_memory, self._device_memory)
        return self._queue.mark()

    def read(self) -> dict[str, NDArray[Any]]:
        """Return the host's arrays; the next `fetch` overwrites them."""
        return self._host
