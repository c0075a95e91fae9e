"""Layout check: compares the library's structures with their mirrors in Python.

A swapped, missing or retyped field would corrupt memory without an error. So the library describes
its structures (`csrc/layout.h`), and `yaie.kernels.library` refuses a different description.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaie.kernels.attention_structures import POOL_DTYPES, Layer, SegmentStructure, Step, Write
from yaie.kernels.decoder_structures import (
    MIXERS,
    OUTPUT_GATES,
    SCORES,
    STORES,
    WEIGHTS,
    AdapterLayer,
    AdapterRows,
    Decoder,
    DecoderCall,
    DecoderLayer,
    Experts,
    ExpertsCall,
    Linear,
    LowRankPointers,
    Mixer,
    MixerCall,
    Mixture,
)
from yaie.kernels.recurrent_structures import (
    Chain,
    Chains,
    Convolution,
    GatedNorm,
    Recurrence,
    States,
)
from yaie.kernels.sampling_calls import Best, Samples

Mirrors = Mapping[str, type[ctypes.Structure]]

# By their names in csrc/abi.h.
STRUCTURES: Mirrors = {
    "YaieSegment": SegmentStructure,
    "YaieStep": Step,
    "YaieLayer": Layer,
    "YaieWrite": Write,
    "YaieLinear": Linear,
    "YaieExperts": Experts,
    "YaieExpertsCall": ExpertsCall,
    "YaieMixture": Mixture,
    "YaieDecoderLayer": DecoderLayer,
    "YaieDecoder": Decoder,
    "YaieLowRank": LowRankPointers,
    "YaieAdapterLayer": AdapterLayer,
    "YaieAdapterRows": AdapterRows,
    "YaieDecoderCall": DecoderCall,
    "YaieChain": Chain,
    "YaieChains": Chains,
    "YaieStates": States,
    "YaieConvolution": Convolution,
    "YaieRecurrence": Recurrence,
    "YaieGatedNorm": GatedNorm,
    "YaieMixer": Mixer,
    "YaieMixerCall": MixerCall,
    "YaieBest": Best,
    "YaieSamples": Samples,
}
ENUMERATIONS: Mapping[str, Mapping[str, int]] = {
    "YaieDtype": POOL_DTYPES,
    "YaieWeights": WEIGHTS,
    "YaieStore": STORES,
    "YaieMixerKind": MIXERS,
    "YaieScores": SCORES,
    "YaieOutputGates": OUTPUT_GATES,
}
_KINDS = {"i": "integer", "u": "unsigned integer", "f": "float", "p": "pointer", "s": "structure"}


@dataclass(frozen=True, slots=True)
class StructureField:
    """A C structure's field. `type` is a key of `_KINDS` and a number of bytes."""

    name: str
    offset: int
    type: str

    def __str__(self) -> str:
        return f"{self.type[1:]}-byte {_KINDS[self.type[0]]} at offset {self.offset}"


def find_difference(
    description: str,
    structures: Mirrors = STRUCTURES,
    enumerations: Mapping[str, Mapping[str, int]] = ENUMERATIONS,
) -> str | None:
    """Return the first difference between the library's description and the mirrors, or None."""
    lines = dict(line.split(" ", 1)[1].split(" ", 1) for line in description.splitlines())
    for name, mirror in structures.items():
        if name not in lines:
            return f"{name} is missing in the library"
        size, *fields = lines[name].split()
        found = _compare_fields(name, [_read_field(field) for field in fields], mirror)
        if found:
            return found
        if int(size) != ctypes.sizeof(mirror):
            ours = f"{mirror.__name__} has {ctypes.sizeof(mirror)}"
            return f"{name} has {size} bytes in the library and {ours}"
    for name, values in enumerations.items():
        theirs = {}
        for value in lines.get(name, "").split():
            key, number = value.split(":")
            theirs[key] = int(number)
        if theirs != values:
            return f"{name} is {theirs} in the library and {dict(values)} in Python"
    return None


def _read_field(text: str) -> StructureField:
    name, offset, kind = text.split(":")
    return StructureField(name, int(offset), kind)


def _compare_fields(
    name: str, theirs: list[StructureField], mirror: type[ctypes.Structure]
) -> str | None:
    ours = [_mirror_field(mirror, field[0], field[1]) for field in mirror._fields_]
    for there, here in zip(theirs, ours, strict=False):
        if there.name != here.name:
            place = f"field {there.name} of {name} in the library is {here.name}"
            return f"{place} in {mirror.__name__}"
        if there != here:
            return f"{name}.{there.name}: {there} in the library, {here} in Python"
    if len(theirs) > len(ours):
        return f"{mirror.__name__} lacks the field {theirs[len(ours)].name} of {name}"
    if len(ours) > len(theirs):
        return f"{name} in the library lacks the field {ours[len(theirs)].name}"
    return None


def _mirror_field(mirror: type[ctypes.Structure], name: str, kind: type[Any]) -> StructureField:
    letter = "s" if issubclass(kind, ctypes.Structure) else _kind_of(kind)
    return StructureField(name, getattr(mirror, name).offset, f"{letter}{ctypes.sizeof(kind)}")


def _kind_of(kind: type[Any]) -> str:
    code: str = kind._type_  # as in the module `struct`: capital letters are unsigned
    if code == "P":
        return "p"
    if code in "fd":
        return "f"
    return "i" if code.islower() else "u"
