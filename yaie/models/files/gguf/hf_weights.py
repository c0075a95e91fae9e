"""The weights of a GGUF file, decoded when the model is filled with them."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.models.files.gguf.header import GgufTensor, read_model
from yaie.models.files.gguf.hf_config import read_gguf_config
from yaie.models.files.gguf.hf_names import NamedTensor, name_tensors
from yaie.models.files.gguf.tensor_forms import FORM_OF_COLUMNS, FORMS_OF_ROWS
from yaie.models.files.gguf.tensor_kinds import decode

_SLICE_VALUES = 2**18  # decoded at once: float32 stays in the processor's cache, twice as fast
_Bytes = NDArray[np.uint8]


class UnreadTensor:
    """A tensor that is decoded when it is indexed, as transformers does with each in turn."""

    def __init__(self, tensor: NamedTensor, files: dict[Path, _Bytes], dtype: torch.dtype) -> None:
        self._tensor = tensor
        self._files = files
        self._dtype = dtype

    def __getitem__(self, _: object) -> torch.Tensor:
        tensor = self._tensor
        whole = torch.empty(tensor.shape, dtype=self._dtype)
        shapes = [source.shape for source in tensor.sources]
        views = tensor.form.views(whole, shapes, tensor.heads)
        slices = [
            (source.kind, *each)
            for source, view in zip(tensor.sources, views, strict=True)
            for each in _slices(view, stored_rows(self._files[source.path], source))
        ]

        def fill(one: tuple[str, torch.Tensor, _Bytes]) -> None:
            kind, view, rows = one
            values = decode(kind, rows)
            if tensor.form.restore is not None:
                values = tensor.form.restore(values)
            view.copy_(torch.from_numpy(values).view(view.shape))

        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            list(pool.map(fill, slices))
        return whole


class StoredRows(NamedTuple):
    """A matrix in the blocks of its file."""

    kind: str
    rows: _Bytes  # [outputs, bytes of a row]
    order: NDArray[np.int64] | None = None  # input of each stored column; None: as they are


class GgufWeights:
    """The weights of a file, mapped, by transformers' names."""

    def __init__(self, path: Path) -> None:
        """Map a file, or all parts of one. Raises `ModelUnsupported`."""
        file = read_model(path)
        self.named = name_tensors(file, read_gguf_config(file))
        self._files = {path: map_bytes(path) for path in file.paths}

    def unread(self, name: str, dtype: torch.dtype) -> UnreadTensor:
        """Return a tensor that will be decoded to `dtype`."""
        return UnreadTensor(self.named[name], self._files, dtype)

    def blocks(self, name: str) -> StoredRows | None:
        """Return the rows of a matrix as they are stored; None if they are not.

        Reordered and joined rows are copies.
        """
        tensor = self.named[name]
        kinds = {source.kind for source in tensor.sources}
        if tensor.form_name not in FORMS_OF_ROWS or len(tensor.shape) != 2 or len(kinds) > 1:
            return None
        parts = [stored_rows(self._files[each.path], each) for each in tensor.sources]
        if tensor.form_name == "plain":
            return StoredRows(kinds.pop(), parts[0])
        if tensor.form_name == FORM_OF_COLUMNS:
            columns = np.arange(tensor.shape[1])[None]
            (order,) = tensor.form.views(columns, [columns.shape], tensor.heads)
            return StoredRows(kinds.pop(), parts[0], order.ravel())
        whole = np.empty((tensor.shape[0], parts[0].shape[1]), np.uint8)
        views = tensor.form.views(whole, [part.shape for part in parts], tensor.heads)
        for view, part in zip(views, parts, strict=True):
            view[...] = part.reshape(view.shape)
        return StoredRows(kinds.pop(), whole)


def unread_weights(path: Path, dtype: torch.dtype) -> dict[str, UnreadTensor]:
    """Return the weights by transformers' names, to be decoded to `dtype`.

    Raises `ModelUnsupported`.
    """
    weights = GgufWeights(path)
    return {name: weights.unread(name, dtype) for name in weights.named}


def map_bytes(path: Path) -> _Bytes:
    """Return a file's bytes, mapped."""
    with path.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.frombuffer(mapped, np.uint8)


def stored_rows(data: _Bytes, stored: GgufTensor) -> _Bytes:
    """Return the bytes [rows, bytes of a row] of a stored tensor."""
    raw = data[stored.first_byte : stored.first_byte + stored.nbytes]
    return raw.reshape(int(np.prod(stored.shape[:-1])), -1)


def _slices(view: torch.Tensor, rows: _Bytes) -> Iterator[tuple[torch.Tensor, _Bytes]]:
    """Yield parts of a view with their rows, small enough to be decoded at once."""
    if view.dim() < 2 or view.numel() <= _SLICE_VALUES:
        yield view, rows
        return
    each = len(rows) // len(view)
    step = max(1, _SLICE_VALUES // view[0].numel())
    if step == 1 and each > 1:
        for index in range(len(view)):
            yield from _slices(view[index], rows[index * each : (index + 1) * each])
        return
    for first in range(0, len(view), step):
        yield view[first : first + step], rows[first * each : (first + step) * each]
