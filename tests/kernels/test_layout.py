"""A mirror that differs from the library's structures is refused before any call."""

from __future__ import annotations

import ctypes

import pytest

from tests.kernels.compiler import needs_compiler
from yaie.kernels import layout_check, library_search
from yaie.kernels.attention_structures import Step
from yaie.kernels.layout_check import STRUCTURES, find_difference
from yaie.kernels.library import LayoutMismatch, Library
from yaie.kernels.library_search import LibraryLoader

DESCRIPTION = "struct Point 16 x:0:i8 y:8:f4 flags:12:u4\nenum Colour red:0 blue:2\n"


def mirror(*fields: tuple[str, type]) -> type[ctypes.Structure]:
    """Return a structure with these fields."""
    return type("Point", (ctypes.Structure,), {"_fields_": list(fields)})


X, Y = ("x", ctypes.c_int64), ("y", ctypes.c_float)
FLAGS = ("flags", ctypes.c_uint32)


def difference(*fields: tuple[str, type], colours: dict[str, int] | None = None) -> str | None:
    """Compare a mirror with these fields to `DESCRIPTION`."""
    return find_difference(
        DESCRIPTION, {"Point": mirror(*fields)}, {"Colour": colours or {"red": 0, "blue": 2}}
    )


def test_an_equal_mirror_has_no_difference() -> None:
    assert difference(X, Y, FLAGS) is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((Y, X, FLAGS), "field x of Point in the library is y in Point"),
        ((X, FLAGS, Y), "field y of Point in the library is flags in Point"),
        ((X, Y), "Point lacks the field flags of Point"),
        ((X, Y, FLAGS, ("z", ctypes.c_float)), "Point in the library lacks the field z"),
        (
            (("x", ctypes.c_void_p), Y, FLAGS),
            "Point.x: 8-byte integer at offset 0 in the library, 8-byte pointer at offset 0",
        ),
        ((X, ("y", ctypes.c_double), FLAGS), ", 8-byte float at offset 8 in Python"),
        ((X, Y, ("flags", ctypes.c_int32)), ", 4-byte integer at offset 12 in Python"),
    ],
)
def test_a_difference_names_structure_and_field(
    fields: tuple[tuple[str, type], ...], words: str
) -> None:
    found = difference(*fields)
    assert found is not None and words in found


def test_other_numbers_of_an_enumeration_are_a_difference() -> None:
    found = difference(X, Y, FLAGS, colours={"red": 0, "blue": 1})
    assert found == (
        "Colour is {'red': 0, 'blue': 2} in the library and {'red': 0, 'blue': 1} in Python"
    )


def test_a_structure_that_the_library_lacks_is_named() -> None:
    found = find_difference("", {"Point": mirror(X)}, {})
    assert found == "Point is missing in the library"


@needs_compiler
def test_every_structure_of_the_library_is_mirrored() -> None:
    loaded = library_search.load()
    assert loaded is not None
    handle = ctypes.CDLL(str(loaded.path))
    handle.yaie_layout.restype = ctypes.c_char_p
    lines = [line.split() for line in handle.yaie_layout().decode().splitlines()]
    assert {line[1] for line in lines if line[0] == "struct"} == set(STRUCTURES)
    assert {line[1] for line in lines if line[0] == "enum"} == set(layout_check.ENUMERATIONS)


@needs_compiler
def test_a_mirror_with_two_fields_swapped_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = library_search.load()
    assert loaded is not None
    fields = list(Step._fields_)
    fields[1], fields[2] = fields[2], fields[1]  # num_rows and num_segments
    monkeypatch.setitem(
        STRUCTURES, "YaieStep", type("Step", (ctypes.Structure,), {"_fields_": fields})
    )
    words = "field num_rows of YaieStep in the library is num_segments in Step"
    with pytest.raises(LayoutMismatch, match=words):
        Library(loaded.path)
    status = LibraryLoader().status()  # the library of this test run, compiled before
    assert not status.loaded and words in status.reason
