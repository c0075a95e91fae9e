"""For tests that compile: whether this machine can."""

from __future__ import annotations

import pytest

from yaie.kernels import build

needs_compiler = pytest.mark.skipif(
    build.find_compiler() is None,
    reason="compiles, and this machine has no C++ compiler, which YAIE may lack",
)
