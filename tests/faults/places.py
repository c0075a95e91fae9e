"""Places in an engine's step where a test makes one request fail.

Each place spoils the request `BAD` and no other: by its seed, its grammar's field, or by a token
that only it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from tests.engine.watched_executor import Execute, Step
from tests.tiny_model import VOCAB_SIZE
from yaie.attention.plan import StepPlan
from yaie.base.types import GenerationRequest
from yaie.engine import core as core_module
from yaie.engine.grammar.compiler import GrammarCompiler
from yaie.engine.grammar.matcher import GrammarState
from yaie.engine.live_sequences import LiveSequences
from yaie.engine.request import Sequence
from yaie.engine.sampling import logprobs as logprobs_module
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.logit_rules import LogitBias
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampleTask

BAD = "bad"  # its request id, and its grammar's field
BAD_SEED = 99
BAD_TOKEN = VOCAB_SIZE - 1

Spoil = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Place:
    """A fault: `step` replaces the executor's steps, `spoil` patches a method.

    `in_prompt` puts the bad token into the prompt, `in_output` into the answer.
    """

    step: Step | None = None
    spoil: Spoil | None = None
    in_prompt: bool = False
    in_output: bool = False
    grammar: bool = False
    harmless: bool = False  # the request itself ends as it would without the fault


def _fail() -> None:
    raise ZeroDivisionError("made to fail")


def _bad_rows(plan: StepPlan) -> Any:
    return plan.token_ids == BAD_TOKEN


def _raise(plan: StepPlan, execute: Execute) -> torch.Tensor:
    if _bad_rows(plan).any():
        _fail()
    return execute(plan)


def _run_out_of_memory(plan: StepPlan, execute: Execute) -> torch.Tensor:
    if _bad_rows(plan).any():
        raise torch.OutOfMemoryError("none for this request")
    return execute(plan)


def _compute_then_raise(plan: StepPlan, execute: Execute) -> torch.Tensor:
    """Fail once the keys and values are written."""
    logits = execute(plan)
    if _bad_rows(plan).any():
        _fail()
    return logits


def _sleep(plan: StepPlan, execute: Execute) -> torch.Tensor:
    if _bad_rows(plan).any():
        time.sleep(0.02)
    return execute(plan)


def _write(value: float) -> Step:
    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        logits = execute(plan).clone()
        logits[torch.from_numpy(_bad_rows(plan)[plan.logit_rows])] = value
        return logits

    return step


def _patch(owner: Any, name: str, is_bad: Callable[..., bool]) -> Spoil:
    """Return a fault in `owner.name` for the calls whose arguments `is_bad` accepts."""

    def spoil(monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **named: Any) -> Any:
            if is_bad(*args):
                _fail()
            return real(*args, **named)

        monkeypatch.setattr(owner, name, call)

    return spoil


def _has_bad_task(_: object, logits: object, tasks: list[SampleTask]) -> bool:
    return any(_is_bad_state(task.state) for task in tasks)


def _is_bad_state(state: SamplingState, *_: object) -> bool:
    return state.params.seed == BAD_SEED and state.num_output >= 2


def _is_bad_grammar(state: GrammarState, *_: object) -> bool:
    return state.param == BAD


def _is_bad_sequence(_: object, sequence: Sequence, *__: object) -> bool:
    return sequence.request.request_id == BAD and len(sequence.output) > 2


def _is_bad_request(request: GenerationRequest, *_: object) -> bool:
    return request.request_id == BAD


def _has_bad_token(logits: object, rows: object, token_ids: list[int], *_: object) -> bool:
    return BAD_TOKEN in token_ids


PLACES = {
    "forward raises in a prompt": Place(_raise, in_prompt=True),
    "forward raises in an answer": Place(_raise, in_output=True),
    "forward writes, then raises": Place(_compute_then_raise, in_output=True),
    "forward lacks memory": Place(_run_out_of_memory, in_prompt=True),
    "forward sleeps": Place(_sleep, in_output=True, harmless=True),
    "NaN in a prompt": Place(_write(float("nan")), in_prompt=True),
    "NaN in an answer": Place(_write(float("nan")), in_output=True),
    "infinity in an answer": Place(_write(float("inf")), in_output=True),
    "validation": Place(spoil=_patch(core_module, "validate_request", _is_bad_request)),
    "sampler": Place(spoil=_patch(CpuSampler, "sample", _has_bad_task)),
    "logit rule": Place(
        spoil=_patch(LogitBias, "applies", lambda _, state: _is_bad_state(state)), in_output=True
    ),
    "random number": Place(spoil=_patch(SamplingState, "next_uniform", _is_bad_state)),
    "sampled token": Place(spoil=_patch(SamplingState, "observe", _is_bad_state)),
    "end of an answer": Place(spoil=_patch(SamplingState, "finish_reason", _is_bad_state)),
    "logprobs": Place(
        spoil=_patch(logprobs_module, "_chunk_logprobs", _has_bad_token), in_output=True
    ),
    "prompt logprobs": Place(
        spoil=_patch(logprobs_module, "token_logprobs", _has_bad_token), in_prompt=True
    ),
    "growth": Place(spoil=_patch(LiveSequences, "grow", _is_bad_sequence)),
    "grammar compiler": Place(
        spoil=_patch(GrammarCompiler, "compile", lambda _, grammar: grammar.param == BAD),
        grammar=True,
    ),
    "grammar mask": Place(spoil=_patch(GrammarState, "mask", _is_bad_grammar), grammar=True),
    "grammar state": Place(spoil=_patch(GrammarState, "observe", _is_bad_grammar), grammar=True),
    "forced tokens": Place(
        spoil=_patch(GrammarState, "find_forced", _is_bad_grammar), grammar=True
    ),
}
