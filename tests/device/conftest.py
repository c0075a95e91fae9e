"""The strict device, with an empty stream for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.device import strict


@pytest.fixture(autouse=True)
def _empty_stream() -> Iterator[None]:
    strict.setup()
    strict.device.reset()
    yield
    strict.device.reset()
