"""One `LLM` over a tiny random model, with every invariant checked after each step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from yaie import LLM, SamplingParams

GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
HELLO = [{"role": "user", "content": "A quick brown fox"}]


@pytest.fixture(scope="session")
def llm(tiny_model_dir: Path) -> Iterator[LLM]:
    with LLM(tiny_model_dir, num_slots=4096, max_model_len=1024, threads=1, audit=True) as llm:
        yield llm


def is_idle(llm: LLM) -> bool:
    """Return True if only the cache is left of all requests."""
    stats = llm.stats
    return (stats.num_running, stats.num_waiting, stats.num_live_slots) == (0, 0, 0)
