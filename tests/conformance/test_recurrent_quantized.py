"""Models with recurrent layers and quantized linears: native, and warm tokens equal cold ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.conformance.recurrent import RECURRENT, RecurrentSubject, Schedule

_NAMES = ("lfm2", "qwen3.5", "bamba", "falcon-h1", "granite-hybrid-dense", "olmo-hybrid", "lfm3")
_CASES = {case.name: case for case in RECURRENT}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name == _NAMES[0] else pytest.mark.slow) for name in _NAMES
    ],
)
def recurrent(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> RecurrentSubject:
    return RecurrentSubject(_CASES[request.param], tmp_path_factory.mktemp("quantized"))


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_warm_tokens_are_cold_ones(recurrent: RecurrentSubject, kind: str) -> None:
    """Under eviction of states and of slots, preemption, aborts and n."""
    settings = {"quantization": kind, "num_slots": 330}
    core = recurrent.core(state_bytes=12 * recurrent.state_bytes, **settings)
    cold = recurrent.core(prefix_cache=False, **settings)
    assert core.info.execution == "native"
    assert core.executor.loaded.metadata.quantization == kind
    num_answers = num_ties = 0
    for seed in range(3):
        schedule = Schedule(recurrent, core, seed, temperatures=(0.0,))
        schedule.run(6)
        answers, ties = schedule.count_ties(cold)
        num_answers, num_ties = num_answers + answers, num_ties + ties
    assert num_ties <= num_answers / 20
    assert core.stats.cached_tokens > 0 and core.stats.num_evicted_states > 0
    core.close()
    cold.close()
