"""Packed weights: saves packed decoders as cache files for the next start.

A decoder is a set of structures with addresses of weights. A file has the weights, and file offsets
instead of addresses. The next start neither packs nor imports transformers, and compares its first
logits with the saved decoder's. The KV pool is not saved.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.kernels.attention_structures import Layer
from yaie.kernels.decoder_structures import Decoder, DecoderLayer
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.native.packed_cache import PackedCache

log = logging.getLogger(__name__)

_ALIGNMENT = 64
_LOWEST_PRIORITY = 19  # the niceness of the writer: computing comes first


class SavedDecoder(Protocol):
    """A `NativeDecoder`'s saved fields."""

    structure: Decoder
    held: list[object]  # including the tensors that addresses point to
    sample: NDArray[np.float32]  # logits to compare a restored decoder with


class NotSavable(Exception):
    """A structure points to memory outside the saved tensors."""


class PackedWeights:
    """A packed decoder as read from a file: its structures, and the memory they point into."""

    def __init__(self, header: dict[str, Any], data: NDArray[np.uint8]) -> None:
        self.expected = np.array(header["expected"], dtype=np.float32)
        self._header = header
        self._data = data

    def structures(self, attentions: list[Layer]) -> tuple[Decoder, list[object]]:
        """Return the decoder, and the objects that must outlive it.

        `attentions`: the layers' pool tensors.
        """
        base = self._data.ctypes.data
        described = self._header["layers"]
        layers = (DecoderLayer * len(described))()
        for index, (fields, attention) in enumerate(zip(described, attentions, strict=True)):
            layers[index] = _restore(DecoderLayer, fields, base)
            layers[index].attention = attention
        decoder = _restore(Decoder, self._header["decoder"], base)
        decoder.layers = ctypes.addressof(layers)
        return decoder, [self._data, layers, *attentions]


class PackedWeightsWriter:
    """A lowest-priority thread that writes a decoder to the cache."""

    def __init__(
        self,
        cache: PackedCache,
        key: str,
        packed: SavedDecoder,
        loaded: LoadedModel,
    ) -> None:
        """Start writing. Raises `NotSavable` if an address lies outside the saved tensors."""
        decoder = packed.structure
        tensors = {t.data_ptr(): t for t in packed.held if isinstance(t, torch.Tensor)}
        offsets: dict[int, int] = {}
        nbytes = 0
        for address, tensor in tensors.items():
            offsets[address] = nbytes
            nbytes += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
        layers = ctypes.cast(decoder.layers, ctypes.POINTER(DecoderLayer))
        header = {
            "metadata": loaded.metadata.to_json(),
            "num_positions": loaded.max_model_len,  # in the rotary tables
            "expected": packed.sample.tolist(),
            "decoder": _describe(decoder, offsets),
            "layers": [_describe(layers[i], offsets) for i in range(decoder.num_layers)],
        }
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._save,
            args=(cache, key, header, list(tensors.values()), nbytes),
            name="packed-weights",
            daemon=True,
        )
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the file is written or abandoned; return False on a timeout."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Abandon the unwritten rest."""
        self._stop.set()
        self._thread.join()

    def _save(
        self,
        cache: PackedCache,
        key: str,
        header: dict[str, Any],
        tensors: list[torch.Tensor],
        nbytes: int,
    ) -> None:
        if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        cache.write(key, header, _pieces(tensors), nbytes, self._stop)


def _pieces(tensors: Iterable[torch.Tensor]) -> Iterator[memoryview]:
    for tensor in tensors:
        yield tensor.detach().reshape(-1).view(torch.uint8).numpy().data
        if padding := -tensor.nbytes % _ALIGNMENT:
            yield memoryview(bytes(padding))


def _describe(structure: ctypes.Structure, offsets: dict[int, int]) -> dict[str, Any]:
    """Return a structure's fields, with offsets for addresses; without pool and layer table."""
    found: dict[str, Any] = {}
    for name, kind in _fields(type(structure)):
        value = getattr(structure, name)
        if issubclass(kind, ctypes.Structure):
            found[name] = _describe(value, offsets)
        elif kind is not ctypes.c_void_p or value is None:
            found[name] = value
        elif value in offsets:
            found[name] = offsets[value]
        else:
            raise NotSavable(f"{type(structure).__name__}.{name} points outside the held tensors")
    return found


def _restore(kind: Any, found: dict[str, Any], base: int) -> Any:
    values = {}
    for name, field in _fields(kind):
        value = found[name]
        if issubclass(field, ctypes.Structure):
            value = _restore(field, value, base)
        elif field is ctypes.c_void_p and value is not None:
            value += base
        values[name] = value
    return kind(**values)


def _fields(kind: Any) -> Iterator[tuple[str, Any]]:
    for name, field in kind._fields_:
        if field is not Layer and (kind, name) != (Decoder, "layers"):
            yield name, field
