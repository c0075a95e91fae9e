"""Kernel library: a loaded library's functions, instruction sets and threads.

`yaie.kernels.library_search` decides which file is opened.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from yaie.base.errors import ConfigError
from yaie.kernels import build, instruction_sets
from yaie.kernels.attention_structures import Layer, Step, Write
from yaie.kernels.decoder_structures import (
    Decoder,
    DecoderCall,
    Experts,
    ExpertsCall,
    Linear,
    Mixer,
    MixerCall,
)
from yaie.kernels.layout_check import find_difference
from yaie.kernels.recurrent_structures import Convolution, GatedNorm, Recurrence
from yaie.kernels.sampling_calls import Best, Samples


class UnusableLibrary(OSError):
    """A complete library from this source that cannot serve; another compiler changes nothing."""


class NoUsableSet(UnusableLibrary):
    """The library lacks this processor's instruction sets."""


class LayoutMismatch(UnusableLibrary):
    """A structure in the library differs from its Python mirror."""


class Library:
    """The loaded library. Its calls release Python's lock while they compute."""

    def __init__(self, path: Path) -> None:
        """Load the file.

        Raises:
            UnusableLibrary: its structures or its instruction sets do not fit. OSError: it cannot
            be loaded, or its source has another version.
        """
        self.path = path
        handle = ctypes.CDLL(str(path))
        try:
            self._declare(handle)
        except AttributeError as error:
            raise OSError(f"{path} is not a kernel library: {error}") from None
        if handle.yaie_source().decode() != build.source_digest():
            raise OSError(f"{path} was compiled from another version of the source")
        if difference := find_difference(handle.yaie_layout().decode()):
            raise LayoutMismatch(f"{path} does not fit yaie/kernels: {difference}")
        if handle.yaie_chosen_instruction_set() is None:
            raise NoUsableSet(f"{path} was compiled for another processor")
        self._handle = handle
        self.attention = handle.yaie_attention  # (Step *, Layer *) -> 0, or 1: unknown dtype
        self.decode = handle.yaie_decode  # (Decoder *, Step *, DecoderCall *)
        self.experts = handle.yaie_experts  # (Experts *, ExpertsCall *)
        self.convolution = handle.yaie_convolution  # (Convolution *)
        self.recurrence = handle.yaie_recurrence  # (Recurrence *)
        self.gated_norm = handle.yaie_gated_norm  # (GatedNorm *)
        self.mix = handle.yaie_mix  # (Mixer *, MixerCall *)
        self.best = handle.yaie_best  # (Best *)
        self.sample = handle.yaie_sample  # (Samples *)
        self.linear = handle.yaie_linear  # (Linear *, x, rows, y, store, factor)
        self.pack = handle.yaie_pack  # (from, to, outputs, inputs, weight kind, is gated)
        # (values, scales, zero points, to, to scales, to zero points, outputs, inputs, groups,
        # weight kind, is gated)
        self.pack_quantized = handle.yaie_pack_quantized
        # (weights, importance, values, scales, zero points, outputs, inputs, group, dtype)
        self.round = handle.yaie_round
        self.dequantize = handle.yaie_dequantize  # (blocks, to, rows, inputs, weight kind)
        self.unpack = handle.yaie_unpack  # (Linear *, outputs, number of outputs, to)
        self.packed_inputs = handle.yaie_packed_inputs  # (weight kind, inputs)
        self.prefer_huge_pages = handle.yaie_prefer_huge_pages  # (memory, bytes)
        self.write_kv = handle.yaie_write_kv  # (Step *, Write *keys, Write *values)

    def _declare(self, handle: ctypes.CDLL) -> None:
        for name in ("source", "layout", "instruction_set", "chosen_instruction_set"):
            getattr(handle, f"yaie_{name}").restype = ctypes.c_char_p
        for name in ("set_threads", "write_kv", "prefer_huge_pages"):
            getattr(handle, f"yaie_{name}").restype = None
        for name in ("pack", "pack_quantized", "round", "dequantize", "unpack", "linear", "decode"):
            getattr(handle, f"yaie_{name}").restype = None
        for name in ("experts", "convolution", "recurrence", "gated_norm", "mix"):
            getattr(handle, f"yaie_{name}").restype = None
        for name in ("best", "sample"):
            getattr(handle, f"yaie_{name}").restype = None
        for name in ("panel_outputs", "packed_inputs"):
            getattr(handle, f"yaie_{name}").restype = ctypes.c_int64
        step, write = ctypes.POINTER(Step), ctypes.POINTER(Write)
        address, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
        handle.yaie_attention.argtypes = [step, ctypes.POINTER(Layer)]
        handle.yaie_packed_inputs.argtypes = [number, size]
        handle.yaie_pack.argtypes = [address, address, size, size, number, number]
        handle.yaie_dequantize.argtypes = [address, address, size, size, number]
        handle.yaie_prefer_huge_pages.argtypes = [address, size]
        handle.yaie_pack_quantized.argtypes = [*[address] * 6, *[size] * 3, number, number]
        handle.yaie_round.argtypes = [*[address] * 5, *[size] * 3, number]
        linear, call = ctypes.POINTER(Linear), ctypes.POINTER(DecoderCall)
        handle.yaie_linear.argtypes = [linear, address, size, address, number, ctypes.c_float]
        handle.yaie_unpack.argtypes = [linear, address, size, address]
        handle.yaie_decode.argtypes = [ctypes.POINTER(Decoder), step, call]
        handle.yaie_experts.argtypes = [ctypes.POINTER(Experts), ctypes.POINTER(ExpertsCall)]
        handle.yaie_convolution.argtypes = [ctypes.POINTER(Convolution)]
        handle.yaie_recurrence.argtypes = [ctypes.POINTER(Recurrence)]
        handle.yaie_gated_norm.argtypes = [ctypes.POINTER(GatedNorm)]
        handle.yaie_mix.argtypes = [ctypes.POINTER(Mixer), ctypes.POINTER(MixerCall)]
        handle.yaie_best.argtypes = [ctypes.POINTER(Best)]
        handle.yaie_sample.argtypes = [ctypes.POINTER(Samples)]
        handle.yaie_write_kv.argtypes = [step, write, write]

    @property
    def instruction_sets(self) -> list[str]:
        """Compiled sets that this processor has, best first."""
        found: list[bytes] = []
        while (name := self._handle.yaie_instruction_set(len(found))) is not None:
            found.append(name)
        available = [name.decode() for name in found if self._handle.yaie_is_available(name)]
        known = instruction_sets.of_this_machine()
        return sorted(available, key=lambda n: known.index(n) if n in known else len(known))

    @property
    def instruction_set(self) -> str:
        """Name of the instruction set in use."""
        name: bytes = self._handle.yaie_chosen_instruction_set()
        return name.decode()

    def use_instruction_set(self, name: str) -> None:
        """Switch this process to another set. Raises ConfigError if it is unavailable."""
        if self._handle.yaie_choose_instruction_set(name.encode()):
            usable = ", ".join(self.instruction_sets)
            raise ConfigError(f"instruction set {name!r} is unavailable; use one of {usable}")

    @property
    def panel_outputs(self) -> int:
        """Number of outputs per packed panel, for the instruction set in use."""
        count: int = self._handle.yaie_panel_outputs()
        return count

    @property
    def threads(self) -> int:
        """Number of computing threads, including the caller.

        Less than requested if the system refuses to start more; known after the first call.
        """
        count: int = self._handle.yaie_threads()
        return count

    @threads.setter
    def threads(self, count: int) -> None:
        self._handle.yaie_set_threads(count)
