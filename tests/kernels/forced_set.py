"""One instruction set for the kernels of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from yaie.kernels.library_search import load


@contextlib.contextmanager
def forced_set(name: str) -> Iterator[None]:
    """Run the kernels with an instruction set; skip the test where it is not available."""
    library = load()
    if library is None or name not in library.instruction_sets:
        pytest.skip(f"this processor or this library has no {name}")
    before = library.instruction_set
    library.use_instruction_set(name)
    try:
        yield
    finally:
        library.use_instruction_set(before)
