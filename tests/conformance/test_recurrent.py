"""Models with recurrent layers: warm answers equal transformers' own, whatever states are left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.conformance.case import Case
from tests.conformance.recurrent import (
    RECURRENT,
    RECURRENT_WRAPPED,
    RecurrentSubject,
    Schedule,
)
from tests.engine.asking import ask, run
from tests.sizes import IS_WHOLE, large, size
from yaie.base.errors import ConfigError, InvalidRequest, NotEnoughMemory
from yaie.base.queries import ExplainPrompt, Explanation
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.cli.failures import show_failure
from yaie.engine.core import EngineCore
from yaie.server.explain.explanation import reason_for

_BY_DEFAULT = {"qwen3.5", "lfm2"}
_NATIVE = {
    *("qwen3.5", "qwen3.5-vision", "olmo-hybrid", "lfm2", "bamba"),
    *("granite-hybrid-dense", "granite-hybrid-rope", "granite-hybrid-mamba"),
    *("qwen3.5-moe", "qwen3.5-moe-vision", "qwen3-next", "qwen3-next-heads"),
    *("lfm2-moe", "lfm3", "falcon-h1", "falcon-h1-norm", "falcon-h1-gate"),
}
_WITHOUT_KERNELS = {"kimi-linear"}  # transformers computes its recurrent layers


def _marked(case: Case) -> object:
    return pytest.param(
        case, id=case.name, marks=() if case.name in _BY_DEFAULT else pytest.mark.integration
    )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=[_marked(case) for case in (*RECURRENT, *RECURRENT_WRAPPED)])
def recurrent(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> RecurrentSubject:
    return RecurrentSubject(request.param, tmp_path_factory.mktemp("recurrent"))


@pytest.fixture(scope="module")
def core(recurrent: RecurrentSubject) -> Iterator[EngineCore]:
    """An engine with little more states than sequences, and few slots."""
    core = recurrent.core(num_slots=330, state_bytes=12 * recurrent.state_bytes)
    yield core
    core.close()


@large
def test_random_schedules(recurrent: RecurrentSubject, core: EngineCore) -> None:
    """Under eviction of states and of slots, with preemption, aborts, n and prompt logprobs."""
    for seed in range(size(20)):
        schedule = Schedule(recurrent, core, seed)
        schedule.run(24)
        schedule.check()
    states = core.scheduler.states
    assert states is not None
    assert states.nodes.num_evicted > 0
    assert core.stats.cached_tokens > 0


@large
@pytest.mark.timeout(3600 if IS_WHOLE else 600)
def test_warm_answers_are_the_tokens_of_cold_ones(
    recurrent: RecurrentSubject, core: EngineCore
) -> None:
    """Under eviction of states and of slots, preemption, aborts and n."""
    cold = recurrent.core(prefix_cache=False)
    num_answers = num_ties = 0
    for seed in range(1_000 if IS_WHOLE else 3):
        schedule = Schedule(recurrent, core, seed + 10_000, temperatures=(0.0,))
        schedule.run(6)
        answers, ties = schedule.count_ties(cold)
        num_answers, num_ties = num_answers + answers, num_ties + ties
    cold.close()
    stats = core.stats
    print(
        f"{num_answers} answers, {num_ties} differ from a tie on; {stats.cached_tokens} tokens "
        f"cached, {stats.num_evicted_states} states evicted, {stats.num_preemptions} preemptions"
    )
    assert num_ties <= num_answers / 1_000
    assert stats.cached_tokens > 0 and stats.num_evicted_states > 0


def test_kernels_compute_the_recurrent_layers(
    recurrent: RecurrentSubject, core: EngineCore
) -> None:
    """In the native decoder, or in calls from transformers' layers."""
    expected = "native" if recurrent.case.name in _NATIVE else "transformers"
    assert core.info.execution == expected
    is_known = recurrent.case.name not in _WITHOUT_KERNELS
    assert ("its recurrent layers" not in core.info.execution_reason) == is_known


def test_a_second_start_reads_packed_layers(recurrent: RecurrentSubject, tmp_path: Path) -> None:
    if recurrent.case.name not in _NATIVE:
        pytest.skip("transformers runs this model: no packed weights are cached")
    answers, prompt = [], tuple(range(3, 63))
    for is_restored in (False, True):
        core = recurrent.core(weights_cache=str(tmp_path))
        assert core.wait_until_saved()
        assert (core.executor.loaded.model is None) == is_restored
        deltas = run(core, ask("a", prompt, logprobs=0)).deltas["a", 0]
        answers.append([each.logprobs for each in deltas])
        assert core.executor.loaded.num_states == core.info.num_states > 0
        core.close()
    assert answers[0] == answers[1]


def test_a_wrong_state_would_be_noticed(recurrent: RecurrentSubject) -> None:
    """Proof that the schedules show a state of zeros where another belongs."""
    core = recurrent.core()
    prompt = tuple(range(3, 63))
    run(core, ask("first", prompt))
    states = core.executor.memory.states  # type: ignore[attr-defined]
    for layer in states._layers:
        for pool in layer.values():
            pool.zero_()
    schedule = Schedule(recurrent, core, 0)
    schedule.prompts["second"] = list(prompt)
    schedule.answers = run(core, ask("second", prompt, logprobs=0)).deltas
    assert schedule.answers["second", 0][0].num_cached_tokens == len(prompt) - 1
    with pytest.raises(AssertionError):
        schedule.check()
    core.close()


def test_a_prompt_resumes_where_earlier_prompts_parted(recurrent: RecurrentSubject) -> None:
    """The second prompt leaves a state where it parts; the third resumes just there."""
    core = recurrent.core(num_slots=2000)
    shared = tuple(range(3, 103))
    cached = []
    for number in range(4):
        own = tuple(110 + number for _ in range(17))
        answers = run(core, ask(str(number), (*shared, *own)))
        cached.append(answers.last(str(number)).num_cached_tokens)
    assert cached == [0, 0, len(shared), len(shared)]
    again = run(core, ask("again", (*shared, *(110 for _ in range(17)))))
    assert again.last("again").num_cached_tokens == len(shared) + 16
    core.close()


def test_prompts_of_one_step_share_their_rows(recurrent: RecurrentSubject) -> None:
    core = recurrent.core(max_step_rows=512)
    shared = tuple(range(3, 103))
    before = core.stats
    run(core, *(ask(str(number), (*shared, 110 + number), max_tokens=1) for number in range(4)))
    assert core.stats.since(before).rows_computed == len(shared) + 4
    core.close()


def test_refusals(recurrent: RecurrentSubject, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="omit --exact"):
        recurrent.core(exact=True)
    with pytest.raises(ConfigError, match="omit --lora"):
        recurrent.core(lora="a=/nowhere")
    with pytest.raises(NotEnoughMemory, match="at least --state-bytes") as refused:
        recurrent.core(state_bytes=recurrent.state_bytes)
    show_failure(refused.value)
    said = capsys.readouterr().err
    assert said.endswith("try: a larger --state-bytes, or omit it\n") and "0.0 MiB" not in said


def test_an_adapter_is_refused_while_the_server_runs(
    core: EngineCore, recurrent: RecurrentSubject
) -> None:
    with pytest.raises(InvalidRequest, match="fused or recurrent"):
        core.adapters.load("a", str(recurrent.folder))


def test_few_states_limit_the_running_sequences(recurrent: RecurrentSubject) -> None:
    core = recurrent.core(state_bytes=5 * recurrent.state_bytes)
    assert (core.info.max_running, core.info.num_states) == (2, 5)
    sampling = SamplingParams(n=3)
    wide = GenerationRequest(request_id="a", prompt_token_ids=(5,), sampling=sampling)
    with pytest.raises(InvalidRequest, match=r"at most 2 sequences .* a larger --state-bytes"):
        core.add(wide)
    core.close()


def test_an_explanation_names_the_missing_state(recurrent: RecurrentSubject) -> None:
    core = recurrent.core()
    shared = tuple(range(3, 103))
    run(core, ask("a", (*shared, 110, 111)))
    found = core.answer(ExplainPrompt((*shared, 112, 113)))
    assert isinstance(found, Explanation)
    assert (found.num_held, found.cause) == (0, "no_state")
    assert reason_for(found.cause, found).startswith("resumed at 0 of 100 held tokens: no later")
    core.close()


def test_a_chat_resumes_at_the_borders_of_its_messages(recurrent: RecurrentSubject) -> None:
    """The end token of the model ends a message; no prompt has parted there before."""
    core = recurrent.core(num_slots=2000)
    (end,) = core.info.eos_token_ids
    system, question = tuple(range(3, 53)), tuple(range(53, 83))
    run(core, ask("first", (*system, end, 5, *question, end, 6), max_tokens=4))
    other = run(core, ask("other", (*system, end, 5, 90, 91, 92)))
    assert other.last("other").num_cached_tokens == len(system) + 1
    edited = run(core, ask("edited", (*system, end, 5, *question, end, 7)))
    assert edited.last("edited").num_cached_tokens == len(system) + len(question) + 3
    core.close()
