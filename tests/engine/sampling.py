"""States and tasks of sampling tests, a slow twin of the sampler, and Hypothesis strategies."""

from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.request import Request
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampledToken, SampleTask

GREEDY = {"temperature": 0.0}


VOCAB = 40


tokens = st.integers(0, VOCAB - 1)


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
    """Return the task to sample from `row` of the logits for a sequence in `state`."""
    asked = GenerationRequest(request_id="r", prompt_token_ids=(1,))
    request = Request(asked, namespace="", max_new_tokens=1, samplings=[state])
    return SampleTask(request.sequences[0], row)


def sample_one(logits, state: SamplingState) -> SampledToken:
    row = torch.as_tensor(logits, dtype=torch.float32)[None]
    (result,) = CpuSampler(row.shape[1]).sample(row, [task(0, state)])
    assert isinstance(result, SampledToken), result
    return result


class TensorLog(TorchFunctionMode):
    """Record the length of the longest tensor that torch functions write while it is active."""

    longest = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        inputs = {each.data_ptr() for each in args if isinstance(each, torch.Tensor)}
        for each in result if isinstance(result, tuple) else (result,):
            if isinstance(each, torch.Tensor) and each.data_ptr() not in inputs:
                self.longest = max(self.longest, each.numel())
        return result


# The slow twin: one token at a time, in float64.


def twin_logits(logits, params, prompt, output, eos) -> list[float]:
    x = [float(v) for v in logits]
    for token in range(len(x)):
        if params.allowed_token_ids is not None and token not in params.allowed_token_ids:
            x[token] = -math.inf
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
    """Return the weights of the tokens that truncation keeps; `share` replaces top_p."""
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
    """Return the sampled token, with neighbours that float32 rounding may reach."""
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


@st.composite
def sampling_params(draw) -> SamplingParams:
    stop_token_ids = tuple(draw(st.lists(tokens, max_size=3)))
    allowed = None
    if VOCAB // 2 not in stop_token_ids:  # it always has a finite logit
        allowed = draw(st.none() | st.lists(tokens).map(lambda ids: (*ids, VOCAB // 2)))
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
        stop_token_ids=stop_token_ids,
        allowed_token_ids=allowed,
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
