"""A packed decoder as a file of the cache, and back: what a second start uses.

A decoder is structures that point to numbers. Saved, each address is the place of those numbers in
the file; loaded, the file is read and places are addresses again, so nothing is packed and
transformers is not even imported. The keys and values of the pool are none of it. Called by the
executor; the first step of a loaded decoder is compared with what was computed when it was saved.
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

from yaie.kernels.decoder import Decoder, DecoderLayer
from yaie.kernels.structures import Layer
from yaie.models.loader import LoadedModel
from yaie.models.packed_cache import PackedCache

log = logging.getLogger(__name__)

_ALIGNMENT = 64
_LAZIEST = 19  # of the priorities of a process: whoever computes comes first


class Packed(Protocol):
    """What is saved of a `NativeDecoder`."""

    structure: Decoder
    held: list[object]  # among them the tensors that the structures point to
    sample: NDArray[np.float32]  # what a loaded one is compared with


class NotSavable(Exception):
    """A structure points to something that is not held; it is not written."""


class PackedWeights:
    """A packed decoder as read from a file: its structures, and the memory they point into."""

    def __init__(self, header: dict[str, Any], data: NDArray[np.uint8]) -> None:
        self.expected = np.array(header["expected"], dtype=np.float32)
        self._header = header
        self._data = data

    def structures(self, attentions: list[Layer]) -> tuple[Decoder, list[object]]:
        """The decoder, and what has to be kept as long as it is used.

        `attentions` are the layers' places in the pool.
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
    """Writes a decoder to the cache beside the engine's work, as lazily as the system allows."""

    def __init__(
        self,
        cache: PackedCache,
        key: str,
        packed: Packed,
        loaded: LoadedModel,
    ) -> None:
        """Raises `NotSavable` if the decoder points to what is not among the held tensors."""
        decoder = packed.structure
        tensors = {t.data_ptr(): t for t in packed.held if isinstance(t, torch.Tensor)}
        places: dict[int, int] = {}
        nbytes = 0
        for address, tensor in tensors.items():
            places[address] = nbytes
            nbytes += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
        layers = ctypes.cast(decoder.layers, ctypes.POINTER(DecoderLayer))
        header = {
            "metadata": loaded.metadata.to_json(),
            "num_positions": loaded.max_model_len,  # of the rotary tables
            "expected": packed.sample.tolist(),
            "decoder": _describe(decoder, places),
            "layers": [_describe(layers[i], places) for i in range(decoder.num_layers)],
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
        """Wait until the file is written, or given up; whether it is by now."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Give up what is not written yet."""
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
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LAZIEST)
        cache.write(key, header, _pieces(tensors), nbytes, self._stop)


def _pieces(tensors: Iterable[torch.Tensor]) -> Iterator[memoryview]:
    for tensor in tensors:
        yield tensor.detach().reshape(-1).view(torch.uint8).numpy().data
        if padding := -tensor.nbytes % _ALIGNMENT:
            yield memoryview(bytes(padding))


def _describe(structure: ctypes.Structure, places: dict[int, int]) -> dict[str, Any]:
    """The fields of a structure, addresses as places; without the pool and the table of layers."""
    found: dict[str, Any] = {}
    for name, kind in _fields(type(structure)):
        value = getattr(structure, name)
        if issubclass(kind, ctypes.Structure):
            found[name] = _describe(value, places)
        elif kind is not ctypes.c_void_p or value is None:
            found[name] = value
        elif value in places:
            found[name] = places[value]
        else:
            raise NotSavable(f"{type(structure).__name__}.{name} points to what is not held")
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
