"""Saved structures: the kernel library's structures with file offsets instead of addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from yaie.kernels.attention_structures import Layer
from yaie.kernels.decoder_structures import Decoder, DecoderLayer, Experts
from yaie.kernels.recurrent_structures import States

_ALIGNMENT = 64
# Addresses of further structures, which are described apart.
_TABLES = {
    (Decoder, "layers"),
    (DecoderLayer, "mixture"),
    (Experts, "gate_up"),
    (Experts, "down"),
}


class NotSavable(Exception):
    """A structure points to memory outside the saved tensors."""


class SavedTensors:
    """The tensors that structures point to, one after another as in a file."""

    def __init__(self, held: Iterable[object]) -> None:
        """`held`: the owners of the memory; only tensors are saved."""
        self._tensors = {each.data_ptr(): each for each in held if isinstance(each, torch.Tensor)}
        self._offsets: dict[int, int] = {}
        self.nbytes = 0
        for address, tensor in self._tensors.items():
            self._offsets[address] = self.nbytes
            self.nbytes += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT

    def describe(self, structure: ctypes.Structure) -> dict[str, Any]:
        """Return a structure's fields, with offsets for addresses; without pools and tables.

        Raises `NotSavable` if an address lies outside the tensors.
        """
        found: dict[str, Any] = {}
        for name, kind in _fields(type(structure)):
            value = getattr(structure, name)
            if issubclass(kind, ctypes.Structure):
                found[name] = self.describe(value)
            elif kind is not ctypes.c_void_p or value is None:
                found[name] = value
            elif value in self._offsets:
                found[name] = self._offsets[value]
            else:
                raise NotSavable(
                    f"{type(structure).__name__}.{name} points outside the held tensors"
                )
        return found

    def pieces(self) -> Iterator[memoryview]:
        """Yield the bytes of all tensors, each padded to whole words."""
        for tensor in self._tensors.values():
            yield tensor.detach().reshape(-1).view(torch.uint8).numpy().data
            if padding := -tensor.nbytes % _ALIGNMENT:
                yield memoryview(bytes(padding))


def restore(kind: Any, found: dict[str, Any], base: int) -> Any:
    """Return the structure that `SavedTensors.describe` described, for data at an address.

    Raises `KeyError` or `TypeError` for another description.
    """
    values = {}
    for name, field in _fields(kind):
        value = found[name]
        if issubclass(field, ctypes.Structure):
            value = restore(field, value, base)
        elif field is ctypes.c_void_p and value is not None:
            value += base
        values[name] = value
    return kind(**values)


def _fields(kind: Any) -> Iterator[tuple[str, Any]]:
    for name, field in kind._fields_:
        if field not in (Layer, States) and (kind, name) not in _TABLES:
            yield name, field
