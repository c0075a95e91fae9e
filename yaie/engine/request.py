"""Requests and their sequences as the engine holds them. Owned by the scheduler; no torch.

A request has `n` sequences. A sequence is a cursor in the tree plus what was drawn so far; it can
lose its cursor (preemption) and get a new one, since its tokens are kept here.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Hashable

import numpy as np

from yaie.engine.sampling_state import SamplingState
from yaie.kvcache.node import Cursor, Tokens, as_tokens
from yaie.types import GenerationRequest, SamplingParams, TokenLogprobs


class SequenceState(enum.Enum):
    """WAITING -> RUNNING -> FINISHED, with PREEMPTED between RUNNING and RUNNING again."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"


class Request:
    """One caller's request, from arrival to the end of its last sequence."""

    __slots__ = (
        "arrival",
        "arrived_at",
        "max_new_tokens",
        "namespace",
        "num_cached",
        "num_paid_rows",
        "params",
        "priority",
        "prompt",
        "prompt_logprobs",
        "request_id",
        "sequences",
        "submission",
    )

    def __init__(
        self,
        spec: GenerationRequest,
        *,
        namespace: Hashable,
        max_new_tokens: int,
        samplings: list[SamplingState],
    ) -> None:
        self.request_id = spec.request_id
        self.submission = spec.submission
        self.params: SamplingParams = spec.sampling
        self.priority = spec.priority
        self.prompt: Tokens = as_tokens(spec.prompt_token_ids)
        self.namespace = namespace
        self.max_new_tokens = max_new_tokens  # for each sequence
        self.sequences = [  # until the last of them has ended
            Sequence(self, index, sampling) for index, sampling in enumerate(samplings)
        ]
        self.arrival = 0  # running number, given by the scheduler
        self.arrived_at = 0  # tree clock
        self.num_paid_rows = 0  # rows computed on its behalf before its first token
        self.num_cached: int | None = None  # prompt tokens without such a row; from then on
        self.prompt_logprobs: list[TokenLogprobs | None] | None = (
            [] if spec.sampling.prompt_logprobs is not None else None
        )

    @property
    def is_finished(self) -> bool:
        """Whether all its sequences have ended."""
        return all(seq.state is SequenceState.FINISHED for seq in self.sequences)


class Sequence:
    """One live branch being generated."""

    __slots__ = ("cursor", "index", "output", "request", "sampling", "state")

    def __init__(self, request: Request, index: int, sampling: SamplingState) -> None:
        self.request = request
        self.index = index
        self.sampling = sampling
        self.output = array("i")
        self.cursor: Cursor | None = None  # while running
        self.state = SequenceState.WAITING

    @property
    def order(self) -> tuple[int, int]:
        """Age: the older sequence is the smaller."""
        return (self.request.arrival, self.index)

    @property
    def is_decoding(self) -> bool:
        """Whether it has drawn a token already."""
        return len(self.output) > 0

    @property
    def num_tokens(self) -> int:
        """Prompt and output together."""
        return len(self.request.prompt) + len(self.output)

    @property
    def num_remaining(self) -> int:
        """How many tokens it may still draw."""
        return self.request.max_new_tokens - len(self.output)

    def tokens(self) -> Tokens:
        """All its tokens, for taking its place in the tree again."""
        if not self.output:
            return self.request.prompt
        return np.concatenate([self.request.prompt, np.array(self.output, dtype=np.int32)])
