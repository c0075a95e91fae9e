"""Sizes of large random sets: a tenth by default and in CI, the whole set in `make test-slow`.

A test with such a set has the marker `large`, by which `make test-slow` selects it.
"""

from __future__ import annotations

import os

import pytest

IS_WHOLE = os.environ.get("TEST_SETS") == "whole"

large = pytest.mark.large


def size(whole: int) -> int:
    """Return the size of a random set that has `whole` members in `make test-slow`."""
    return whole if IS_WHOLE else max(1, whole // 10)
