"""The weights of a GGUF file, decoded when the model is filled with them."""

from __future__ import annotations

import mmap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.models.files.gguf.header import read_gguf
from yaie.models.files.gguf.hf_config import read_gguf_config
from yaie.models.files.gguf.hf_names import NamedTensor, name_tensors
from yaie.models.files.gguf.tensor_kinds import decode

_SLICE_VALUES = 2**18  # decoded at once: float32 stays in the processor's cache, twice as fast


class UnreadTensor:
    """A tensor that is decoded when it is indexed, as transformers does with each in turn."""

    def __init__(self, tensor: NamedTensor, data: Any, dtype: torch.dtype) -> None:
        self._tensor = tensor
        self._data = data
        self._dtype = dtype

    def __getitem__(self, _: object) -> torch.Tensor:
        stored = self._tensor.stored
        begin = stored.first_byte
        raw = self._data[begin : begin + stored.nbytes]
        rows = raw.reshape(stored.shape[0] if len(stored.shape) > 1 else 1, -1)
        if self._tensor.num_heads is not None:
            rows = rows.reshape(stored.shape[0], -1)[_rows_in_order(self._tensor)]
        decoded = torch.empty(stored.shape, dtype=self._dtype)
        flat = decoded.view(len(rows), -1)
        step = max(1, _SLICE_VALUES // flat.shape[1])

        def fill(first: int) -> None:
            values = decode(stored.kind, rows[first : first + step])
            flat[first : first + step] = torch.from_numpy(values)

        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            list(pool.map(fill, range(0, len(rows), step)))
        return decoded


def unread_weights(path: Path, dtype: torch.dtype) -> dict[str, UnreadTensor]:
    """Return the weights by transformers' names, to be decoded to `dtype`.

    Raises `ModelUnsupported`.
    """
    file = read_gguf(path)
    with path.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    data = np.frombuffer(mapped, np.uint8)
    named = name_tensors(file, read_gguf_config(file))
    return {name: UnreadTensor(tensor, data, dtype) for name, tensor in named.items()}


def _rows_in_order(tensor: NamedTensor) -> NDArray[np.int64]:
    """Return the place in the file of each row.

    llama.cpp rotates neighbouring rows of a head, transformers those half a head apart.
    """
    count = tensor.stored.shape[0]
    return np.arange(count).reshape(tensor.num_heads or 1, -1, 2).transpose(0, 2, 1).reshape(-1)
