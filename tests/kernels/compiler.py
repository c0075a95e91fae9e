"""The C++ compiler of this machine, and a mark for tests that need one."""

from __future__ import annotations

import pytest

from yaie.kernels import build


def find_compiler() -> str | None:
    """Return the first compiler that the loader tries."""
    return next(iter(build.find_compilers()), None)


needs_compiler = pytest.mark.skipif(
    find_compiler() is None,
    reason="needs a C++ compiler, which is optional for YAIE",
)
