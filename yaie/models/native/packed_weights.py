"""Packed weights: saves packed decoders as cache files for the next start.

A decoder is a set of structures with addresses of weights. A file has the weights, and file offsets
instead of addresses. The next start neither packs nor imports transformers, and compares its first
logits with the saved decoder's. The KV pool is not saved.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import logging
import os
import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from yaie.kernels.attention_structures import Layer
from yaie.kernels.decoder_structures import Decoder, DecoderLayer
from yaie.kvcache.state_pool import StatePool
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.native.native_mixture import describe_mixture, restore_mixture
from yaie.models.native.packed_cache import PackedCache
from yaie.models.native.packed_mixers import place_states
from yaie.models.native.saved_structures import SavedTensors, restore

log = logging.getLogger(__name__)

_LOWEST_PRIORITY = 19  # the niceness of the writer: computing comes first


class SavedDecoder(Protocol):
    """A `NativeDecoder`'s saved fields."""

    structure: Decoder
    held: list[object]  # including the tensors that addresses point to
    sample: NDArray[np.float32]  # logits to compare a restored decoder with


class PackedWeights:
    """A packed decoder as read from a file: its structures, and the memory they point into."""

    def __init__(self, header: dict[str, Any], data: NDArray[np.uint8]) -> None:
        self.expected = np.array(header["expected"], dtype=np.float32)
        self._header = header
        self._data = data

    def structures(
        self, attentions: list[Layer], states: StatePool | None
    ) -> tuple[Decoder, list[object]]:
        """Return the decoder, and the objects that must outlive it.

        `attentions`: the pool tensors of the layers with attention; `states`: of recurrent layers.
        """
        base = self._data.ctypes.data
        described, mixtures = self._header["layers"], self._header["mixtures"]
        held: list[object] = [self._data, *attentions]
        layers = (DecoderLayer * len(described))()
        pools, mixers = iter(attentions), itertools.count()
        for index, (fields, mixture) in enumerate(zip(described, mixtures, strict=True)):
            layers[index] = restore(DecoderLayer, fields, base)
            if layers[index].qkv.num_outputs:
                layers[index].attention = next(pools)
            if layers[index].mixer.kind and states is not None:
                place_states(layers[index].mixer, states.tensors(next(mixers)))
            if mixture is not None:
                restored, others = restore_mixture(mixture, base)
                layers[index].mixture = ctypes.addressof(restored)
                held += others
        decoder = restore(Decoder, self._header["decoder"], base)
        decoder.layers = ctypes.addressof(layers)
        return decoder, [*held, layers]


def describe_decoder(
    packed: SavedDecoder, loaded: LoadedModel
) -> tuple[dict[str, Any], SavedTensors]:
    """Return the header of a decoder's file, and its data. Raises `NotSavable`."""
    decoder = packed.structure
    tensors = SavedTensors(packed.held)
    layers = ctypes.cast(decoder.layers, ctypes.POINTER(DecoderLayer))
    header = {
        "metadata": loaded.metadata.to_json(),
        "num_positions": loaded.max_model_len,  # in the rotary tables
        "expected": packed.sample.tolist(),
        "decoder": tensors.describe(decoder),
        "layers": [tensors.describe(layers[i]) for i in range(decoder.num_layers)],
        "mixtures": [
            describe_mixture(layers[i].mixture, tensors) for i in range(decoder.num_layers)
        ],
    }
    return header, tensors


class PackedWeightsWriter:
    """A lowest-priority thread that writes packed weights to the cache."""

    def __init__(
        self, cache: PackedCache, key: str, header: dict[str, Any], tensors: SavedTensors
    ) -> None:
        """Start writing."""
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._save,
            args=(cache, key, header, tensors),
            name="packed-weights",
            daemon=True,
        )
        # A thread in PyTorch while the interpreter ends would abort the process.
        atexit.register(self.close)
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the file is written or abandoned; return False on a timeout."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Abandon the unwritten rest."""
        atexit.unregister(self.close)
        self._stop.set()
        self._thread.join()

    def _save(
        self, cache: PackedCache, key: str, header: dict[str, Any], tensors: SavedTensors
    ) -> None:
        if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        cache.write(key, header, tensors.pieces(), tensors.nbytes, self._stop)
