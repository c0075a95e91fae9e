"""The header of a GGUF file: its metadata, and the places of its tensors. Torch-free.

The file is mapped, and each count is compared with the bytes that are left before anything of
that size is allocated.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.models.files.gguf.tensor_kinds import KIND_NAMES, KINDS
from yaie.models.files.split_files import find_parts

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_LEAST_PAIR = 13  # bytes of a key without a name, and its type and value
_LEAST_TENSOR = 24  # bytes of a tensor without a name and dimensions
_LENGTH = struct.Struct("<Q")
# Number of a type -> its format, little-endian.
_NUMBERS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """The place of a tensor in its file."""

    path: Path
    name: str
    kind: str  # "F32", "Q4_1", ...
    shape: tuple[int, ...]  # rows first, as in torch
    first_byte: int  # in the file

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        kind = KINDS[self.kind]
        return prod(self.shape) // kind.num_values * kind.nbytes


@dataclass(frozen=True, slots=True)
class GgufFile:
    """The metadata and the tensors of a file."""

    path: Path
    metadata: Mapping[str, Any]  # lists of numbers are arrays of numpy
    tensors: Mapping[str, GgufTensor]  # by name

    @property
    def first_byte(self) -> int:
        """The place of the first tensor in its file."""
        return min((tensor.first_byte for tensor in self.tensors.values()), default=0)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that hold tensors."""
        return tuple(sorted({tensor.path for tensor in self.tensors.values()})) or (self.path,)


def read_gguf(path: Path) -> GgufFile:
    """Read the header of a GGUF file.

    Raises `ModelNotFound` for a missing file, `ModelUnsupported` for one that is damaged, has
    another format or holds tensors of an unsupported kind.
    """
    try:
        with path.open("rb") as file:
            if not file.seek(0, 2):
                raise _report_damage(path, "it is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Header(path, data).read()
    except FileNotFoundError:
        raise ModelNotFound(f"{path} does not exist") from None
    except OSError as error:
        raise ModelUnsupported(
            f"{path} cannot be read: {error.strerror}", code="model_damaged"
        ) from None


def read_model(path: Path) -> GgufFile:
    """Read the header of a model in one file, or in parts of which any is named.

    Raises as `read_gguf`, and `ModelNotFound` for a part that is absent.
    """
    files = [read_gguf(part) for part in find_parts(path)]
    count = files[0].metadata.get("split.count", 1) or 1
    if count != len(files) and len(files) == 1:
        raise ModelUnsupported(
            f"{path} is part of a model in {count} files, and its name lacks the number of its "
            f"part; name the files as in MODEL-00001-of-{str(count)[:5]:0>5}.gguf"
        )
    tensors: dict[str, GgufTensor] = {}
    for number, file in enumerate(files):
        stated = file.metadata.get("split.no", 0), file.metadata.get("split.count", 1) or 1
        if stated != (number, len(files)):
            raise _report_damage(file.path, f"it is not part {number + 1} of {len(files)}")
        if twice := tensors.keys() & file.tensors.keys():
            raise _report_damage(file.path, f"{min(twice)[:80]!r} is in an earlier part too")
        tensors |= file.tensors
    return replace(files[0], tensors=tensors)


class _Header:
    """A position in the bytes of a header."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path = path
        self._data = data
        self._size = len(data)
        self._at = 0

    def read(self) -> GgufFile:
        num_tensors, num_pairs = self._read_start()
        metadata: dict[str, Any] = {}
        for _ in range(self._check_count(num_pairs, _LEAST_PAIR, "metadata entries")):
            key = self._string()
            if key in metadata:
                self._fail(f"it states {key[:80]!r} twice")
            metadata[key] = self._value(self._number(4))
        count = self._check_count(num_tensors, _LEAST_TENSOR, "tensors")
        entries = [self._tensor_entry() for _ in range(count)]
        return GgufFile(self._path, metadata, self._place(entries, metadata))

    def _read_start(self) -> tuple[int, int]:
        """Return the numbers of tensors and of metadata entries."""
        if self._data[: len(MAGIC)] != MAGIC:
            raise ModelUnsupported(
                f"{self._path} is not a GGUF file: it does not begin with {MAGIC.decode()}; name "
                f"another file, or download it again",
                code="model_damaged",
            )
        self._at = len(MAGIC)
        version = self._number(4)
        if version not in _VERSIONS:
            why = f"version {version}"
            if version & 0xFFFF == 0:
                why = "big-endian numbers"
            raise ModelUnsupported(
                f"{self._path} is a GGUF file with {why}, and versions 2 and 3 in little-endian "
                f"order are supported; convert the model with a newer llama.cpp"
            )
        return self._number(10), self._number(10)

    def _tensor_entry(self) -> tuple[str, str, tuple[int, ...], int]:
        """Return name, kind, shape and offset of the next tensor."""
        name = self._string()
        num_dimensions = self._number(4)
        if not 1 <= num_dimensions <= _MAX_DIMENSIONS:
            self._fail(f"its tensor {name[:80]!r} has {num_dimensions} dimensions")
        shape = tuple(self._number(10) for _ in range(num_dimensions))[::-1]
        number = self._number(4)
        kind = KIND_NAMES.get(number, f"type {number}")
        if kind not in KINDS:
            raise ModelUnsupported(
                f"{self._path} holds {name[:80]!r} as {kind}, and GGUF tensors of the kinds "
                f"{', '.join(KINDS)} are supported; use a file in one of them, such as Q8_0"
            )
        if shape[-1] % KINDS[kind].num_values or not all(shape):
            self._fail(f"its tensor {name[:80]!r} of shape {shape} does not fill blocks of {kind}")
        return name, kind, shape, self._number(10)

    def _place(
        self, entries: list[tuple[str, str, tuple[int, ...], int]], metadata: Mapping[str, Any]
    ) -> dict[str, GgufTensor]:
        """Return the tensors by name, after checking that they lie in the file, apart."""
        alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if type(alignment) is not int or not 1 <= alignment <= 2**20:
            self._fail(f"its alignment is {alignment!r}")
        start = -(-self._at // alignment) * alignment
        tensors: dict[str, GgufTensor] = {}
        for name, kind, shape, offset in entries:
            if name in tensors:
                self._fail(f"it holds {name[:80]!r} twice")
            tensors[name] = GgufTensor(self._path, name, kind, shape, start + offset)
        end = start
        for tensor in sorted(tensors.values(), key=lambda each: each.first_byte):
            if tensor.first_byte < end:
                self._fail(f"its tensor {tensor.name[:80]!r} overlaps another")
            end = tensor.first_byte + tensor.nbytes
            if end > self._size:
                self._fail(
                    f"its tensor {tensor.name[:80]!r} ends at byte {end:,}, and the file has "
                    f"{self._size:,}: it is truncated"
                )
        return tensors

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._number(kind)

    def _array(self) -> Any:
        """Return a list of strings, or an array of numbers."""
        kind, count = self._number(4), self._number(10)
        if kind == _STRING:
            return self._strings(self._check_count(count, _LENGTH.size, "strings"))
        number = _NUMBERS.get(kind)
        if number is None:
            self._fail(f"it holds an array of type {kind}")
        self._check_count(count, number.size, "numbers")
        end = self._at + count * number.size
        values = np.frombuffer(self._data[self._at : end], number.format)
        self._at = end
        return values

    def _strings(self, count: int) -> list[str]:
        """Return many strings: a vocabulary has hundreds of thousands, so calls are spared."""
        data, at, last = self._data, self._at, self._size - _LENGTH.size
        found = []
        for _ in range(count):
            if at > last:
                self._fail("its header ends early: it is truncated")
            begin = at + _LENGTH.size
            at = begin + _LENGTH.unpack_from(data, at)[0]
            if at > self._size:
                self._fail("a text in its header reaches beyond its end: it is truncated")
            found.append(data[begin:at].decode("utf-8", "replace"))
        self._at = at
        return found

    def _string(self) -> str:
        length = self._number(10)
        end = self._at + self._check_count(length, 1, "bytes of text")
        text = self._data[self._at : end].decode("utf-8", "replace")
        self._at = end
        return text

    def _number(self, kind: int) -> Any:
        form = _NUMBERS.get(kind)
        if form is None:
            self._fail(f"it holds a value of type {kind}")
        if self._at + form.size > self._size:
            self._fail("its header ends early: it is truncated")
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return value

    def _check_count(self, count: int, least: int, things: str) -> int:
        """Return a count after checking that as many things can follow."""
        if count * least > self._size - self._at:
            left = self._size - self._at
            self._fail(f"its header claims {count:,} {things}, and {left:,} bytes are left")
        return count

    def _fail(self, why: str) -> NoReturn:
        raise _report_damage(self._path, why)


def _report_damage(path: Path, why: str) -> ModelUnsupported:
    return ModelUnsupported(f"{path} is damaged: {why}; download it again", code="model_damaged")
