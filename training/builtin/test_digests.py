"""The training text for a seed is the recorded one, in every process."""

from __future__ import annotations

import pytest

from training.builtin import digests

RECORDED = digests.recorded()


@pytest.mark.parametrize("name", digests.GENERATORS)
def test_generator_writes_the_recorded_text(name: str) -> None:
    assert [digests.digest(name, seed) for seed in digests.SEEDS] == RECORDED[name]
