"""The mark of tests that find torch unloaded, which some versions of transformers load."""

from __future__ import annotations

from importlib.metadata import version

import pytest

_MAJOR, _MINOR = map(int, version("transformers").split(".")[:2])

needs_light_transformers = pytest.mark.skipif(
    (_MAJOR, _MINOR) < (5, 18), reason="transformers before 5.18 imports torch by itself"
)
