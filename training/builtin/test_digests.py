"""The training text for a seed is the recorded one, in every process."""

from __future__ import annotations

from typing import Any

import pytest

from training.builtin.digests import digests, recorded


@pytest.mark.parametrize("record", recorded(), ids=lambda record: record["generator"])
def test_generator_writes_the_recorded_text(record: dict[str, Any]) -> None:
    assert digests(record["generator"], record["samples"]) == record["digests"]
