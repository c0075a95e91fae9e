"""The reader of GGUF headers: what was written is read, and damage is refused at once."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.gguf_files import U64, Stored, packed_text, write_gguf
from tests.sizes import large, size
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.models.files.gguf.header import read_gguf

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**31), 2**32 - 1),
    st.floats(width=32, allow_nan=False),
    TEXTS,
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=4),
)
SMALL_FILE: dict[str, Any] = {"general.architecture": "llama", "a": 1, "b": ["x", "yy"], "c": [1.5]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tensors = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "two": np.ones(5, np.float32)}
    return write_gguf(tmp_path / "small.gguf", SMALL_FILE, tensors)


@settings(max_examples=50, deadline=None)
@given(metadata=st.dictionaries(TEXTS, VALUES, max_size=6), sizes=st.lists(st.integers(1, 40)))
def test_what_was_written_is_read(
    metadata: dict[str, Any], sizes: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    metadata.pop("general.alignment", None)
    arrays = {f"t{size}": np.arange(size, dtype=np.float32) for size in sizes}
    path = write_gguf(tmp_path_factory.mktemp("gguf") / "any.gguf", metadata, arrays)
    file = read_gguf(path)
    found = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in file.metadata.items()
    }
    assert found == metadata
    data = path.read_bytes()
    for name, array in arrays.items():
        tensor = file.tensors[name]
        assert (tensor.kind, tensor.shape) == ("F32", array.shape)
        assert np.frombuffer(data, "<f4", len(array), tensor.first_byte).tolist() == array.tolist()


def test_the_alignment_of_the_file_is_followed(tmp_path: Path) -> None:
    arrays = {"a": np.ones(1, np.float32), "b": np.ones(2, np.float32)}
    path = write_gguf(tmp_path / "aligned.gguf", {"general.alignment": 64}, arrays)
    first, second = read_gguf(path).tensors.values()
    assert first.first_byte % 64 == second.first_byte % 64 == 0


def test_a_cut_file_is_refused_wherever_it_ends(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    cut = tmp_path / "cut.gguf"
    last = 20  # bytes of the last tensor; padding follows
    for length in range(len(whole) - 32 + last):
        cut.write_bytes(whole[:length])
        with pytest.raises(ModelUnsupported, match="download it again"):
            read_gguf(cut)


@large
@settings(max_examples=size(300), deadline=None)
@given(data=st.data())
def test_a_changed_byte_is_read_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("gguf")
    path = write_gguf(folder / "any.gguf", SMALL_FILE, {"one": np.ones(3, np.float32)})
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        read_gguf(path)
    except ModelUnsupported as error:
        assert str(path) in error.message and ";" in error.message  # the fact, then the fix


def header(*, tensors: int = 0, pairs: int = 0, rest: bytes = b"", version: int = 3) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, tensors, pairs) + rest


HUGE = 2**60
DAMAGED = {
    "claims .* metadata entries": header(pairs=HUGE),
    "claims .* tensors": header(tensors=HUGE),
    "claims .* bytes of text": header(pairs=1, rest=struct.pack("<QQ", HUGE, 0)),
    "claims .* strings": header(
        pairs=1, rest=packed_text("k") + struct.pack("<IIQ", 9, 8, HUGE) + bytes(9)
    ),
    "claims .* numbers": header(
        pairs=1, rest=packed_text("k") + struct.pack("<IIQ", 9, 4, HUGE) + bytes(9)
    ),
    "value of type 77": header(pairs=1, rest=packed_text("k") + struct.pack("<IQ", 77, 0)),
    "array of type 9": header(pairs=1, rest=packed_text("k") + struct.pack("<IIQ", 9, 9, 1)),
    "has 0 dimensions": header(tensors=1, rest=packed_text("t") + bytes(40)),
    "has 9 dimensions": header(tensors=1, rest=packed_text("t") + struct.pack("<I", 9) + bytes(40)),
    "is truncated": header(
        tensors=1, rest=packed_text("t") + struct.pack("<IQQIQ", 2, 2**40, 2**20, 0, 0)
    ),
    "does not fill blocks of Q8_0": header(
        tensors=1, rest=packed_text("t") + struct.pack("<IQIQ", 1, 33, 8, 0)
    ),
    "not a GGUF file": b"PK\3\4" + bytes(40),
    "big-endian": struct.pack(">4sIQQ", b"GGUF", 3, 0, 0)[:4] + struct.pack(">IQQ", 3, 0, 0),
    "version 1": header(version=1),
    "is empty": b"",
}


@pytest.mark.parametrize("why", DAMAGED)
def test_damage_is_refused_with_the_reason(why: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(DAMAGED[why])
    with pytest.raises(ModelUnsupported, match=why):
        read_gguf(path)


def test_an_unsupported_kind_names_the_supported_ones(tmp_path: Path) -> None:
    tensors = {"t": Stored("Q8_K", (1, 256), bytes(292))}
    said = r"'t' as Q8_K.*Q8_0.*TQ1_0 are supported; use a file"
    with pytest.raises(ModelUnsupported, match=said):
        read_gguf(write_gguf(tmp_path / "kind.gguf", {}, tensors))


def test_overlapping_tensors_are_refused(tmp_path: Path) -> None:
    entry = struct.pack("<IQIQ", 1, 8, 0, 0)  # eight numbers at byte 0
    path = tmp_path / "overlap.gguf"
    rest = packed_text("a") + entry + packed_text("b") + entry
    path.write_bytes(header(tensors=2, rest=rest) + bytes(100))
    with pytest.raises(ModelUnsupported, match="overlaps another"):
        read_gguf(path)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="does not exist"):
        read_gguf(tmp_path / "none.gguf")


def test_numbers_of_64_bits_are_read(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "wide.gguf", {"n": U64(2**40)}, {})
    assert read_gguf(path).metadata["n"] == 2**40
