"""For tests that compile: whether this machine can, and with what."""

from __future__ import annotations

import pytest

from yaie.kernels import build


def find_compiler() -> str | None:
    """The compiler that would be tried first."""
    return next(iter(build.find_compilers()), None)


needs_compiler = pytest.mark.skipif(
    find_compiler() is None,
    reason="compiles, and this machine has no C++ compiler, which YAIE may lack",
)
