"""Requests inside the engine, and their sequences. Owned by the scheduler; pure.

A request has `n` sequences. A sequence is a cursor in the tree plus its sampled tokens. It can lose
its cursor (preemption) and receive a new one, because its tokens are stored here.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Hashable
from collections.abc import Sequence as SequenceOf

import numpy as np
from numpy.typing import NDArray

from yaie.base.errors import InvariantViolated
from yaie.base.stats import EngineStats
from yaie.base.types import (
    FinishReason,
    GenerationRequest,
    SamplingParams,
    Timings,
    TokenLogprobs,
)
from yaie.engine.sampling_state import SamplingState
from yaie.kvcache.node import Cursor, Node, Tokens, as_tokens

End = tuple[FinishReason, int | None]  # with the stop token


class SequenceState(enum.Enum):
    """A sequence's life: WAITING, RUNNING, FINISHED, and SUSPENDED while it is preempted."""

    WAITING = "waiting"  # for admission, or for its request's prompt pass
    RUNNING = "running"  # has a cursor
    SUSPENDED = "suspended"  # admitted, without a cursor: preempted, or just after a prompt pass
    FINISHED = "finished"


# States that may follow each. A finished sequence stays one; none waits for a second admission.
TRANSITIONS = {
    SequenceState.WAITING: {
        SequenceState.RUNNING,
        SequenceState.SUSPENDED,
        SequenceState.FINISHED,
    },
    SequenceState.RUNNING: {SequenceState.SUSPENDED, SequenceState.FINISHED},
    SequenceState.SUSPENDED: {SequenceState.RUNNING, SequenceState.FINISHED},
    SequenceState.FINISHED: set[SequenceState](),
}


class Request:
    """A caller's request, from arrival until its last sequence ends."""

    __slots__ = (
        "arrival",
        "arrived_at",
        "arrived_s",
        "borders",
        "call",
        "is_whole",
        "max_new_tokens",
        "namespace",
        "num_cached",
        "num_paid_rows",
        "params",
        "pooling",
        "prediction",
        "priority",
        "prompt",
        "prompt_logprobs",
        "prompt_pass",
        "queue_timeout_s",
        "request_id",
        "sequences",
        "speculate",
        "submission",
        "tenant",
    )

    def __init__(
        self,
        spec: GenerationRequest,
        *,
        namespace: Hashable,
        max_new_tokens: int,
        samplings: list[SamplingState],
        is_whole: bool = False,
    ) -> None:
        self.request_id = spec.request_id
        self.submission = spec.submission
        self.call = spec.call or spec.request_id
        self.params: SamplingParams = spec.sampling
        self.pooling = spec.pooling
        self.prediction = spec.prediction
        self.speculate = spec.speculate
        self.priority = spec.priority
        self.tenant = spec.tenant
        self.queue_timeout_s = spec.queue_timeout_s
        self.prompt: Tokens = as_tokens(spec.prompt_token_ids)
        self.namespace = namespace
        self.is_whole = is_whole  # one step computes the whole prompt: its tokens see all others
        self.borders: SequenceOf[int] | None = None  # of messages, found when they are needed
        self.max_new_tokens = max_new_tokens  # for each sequence
        # Emptied when the last of them has ended.
        self.sequences: list[Sequence] = (
            [PooledPass(self, samplings[0])]
            if spec.pooling is not None
            else [Sequence(self, index, sampling) for index, sampling in enumerate(samplings)]
        )
        self.arrival = 0  # arrival number, set by the scheduler
        self.arrived_at = 0  # tree clock
        self.arrived_s = 0.0  # seconds of the scheduler's clock
        self.num_paid_rows = 0  # rows computed on its behalf before its first token
        self.num_cached: int | None = None  # prompt tokens without a row; set at admission
        self.prompt_logprobs: list[TokenLogprobs | None] | None = (
            [] if spec.sampling.prompt_logprobs is not None else None
        )
        self.prompt_pass: PromptPass | None = None  # while it runs or is suspended

    @property
    def is_finished(self) -> bool:
        """True if all its sequences have ended."""
        return all(seq.state is SequenceState.FINISHED for seq in self.sequences)

    def count_cached(self, stats: EngineStats) -> None:
        """Count the prompt and its cached tokens, at the first sampled token."""
        if self.num_cached is None:
            self.num_cached = max(0, len(self.prompt) - self.num_paid_rows)
            stats.prompt_tokens += len(self.prompt)
            stats.cached_tokens += self.num_cached

    @property
    def num_missing_prompt_logprobs(self) -> int:
        """Prompt tokens whose log-probabilities are requested and missing.

        The first token has none. Only sequence 0 reports them: 0 once it has ended.
        """
        if self.prompt_logprobs is None or self.sequences[0].state is SequenceState.FINISHED:
            return 0
        return len(self.prompt) - 1 - len(self.prompt_logprobs)


class Sequence:
    """A request's live branch."""

    __slots__ = (
        "admitted_s",
        "cursor",
        "entered_at",
        "first_token_s",
        "index",
        "output",
        "request",
        "sampling",
        "state",
    )

    def __init__(self, request: Request, index: int, sampling: SamplingState) -> None:
        self.request = request
        self.index = index
        self.sampling = sampling
        self.output = array("i")
        self.cursor: Cursor | None = None  # while running
        self.entered_at = 0  # tree clock when the cursor was opened
        self.state = SequenceState.WAITING
        self.admitted_s: float | None = None
        self.first_token_s: float | None = None

    def become(self, state: SequenceState) -> None:
        """Change its state. Raises `InvariantViolated` if `TRANSITIONS` lacks the change."""
        if state not in TRANSITIONS[self.state]:
            raise InvariantViolated(
                f"sequence {self.index} of {self.request.request_id!r} is {self.state.value} and "
                f"cannot become {state.value}; this is a bug in YAIE"
            )
        self.state = state

    @property
    def order(self) -> tuple[int, int]:
        """Age: the older sequence is the smaller."""
        return (self.request.arrival, self.index)

    @property
    def is_decoding(self) -> bool:
        """True if it has sampled a token."""
        return len(self.output) > 0

    @property
    def is_ready(self) -> bool:
        """False while the mask of its next token is computed outside the step, and after an end."""
        grammar = self.sampling.grammar
        if grammar is None:
            return True
        return not self.is_full and grammar.is_ready and not grammar.is_over

    @property
    def is_full(self) -> bool:
        """True if it has as many tokens as it may have."""
        return self.num_remaining <= 0

    @property
    def late_end(self) -> FinishReason | None:
        """Reason of an end that became known outside the steps; None before it is known."""
        grammar = self.sampling.grammar
        if grammar is None:
            return None
        if self.is_full and not grammar.knows_end:
            return None
        return "stop" if grammar.is_over else "length" if self.is_full else None

    @property
    def num_remaining(self) -> int:
        """Tokens that it may still sample."""
        return self.request.max_new_tokens - len(self.output)

    @property
    def num_places(self) -> int:
        """Number of running sequences that it counts as against `max_running`."""
        return 1

    @property
    def last_token(self) -> tuple[Node, int]:
        """Its last token's node and offset; it samples from this token's logits."""
        assert self.cursor is not None
        assert self.cursor.node is not None
        return self.cursor.node, self.cursor.offset - 1

    def tokens(self) -> Tokens:
        """Return prompt and output, the path that it needs in the tree."""
        if not self.output:
            return self.request.prompt
        return np.concatenate([self.request.prompt, np.array(self.output, dtype=np.int32)])

    def begin_output(self, now: float, stats: EngineStats) -> None:
        """Record the output's start at `now`, before its first token is taken."""
        self.request.count_cached(stats)
        self.first_token_s = now
        stats.num_started += 1

    def take(self, token_id: int) -> tuple[list[int], End | None]:
        """Add a sampled token to the output, and those that its grammar forces after it.

        Returns the forced ones, and the end if the last token is one. Raises the grammar's error.
        """
        end, forced = self._add(token_id), []
        if end is None:
            for following in self.sampling.find_forced():
                forced.append(following)
                end = self._add(following)
                if end is not None:
                    break
        return forced, end

    def _add(self, token_id: int) -> End | None:
        output, sampling = self.output, self.sampling
        output.append(token_id)
        sampling.observe(token_id)
        end = sampling.finish_reason(token_id)
        if end is None and self.is_full:
            if sampling.grammar is not None and not sampling.grammar.knows_end:
                return None  # see `late_end`
            return "length", None
        return end

    def count_pending_rows(self) -> int:
        """Count the rows until its next token, shared ones included."""
        assert self.cursor is not None
        pending, node, end = 0, self.cursor.node, self.cursor.offset
        if node is not None and node.num_computed and end - node.num_computed <= 1:
            return 1  # true of every decoding sequence; the nodes above are computed
        while node is not None and node.num_computed < end:
            pending += end - node.num_computed
            node = node.parent
            end = len(node.tokens) if node else 0
        return max(pending, 1)

    def count_own_tokens(self) -> int:
        """Count this sequence's own tokens: preemption makes them evictable."""
        assert self.cursor is not None
        own, node = 0, self.cursor.node
        while node is not None and node.refs == 1:
            own += len(node.tokens)
            node = node.parent
        return own

    def timings(self, now: float) -> Timings:
        """Return its times from arrival to `now`, its end; missing events count as now."""
        arrived = self.request.arrived_s
        admitted = now if self.admitted_s is None else self.admitted_s
        first_token = now if self.first_token_s is None else self.first_token_s
        return Timings(
            queued_s=admitted - arrived,
            first_token_s=first_token - arrived,
            total_s=now - arrived,
        )


class PromptPass(Sequence):
    """A request's prompt as a separate sequence, for log-probabilities only.

    It runs before the request's sequences and ends without a sample. These then find the prompt in
    the tree. See `prompt_outputs.py`.
    """

    __slots__ = ()

    def __init__(self, request: Request) -> None:
        super().__init__(request, 0, request.sequences[0].sampling)

    @property
    def num_places(self) -> int:
        """Number of the request's live sequences: they run next."""
        return sum(seq.state is SequenceState.WAITING for seq in self.request.sequences)

    @property
    def next_output(self) -> int:
        """First position whose log-probabilities are missing."""
        return len(self.request.prompt_logprobs or ())

    @property
    def num_missing_outputs(self) -> int:
        """Positions whose log-probabilities are missing."""
        return self.request.num_missing_prompt_logprobs

    def count_pending_rows(self) -> int:
        """Count its rows, shared ones included: each position has one, cached or not."""
        return max(super().count_pending_rows(), self.num_missing_outputs)


class PooledPass(Sequence):
    """The one sequence of a request for a pooled hidden row; it ends after its prompt.

    The pooling `last` takes the row of the last token, cached or not. A mean takes
    the rows of all tokens, and the tree holds none of them: cached tokens are computed once more,
    as rows that read their keys and values. See `prompt_outputs.py`.
    """

    __slots__ = ("_num_taken", "_total")

    def __init__(self, request: Request, sampling: SamplingState) -> None:
        super().__init__(request, 0, sampling)
        self._num_taken = 0
        self._total: NDArray[np.float64] | None = None  # sum of the rows so far, [hidden]

    @property
    def next_output(self) -> int:
        """First position whose hidden row is missing."""
        request = self.request
        return (0 if request.pooling == "mean" else len(request.prompt) - 1) + self._num_taken

    @property
    def num_missing_outputs(self) -> int:
        """Positions whose hidden rows are missing."""
        return len(self.request.prompt) - self.next_output

    def count_pending_rows(self) -> int:
        """Count its rows, shared ones included."""
        return max(super().count_pending_rows(), self.num_missing_outputs)

    def take_states(self, rows: NDArray[np.float32]) -> None:
        """Take the next hidden rows [rows, hidden]."""
        total = rows.sum(axis=0, dtype=np.float64)
        self._total = total if self._total is None else self._total + total
        self._num_taken += len(rows)

    def pooled(self) -> bytes:
        """Return the pooled row as little-endian float32; empty while rows are missing."""
        if self._total is None or self.num_missing_outputs:
            return b""
        return (self._total / self._num_taken).astype("<f4").tobytes()
