"""The sampler against a slow twin in plain numpy, its promises one by one, and its faults."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yaie.engine import sampler as sampler_module
from yaie.engine import truncation
from yaie.engine.request import Request
from yaie.engine.sampler import Sampler
from yaie.engine.sampling_state import SamplingState, TokenCounts, uniform
from yaie.engine.step import SampledToken, SampleTask
from yaie.errors import InvalidRequest, InvariantViolated, RequestFailed
from yaie.kernels import loader as kernels
from yaie.kernels.sampling import best_tokens, draw_tokens
from yaie.types import GenerationRequest, SamplingParams

CPU = torch.device("cpu")


def state_of(
    params: SamplingParams, *, vocab_size=50, index=0, prompt=(), output=(), eos=(), seed=0
) -> SamplingState:
    state = SamplingState(
        params,
        index=index,
        prompt_token_ids=prompt,
        eos_token_ids=eos,
        vocab_size=vocab_size,
        fallback_seed=seed,
    )
    for token_id in output:
        state.observe(token_id)
    return state


def task(row: int, state: SamplingState) -> SampleTask:
    """Sample from `row` of the logits for a sequence in `state`."""
    asked = GenerationRequest(request_id="r", prompt_token_ids=(1,))
    request = Request(asked, namespace="", max_new_tokens=1, samplings=[state])
    return SampleTask(request.sequences[0], row)


def draw_one(logits, state: SamplingState) -> SampledToken:
    row = torch.as_tensor(logits, dtype=torch.float32)[None]
    (result,) = Sampler(row.shape[1], CPU).sample(row, [task(0, state)])
    assert isinstance(result, SampledToken), result
    return result


# The slow twin: one token at a time, float64, no cleverness.


def twin_logits(logits, params, prompt, output, eos) -> list[float]:
    x = [float(v) for v in logits]
    if len(output) < params.min_tokens:
        for token in {*eos, *params.stop_token_ids}:
            x[token] = -math.inf
    for token, bias in (params.logit_bias or {}).items():
        x[token] += bias
    for token in {*prompt, *output}:
        x[token] *= params.repetition_penalty if x[token] <= 0 else 1 / params.repetition_penalty
    for token in set(output):
        x[token] -= params.frequency_penalty * output.count(token) + params.presence_penalty
    return x


def twin_candidates(x, params, share) -> dict[int, float]:
    """Weights of the tokens that may be drawn; `share` stands for top_p."""
    best = max(x)
    order = sorted(range(len(x)), key=lambda token: (-x[token], token))
    weights = {token: math.exp((x[token] - best) / params.temperature) for token in order}
    order = [token for token in order if weights[token] >= params.min_p * (1 - 1e-6)]
    if params.top_k > 0:
        order = order[: params.top_k]
    if params.top_p < 1:
        total = sum(weights[token] for token in order)
        kept, mass = [], 0.0
        for token in order:
            if kept and mass >= share * total:
                break
            kept.append(token)
            mass += weights[token]
        order = kept
    return {token: weights[token] for token in sorted(order)}


def twin_tokens(x, params, u) -> set[int]:
    """The token drawn, and its neighbours where float32 may round to the other side."""
    if params.temperature == 0:
        best = max(x)
        return {token for token, value in enumerate(x) if value >= best - 1e-5}
    accepted = set()
    for share in (params.top_p - 1e-5, params.top_p, params.top_p + 1e-5):
        weights = twin_candidates(x, params, share)
        total = sum(weights.values())
        for target in (u - 1e-5, u, u + 1e-5):
            mass = 0.0
            for token, weight in weights.items():
                mass += weight
                if mass > target * total:
                    accepted.add(token)
                    break
            else:
                accepted.add([token for token, weight in weights.items() if weight > 0][-1])
    return accepted


VOCAB = 40
tokens = st.integers(0, VOCAB - 1)


@st.composite
def sampling_params(draw) -> SamplingParams:
    return SamplingParams(
        max_tokens=None,
        temperature=draw(st.sampled_from([0.0, 0.0, 0.3, 1.0, 1.7])),
        top_k=draw(st.sampled_from([0, -1, 1, 3, 17, VOCAB, 1000])),
        top_p=draw(st.sampled_from([1.0, 1.0, 0.9, 0.5, 0.01])),
        min_p=draw(st.sampled_from([0.0, 0.0, 0.05, 0.4])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.0, 1.3, 0.7])),
        presence_penalty=draw(st.sampled_from([0.0, 0.0, 0.8, -0.5])),
        frequency_penalty=draw(st.sampled_from([0.0, 0.0, 0.4, -0.2])),
        logit_bias=draw(st.none() | st.dictionaries(tokens, st.floats(-8, 8, width=16))),
        min_tokens=draw(st.integers(0, 4)),
        stop_token_ids=tuple(draw(st.lists(tokens, max_size=3))),
        ignore_eos=draw(st.booleans()),
        seed=draw(st.none() | st.integers(-(2**63), 2**63 - 1)),
    )


@st.composite
def sequences(draw):
    return (
        draw(sampling_params()),
        draw(st.lists(tokens, min_size=1, max_size=12)),
        draw(st.lists(tokens, max_size=6)),
        draw(st.integers(0, 7)),
        draw(st.integers(0, 2)),
    )


@st.composite
def rows_of_logits(draw) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = rng.normal(scale=draw(st.sampled_from([0.3, 2.0, 8.0])), size=(3, VOCAB))
    if draw(st.booleans()):
        logits = np.round(logits)  # many equal ones
    logits = logits.astype(np.float32)
    if draw(st.booleans()):
        logits[rng.random(logits.shape) < 0.2] = -np.inf
        logits[:, VOCAB // 2] = 1.0
    return logits


@settings(max_examples=200)
@given(rows_of_logits(), st.lists(sequences(), min_size=1, max_size=6), st.integers(0, 9))
def test_sampler_equals_its_slow_twin(logits, batch, seed):
    eos = (0, 1)
    draws = [
        task(
            row,
            state_of(
                p, vocab_size=VOCAB, index=i, prompt=prompt, output=output, eos=eos, seed=seed
            ),
        )
        for p, prompt, output, i, row in batch
    ]
    results = Sampler(VOCAB, CPU).sample(torch.from_numpy(logits), draws)
    for (params, prompt, output, index, row), result in zip(batch, results, strict=True):
        x = twin_logits(logits[row], params, prompt, output, eos)
        used_seed = seed if params.seed is None else params.seed
        assert isinstance(result, SampledToken), result
        assert result.token_id in twin_tokens(x, params, uniform(used_seed, index, len(output)))


def test_results_are_the_same_in_any_batch_and_order():
    rng = np.random.default_rng(1)
    logits = torch.from_numpy(rng.normal(size=(6, 700), scale=2).astype(np.float32))
    variants = [
        SamplingParams(seed=i, **kw)
        for i, kw in enumerate(
            [
                {},
                {"temperature": 0.0},
                {"top_p": 0.8},
                {"top_k": 20, "top_p": 0.9},
                {"min_p": 0.1, "logprobs": 3},
                {"repetition_penalty": 1.2, "presence_penalty": 0.5},
                {"temperature": 0.0, "frequency_penalty": 1.0},
                {"logit_bias": {3: 5.0}},
            ]
        )
    ]
    draws = [
        task(i % 6, state_of(params, vocab_size=700, prompt=(1, 2), output=(4, 4, 9), index=i))
        for i, params in enumerate(variants * 4)
    ]
    sampler = Sampler(700, CPU)
    together = sampler.sample(logits, draws)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(draws))[: 5 + 10 * seed]
        assert sampler.sample(logits, [draws[i] for i in order]) == [together[i] for i in order]
    for draw, expected in zip(draws, together, strict=True):
        alone = sampler.sample(
            logits[draw.logit_row : draw.logit_row + 1], [replace(draw, logit_row=0)]
        )
        assert alone == [expected]


def test_work_in_chunks_changes_nothing(monkeypatch):
    logits = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    draws = [
        task(i % 4, state_of(SamplingParams(top_p=0.9, logprobs=2), vocab_size=64, seed=i))
        for i in range(12)
    ]
    whole = Sampler(64, CPU).sample(logits, draws)
    monkeypatch.setattr(sampler_module, "CHUNK_ELEMENTS", 3 * 64)
    monkeypatch.setattr("yaie.engine.logprobs.CHUNK_ELEMENTS", 5 * 64)
    assert Sampler(64, CPU).sample(logits, draws) == whole


@pytest.mark.parametrize(
    "extra", [{}, {"temperature": 0.6}, {"top_k": 4}, {"top_p": 0.7}, {"min_p": 0.2}]
)
def test_draws_follow_the_distribution(extra):
    logits = np.array([1.5, 0.0, -1.0, 2.0, 0.5, -3.0, 1.0, 0.2], dtype=np.float32)
    params = SamplingParams(**extra)
    draws = [task(0, state_of(params, vocab_size=8, index=i, seed=11)) for i in range(8000)]
    results = Sampler(8, CPU).sample(torch.from_numpy(logits)[None], draws)
    observed = np.bincount([r.token_id for r in results], minlength=8)
    weights = twin_candidates(list(map(float, logits)), params, params.top_p)
    expected = np.zeros(8)
    expected[list(weights)] = np.array(list(weights.values())) / sum(weights.values()) * 8000
    assert observed[expected == 0].sum() == 0
    likely = expected > 0
    chi_square = ((observed - expected)[likely] ** 2 / expected[likely]).sum()
    assert chi_square < 24.3  # 0.1 % quantile for 7 degrees of freedom; fewer make it smaller


def test_uniform_numbers_are_uniform_and_unrelated():
    numbers = np.array([uniform(s, i, p) for s in range(20) for i in range(20) for p in range(20)])
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = np.histogram(numbers, bins=16, range=(0, 1))[0]
    assert ((counts - 500) ** 2 / 500).sum() < 37.7  # 0.1 % quantile for 15 degrees of freedom
    cube = numbers.reshape(20, 20, 20)
    for axis in range(3):
        a, b = np.take(cube, range(19), axis), np.take(cube, range(1, 20), axis)
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.05
    # The stream is part of the promise that a seed gives the same text tomorrow.
    assert uniform(7, 0, 0) == UNIFORM_7_0_0
    assert uniform(-1, 0, 0) == uniform(2**64 - 1, 0, 0)


UNIFORM_7_0_0 = 0.7584968808564502


def test_a_sequence_is_replayed_after_preemption_and_in_a_new_state():
    logits = torch.randn(30, 50, generator=torch.Generator().manual_seed(3))
    params = SamplingParams(seed=5, presence_penalty=0.4, repetition_penalty=1.1)
    sampler = Sampler(50, CPU)

    def continue_from(output: list[int]) -> list[int]:
        state = state_of(params, prompt=(1, 2, 3), output=output)
        output = list(output)
        while len(output) < 30:
            (result,) = sampler.sample(logits, [task(len(output), state)])
            output.append(result.token_id)
            state.observe(result.token_id)
        return output

    whole = continue_from([])
    assert len(set(whole)) > 5
    for cut in (1, 7, 29):
        assert continue_from(whole[:cut]) == whole


def test_siblings_seeds_and_fallback_seeds_differ():
    logits = torch.zeros(50)

    def text(**kw) -> tuple[int, ...]:
        params = SamplingParams(seed=kw.pop("own_seed", None))
        state, output = state_of(params, **kw), []
        for _ in range(12):
            output.append(draw_one(logits, state).token_id)
            state.observe(output[-1])
        return tuple(output)

    assert len({text(index=i, own_seed=4) for i in range(8)}) == 8
    assert len({text(own_seed=s) for s in range(8)}) == 8
    assert len({text(seed=s) for s in range(8)}) == 8
    assert text(own_seed=9, seed=1) == text(own_seed=9, seed=2)


def test_greedy_takes_the_lowest_of_equal_ids_and_copies_no_row(monkeypatch):
    logits = torch.zeros(2, 50)
    logits[1, [30, 20]] = 4.0
    state = state_of(SamplingParams(temperature=0.0))
    monkeypatch.setattr(Sampler, "_draw", None)  # the path with copies must not be taken
    results = Sampler(50, CPU).sample(logits, [task(0, state), task(1, state), task(1, state)])
    assert [r.token_id for r in results] == [0, 20, 20]


def test_input_logits_are_not_changed():
    logits = torch.randn(2, 50)
    before = logits.clone()
    params = SamplingParams(
        top_p=0.5, top_k=9, min_p=0.01, logit_bias={1: 3.0}, repetition_penalty=2.0, logprobs=4
    )
    Sampler(50, CPU).sample(logits, [task(r, state_of(params, prompt=(5,))) for r in (0, 1, 1)])
    assert torch.equal(logits, before)


GREEDY = {"temperature": 0.0}


def test_penalties_use_prompt_and_output_as_documented():
    logits = [0.0] * 6
    logits[1], logits[2], logits[3] = 3.0, 2.9, 2.8

    def greedy(prompt=(), output=(), **kw) -> int:
        params = SamplingParams(**GREEDY, **kw)
        return draw_one(
            logits, state_of(params, vocab_size=6, prompt=prompt, output=output)
        ).token_id

    assert greedy() == 1
    assert greedy(prompt=(1,), repetition_penalty=1.1) == 2  # the prompt counts
    assert greedy(output=(1, 2), repetition_penalty=1.2) == 3  # and so does the output
    assert greedy(prompt=(1,), presence_penalty=2.0, frequency_penalty=2.0) == 1  # here not
    assert greedy(output=(1,), presence_penalty=0.15) == 2
    assert greedy(output=(1, 1, 2), frequency_penalty=0.3) == 3
    assert greedy(output=(1, 1, 1), presence_penalty=0.05) == 1  # once, however often it occurred
    assert greedy(output=(3,), presence_penalty=-1.0) == 3
    negative = [-1.0, -1.05, -5.0]
    state = state_of(SamplingParams(**GREEDY, repetition_penalty=1.2), vocab_size=3, prompt=(0,))
    assert draw_one(negative, state).token_id == 1  # below zero the penalty multiplies


def test_logit_bias_and_its_limits():
    logits = np.linspace(1, 0, 50)
    assert draw_one(logits, state_of(SamplingParams(**GREEDY, logit_bias={0: -100}))).token_id == 1
    assert draw_one(logits, state_of(SamplingParams(**GREEDY, logit_bias={40: 9.0}))).token_id == 40
    for bad in (-1, 50):
        with pytest.raises(InvalidRequest, match="logit_bias has token id") as caught:
            state_of(SamplingParams(logit_bias={bad: 1.0}))
        assert caught.value.param == "logit_bias"
    with pytest.raises(InvalidRequest, match="stop_token_ids"):
        state_of(SamplingParams(stop_token_ids=(50,)))
    with pytest.raises(InvalidRequest, match="prompt has token id 50"):
        state_of(SamplingParams(repetition_penalty=1.1), prompt=(3, 50))


def test_min_tokens_forbids_ends_until_it_is_reached():
    logits = [9.0, 8.0, 7.0, 0.0]
    params = SamplingParams(**GREEDY, min_tokens=2, stop_token_ids=(1,))
    state = state_of(params, vocab_size=4, eos=(0, 99))
    for _ in range(2):
        assert draw_one(logits, state).token_id == 2
        assert state.finish_reason(0) is None
        state.observe(2)
    assert draw_one(logits, state).token_id == 0
    assert state.finish_reason(0) == ("stop", 0)
    assert state.finish_reason(1) == ("stop", 1)
    assert state.finish_reason(2) is None


def test_ignore_eos_ends_only_at_stop_token_ids():
    state = state_of(SamplingParams(ignore_eos=True, stop_token_ids=(4,)), eos=(0,))
    assert state.finish_reason(0) is None
    assert state.finish_reason(4) == ("stop", 4)


def test_top_k_keeps_exactly_k_and_top_p_at_least_one():
    logits = [2.0] * 10

    def seen(**kw) -> set[int]:
        params = SamplingParams(**kw)
        draws = [task(0, state_of(params, vocab_size=10, seed=s)) for s in range(400)]
        return {r.token_id for r in Sampler(10, CPU).sample(torch.tensor([logits]), draws)}

    assert seen() == set(range(10))
    assert seen(top_k=3) == {0, 1, 2}
    assert seen(top_k=1) == {0}
    assert seen(top_p=0.35) == {0, 1, 2, 3}
    assert seen(top_p=1e-9) == {0}
    assert seen(min_p=1.0) == set(range(10))
    assert seen(top_k=4, top_p=0.5) == {0, 1}
    logits[7] = 3.0
    assert seen(min_p=0.5) == {7}
    assert seen(temperature=1e-30) == {7}


def test_top_p_of_a_flat_row_longer_than_the_first_candidates():
    vocab_size = 5000
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, vocab_size), scale=0.1).astype(np.float32)
    logits[1] *= 60  # one flat row, one peaked row, in one batch
    params = SamplingParams(top_p=0.9)
    kept = [set(twin_candidates(list(map(float, row)), params, params.top_p)) for row in logits]
    assert len(kept[0]) > 1024 > len(kept[1])
    draws = [task(i % 2, state_of(params, vocab_size=vocab_size, seed=i)) for i in range(600)]
    results = Sampler(vocab_size, CPU).sample(torch.from_numpy(logits), draws)
    for i, result in enumerate(results):
        assert result.token_id in kept[i % 2]
        x = list(map(float, logits[i % 2])) if i < 20 else None
        if x:
            assert result.token_id in twin_tokens(x, params, uniform(i, 0, 0))


def test_a_large_top_k_leaves_those_beside_it_alone(monkeypatch):
    vocab_size = 3000
    logits = torch.randn(4, vocab_size, generator=torch.Generator().manual_seed(6))
    params = [
        SamplingParams(top_k=20),
        SamplingParams(top_k=1025, top_p=0.9),
        SamplingParams(top_k=2900),
        SamplingParams(top_k=7, top_p=0.5),
    ]
    draws = [task(i % 4, state_of(params[i % 4], vocab_size=vocab_size, seed=i)) for i in range(12)]
    sampler = Sampler(vocab_size, CPU)
    alone = [sampler.sample(logits, [draw])[0] for draw in draws]
    sizes = []
    real = truncation._largest
    monkeypatch.setattr(
        truncation,
        "_largest",
        lambda own, count: sizes.append((len(own), count)) or real(own, count),
    )
    assert sampler.sample(logits, draws) == alone
    assert sizes == [(6, 20), (6, 2900)]
    for draw, result in zip(draws[:4], alone, strict=False):
        x = list(map(float, logits[draw.logit_row]))
        number = draw.state.next_uniform()
        assert result.token_id in twin_tokens(x, draw.state.params, number)


@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_largest_are_those_of_topk_however_many(seed, num_lines, has_ties):
    generator = torch.Generator().manual_seed(seed)
    own = torch.randn(num_lines, 2000, generator=generator)
    if has_ties:
        own = own.round()
    own[torch.rand(own.shape, generator=generator) < 0.2] = -math.inf
    for count in (1, 1024, 1025, 1999, 2000):
        found = truncation._largest(own, count)
        assert torch.equal(found, own.topk(count, dim=-1).values)


def test_logprobs_are_of_the_raw_logits_with_rank_and_top():
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(8))
    logits[2] = torch.round(logits[2])
    log_softmax = torch.log_softmax(logits.double(), dim=-1)
    params = SamplingParams(
        logprobs=5, temperature=0.2, logit_bias={4: 20.0}, repetition_penalty=1.5, top_k=2
    )
    for row in range(3):
        (result,) = Sampler(50, CPU).sample(logits, [task(row, state_of(params, prompt=(3,)))])
        order = sorted(range(50), key=lambda t: (-float(logits[row, t]), t))
        assert result.token_id == 4
        assert result.logprobs.token_id == 4
        assert result.logprobs.logprob == pytest.approx(float(log_softmax[row, 4]), abs=1e-5)
        assert result.logprobs.rank == order.index(4) + 1
        assert [token for token, _ in result.logprobs.top] == order[:5]
        for token, logprob in result.logprobs.top:
            assert logprob == pytest.approx(float(log_softmax[row, token]), abs=1e-5)


def test_logprobs_zero_means_the_chosen_one_and_none_means_none():
    logits = torch.zeros(1, 50)
    states = [state_of(SamplingParams(**GREEDY, logprobs=k)) for k in (None, 0, 20)]
    none, chosen, top = Sampler(50, CPU).sample(logits, [task(0, s) for s in states])
    assert none.logprobs is None
    assert chosen.logprobs.top == () and chosen.logprobs.rank == 1
    assert [token for token, _ in top.logprobs.top] == list(range(20))
    few = Sampler(3, CPU).sample(
        torch.zeros(1, 3), [task(0, state_of(SamplingParams(logprobs=20), vocab_size=3))]
    )
    assert len(few[0].logprobs.top) == 3


def test_the_most_likely_token_does_not_depend_on_how_many_a_neighbour_wants():
    """Two logits whose difference is lost beside the normaliser: the larger is still first."""
    logits = torch.full((1, 50), 1.0)
    logits[0, 9] = torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))
    one, five = (state_of(SamplingParams(**GREEDY, logprobs=k)) for k in (1, 5))
    alone = Sampler(50, CPU).sample(logits, [task(0, one)])[0]
    beside = Sampler(50, CPU).sample(logits, [task(0, one), task(0, five)])
    assert [drawn.logprobs.top[0][0] for drawn in (alone, *beside)] == [9, 9, 9]
    assert beside[1].logprobs.top[0][1] == beside[1].logprobs.top[1][1]


@pytest.mark.parametrize("poison", [math.nan, math.inf, "all -inf"])
@pytest.mark.parametrize("extra", [GREEDY, {}, {"top_p": 0.5, "presence_penalty": 1.0}])
def test_an_unusable_row_harms_only_its_own_draws(poison, extra):
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(2))
    params = SamplingParams(logprobs=1, **extra)
    draws = [task(r, state_of(params, output=(1,), seed=r)) for r in (0, 1, 2, 1)]
    expected = Sampler(50, CPU).sample(logits, draws)
    if poison == "all -inf":
        logits[1] = -math.inf
    else:
        logits[1, 17] = poison
    results = Sampler(50, CPU).sample(logits, draws)
    assert (results[0], results[2]) == (expected[0], expected[2])
    for result in (results[1], results[3]):
        assert isinstance(result, RequestFailed)
        assert result.code == "logits_not_finite"
        assert "not finite" in result.message


def test_a_faulty_state_harms_only_its_own_draw():
    logits = torch.randn(1, 50, generator=torch.Generator().manual_seed(2))
    params = SamplingParams(presence_penalty=0.5)
    states = [state_of(params, output=(1, 2), seed=s) for s in range(4)]
    expected = Sampler(50, CPU).sample(logits, [task(0, s) for s in states])
    states[1].output.add(50)  # beyond the vocabulary
    states[2].output = None
    states[2].seen = "not counts"  # type: ignore[assignment]
    results = Sampler(50, CPU).sample(logits, [task(0, s) for s in states])
    assert (results[0], results[3]) == (expected[0], expected[3])
    assert isinstance(results[1], InvariantViolated)
    assert isinstance(results[2], RequestFailed) and "AttributeError" in results[2].message


def test_a_row_that_does_not_exist_and_logits_of_the_wrong_shape():
    sampler, state = Sampler(50, CPU), state_of(SamplingParams())
    good, bad, negative = sampler.sample(
        torch.zeros(1, 50), [task(0, state), task(1, state), task(-1, state)]
    )
    assert isinstance(good, SampledToken)
    assert isinstance(bad, InvariantViolated) and isinstance(negative, InvariantViolated)
    with pytest.raises(InvariantViolated, match="expected"):
        sampler.sample(torch.zeros(1, 49), [task(0, state)])
    assert sampler.sample(torch.zeros(1, 50), []) == []


@pytest.mark.parametrize("extra", [GREEDY, {}])
def test_min_tokens_that_forbid_everything_end_the_sequence_with_an_error(extra):
    params = SamplingParams(min_tokens=1, stop_token_ids=tuple(range(50)), **extra)
    fine = state_of(SamplingParams(**GREEDY, logit_bias={3: 1.0}))
    failed, drawn = Sampler(50, CPU).sample(
        torch.zeros(1, 50), [task(0, state_of(params)), task(0, fine)]
    )
    assert isinstance(failed, InvalidRequest) and "min_tokens (1)" in failed.message
    assert drawn.token_id == 3


@given(st.lists(tokens, max_size=80))
def test_counts_grow_as_a_plain_counter(added):
    counts = TokenCounts()
    for token in added:
        counts.add(token)
    assert dict(zip(counts.token_ids.tolist(), counts.counts.tolist(), strict=True)) == {
        token: added.count(token) for token in added
    }


@given(st.lists(tokens, max_size=30), st.lists(st.lists(tokens, max_size=40), max_size=3))
def test_sequences_of_a_request_draw_as_if_each_had_counted_the_prompt(prompt, outputs):
    params = SamplingParams(
        n=4, repetition_penalty=1.4, frequency_penalty=0.3, temperature=1.5, seed=7
    )
    first = state_of(params, vocab_size=VOCAB, prompt=prompt)
    states = [first, *(first.for_sequence(index) for index in range(1, len(outputs) + 1))]
    alone = [state_of(params, vocab_size=VOCAB, prompt=prompt, index=i) for i in range(len(states))]
    logits = torch.randn(1, VOCAB, generator=torch.Generator().manual_seed(3))
    outputs = [[], *outputs]
    for state, twin, output in zip(states, alone, outputs, strict=True):
        for token in output:
            state.observe(token)
            twin.observe(token)
    for state, twin, output in zip(states, alone, outputs, strict=True):
        assert state.seen is not None
        ids = np.concatenate(state.seen.parts).tolist()
        assert sorted(ids) == sorted({*prompt, *output})
        assert state.output is not None
        assert sorted(state.output.token_ids.tolist()) == sorted(set(output))
        assert (state.index, state.num_drawn) == (twin.index, twin.num_drawn)
        assert draw_one(logits[0], state) == draw_one(logits[0], twin)


def test_a_prompt_is_counted_once_for_all_sequences_and_not_on_arrival(monkeypatch):
    counted = []
    real = np.unique
    monkeypatch.setattr(np, "unique", lambda ids: counted.append(len(ids)) or real(ids))
    params = SamplingParams(n=8, repetition_penalty=1.4, temperature=0.0)
    first = state_of(params, vocab_size=5000, prompt=[*range(4000), *range(1000)])
    states = [first, *(first.for_sequence(index) for index in range(1, 8))]
    assert counted == []
    logits = torch.arange(5000.0)
    for number in range(3):
        for state in states:
            state.observe(draw_one(logits, state).token_id)
            assert state.num_drawn == number + 1
    assert counted == [5000]
    prompts = {id(state.seen.parts[0]) for state in states if state.seen is not None}
    assert len(prompts) == 1
    assert all(len(state.seen.parts[1]) <= 3 for state in states if state.seen is not None)


# Draws by the kernel library.

KERNELS = kernels.load()
needs_kernels = pytest.mark.skipif(KERNELS is None, reason=kernels.status().reason)


def intervals(logits, temperature: float, min_p: float, forbidden) -> np.ndarray:
    """Where each token's share of [0, 1) ends, in float64."""
    x = np.asarray(logits, dtype=np.float64)
    weights = np.exp((x - x.max()) / temperature)
    weights[weights < min_p * (1 - 1e-6)] = 0
    weights[list(forbidden)] = 0
    return np.cumsum(weights) / weights.sum()


@needs_kernels
@given(
    st.integers(1, 3).flatmap(lambda n: st.sampled_from([n, 15, 16, 17, 255, 256, 257, 700, 5000])),
    st.integers(0, 10**6),
    st.sampled_from([0.05, 0.8, 1.0, 3.0, 1e6]),
    st.sampled_from([0.0, 0.0, 0.02]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_kernel_draws_the_token_whose_share_the_number_falls_into(
    vocab_size: int, seed: int, temperature: float, min_p: float, forbids: bool
) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(3, vocab_size)).astype(np.float32) * 3
    logits[1, rng.random(vocab_size) < 0.5] = -math.inf
    logits[:, rng.integers(vocab_size)] = 9.0
    # Never a row's best one: the others are weighed against it.
    others = np.setdiff1d(np.arange(vocab_size), logits.argmax(1))
    forbidden = rng.choice(others, 2) if forbids and vocab_size > 3 else np.empty(0, np.int64)
    uniforms = [0.0, 1 - 2**-53, *rng.random(14)]
    rows = rng.integers(0, 3, len(uniforms)).tolist()
    tokens = draw_tokens(
        KERNELS,
        logits,
        rows=rows,
        best=[float(logits[row].max()) for row in rows],
        temperatures=[temperature] * len(rows),
        min_ps=[min_p] * len(rows),
        uniforms=uniforms,
        forbidden=[forbidden.astype(np.int64)] * len(rows),
    )
    for row, number, token in zip(rows, uniforms, tokens, strict=True):
        ends = intervals(logits[row], temperature, min_p, forbidden)
        begin, end = ends[token - 1] if token else 0.0, ends[token]
        assert begin - 1e-5 <= number <= end + 1e-5
        assert token not in forbidden
        assert logits[row, token] > -math.inf


@needs_kernels
@pytest.mark.parametrize("vocab_size", [1, 2, 15, 16, 17, 255, 256, 257, 3000])
def test_the_kernel_finds_the_first_of_the_best(vocab_size: int) -> None:
    rng = np.random.default_rng(vocab_size)
    logits = rng.integers(-9, 9, (200, vocab_size)).astype(np.float32)  # with many ties
    logits[:40] -= 1000
    logits[rng.random(logits.shape) < 0.1] = -math.inf
    best, tokens = best_tokens(KERNELS, logits)
    assert best == logits.max(1).tolist()
    assert tokens == logits.argmax(1).tolist()
    poisoned = logits.copy()
    places = rng.integers(0, vocab_size, len(logits))
    poisoned[np.arange(len(logits)), places] = np.nan
    assert np.isnan(best_tokens(KERNELS, poisoned)[0]).all()
    wide = np.full((200, vocab_size + 5), 99, dtype=np.float32)
    wide[:, :vocab_size] = logits
    assert best_tokens(KERNELS, wide[:, :vocab_size]) == (best, tokens)


@needs_kernels
def test_a_row_where_all_is_forbidden_gives_no_token() -> None:
    (token,) = draw_tokens(
        KERNELS,
        np.zeros((1, 3), dtype=np.float32),
        rows=[0],
        best=[0.0],
        temperatures=[1.0],
        min_ps=[0.0],
        uniforms=[0.5],
        forbidden=[np.arange(3)],
    )
    assert token == -1


@needs_kernels
def test_the_kernel_and_torch_draw_alike_and_the_kernel_copies_no_row(monkeypatch) -> None:
    """The same numbers decide in both; they may differ where one lies between two tokens."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(40, 3000, generator=generator) * 4
    params = [
        SamplingParams(temperature=0.8),
        SamplingParams(temperature=1.3, min_p=0.01),
        SamplingParams(temperature=1.0, min_tokens=4, stop_token_ids=[5, 17]),
    ]
    draws = [
        task(row, state_of(params[row % 3], vocab_size=3000, index=row, seed=row))
        for row in range(40)
    ]
    expected = Sampler(3000, CPU).sample(logits, draws)
    monkeypatch.setattr(Sampler, "_draw", None)  # the path with copies must not be taken
    found = Sampler(3000, CPU, kernels=KERNELS).sample(logits, draws)
    assert sum(a.token_id == b.token_id for a, b in zip(expected, found, strict=True)) >= 39
    alone = [Sampler(3000, CPU, kernels=KERNELS).sample(logits, [draw])[0] for draw in draws]
    assert alone == found


@needs_kernels
def test_ranks_penalties_and_a_forbidden_best_are_left_to_torch() -> None:
    logits = torch.tensor([[5.0, 200.0, 4.0, 3.0]])
    kernel = Sampler(4, CPU, kernels=KERNELS)
    for params in (
        SamplingParams(temperature=1.0, min_tokens=3, stop_token_ids=[1], min_p=0.5),
        SamplingParams(temperature=1.0, top_k=1),
        SamplingParams(temperature=1.0, top_p=0.1),
        SamplingParams(temperature=1.0, logit_bias={1: -100.0}),
    ):
        state = state_of(params, vocab_size=4)
        (plain,) = Sampler(4, CPU).sample(logits, [task(0, state)])
        (found,) = kernel.sample(logits, [task(0, state)])
        assert found == plain
        assert isinstance(found, SampledToken)
        assert found.token_id == (0 if params.min_tokens else 1)
