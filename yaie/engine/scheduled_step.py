"""A scheduled step: one step's data while it is scheduled, executed and applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field

import msgspec

from yaie.attention.plan import StepPlan
from yaie.base.errors import request_error
from yaie.base.stats import EngineStats
from yaie.base.types import FinishReason, TokenDelta, TokenLogprobs
from yaie.engine.request import PooledPass, PromptPass, Request, Sequence
from yaie.engine.sampling_state import SamplingState
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree


@dataclass(frozen=True, slots=True)
class SampleTask:
    """One token to sample: for `sequence`, from row `logit_row` of the step's logits.

    A drafted sequence has a task for its next token, then one after each drafted token.
    """

    sequence: Sequence
    logit_row: int  # shared by sequences whose cursors coincide
    num_ahead: int = 0  # drafted tokens before it
    state_ahead: SamplingState | None = None  # after these

    @property
    def state(self) -> SamplingState:
        """The sampling state before the token."""
        return self.state_ahead or self.sequence.sampling


@dataclass(frozen=True, slots=True)
class Draft:
    """Guessed next tokens of a sequence, in the tree after the cursor."""

    sequence: Sequence
    token_ids: tuple[int, ...]
    states: tuple[SamplingState, ...]  # after each of them
    is_held: bool  # the tree held them before


@dataclass(frozen=True, slots=True)
class PromptLogits:
    """The logits rows of a prompt pass."""

    sequence: PromptPass
    first: int  # position of the token whose row is the first
    logit_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PromptStates:
    """The hidden rows of a pooled pass, of successive positions."""

    sequence: PooledPass
    hidden_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScheduledStep:
    """A step's plan and the sequences that it serves."""

    plan: StepPlan
    sample_tasks: tuple[SampleTask, ...]  # older sequences first
    prompt_logits: tuple[PromptLogits, ...]
    prompt_states: tuple[PromptStates, ...]
    computed: SequenceOf[tuple[Node, int]]  # nodes with rows, and their computed tokens afterwards
    members: tuple[Sequence, ...]  # every sequence that has a row in the step
    paid: tuple[tuple[Request, int], ...]  # rows for sequences without output, by request
    drafts: Mapping[Sequence, tuple[int, ...]] = field(default_factory=dict)  # tokens with rows
    is_extended: bool = False  # extends the last step, see `incremental_step.py`
    apply_states: Callable[[], None] | None = None  # of a model with recurrent layers

    def apply_to(self, tree: RadixTree, stats: EngineStats) -> None:
        """Mark the rows as computed, and add the step to the counters."""
        for node, num_computed in self.computed:
            tree.mark_computed(node, min(num_computed, len(node.tokens)))  # without wrong drafts
        plan, num_rows, num_prompt_rows = self.plan, self.plan.num_rows, 0
        for request, rows in self.paid:
            request.num_paid_rows += rows
            num_prompt_rows += rows
        if self.apply_states is not None:
            self.apply_states()
            stats.rows_recomputed += num_rows - len(plan.written_rows)
        tree.advance(num_rows)
        stats.num_steps += 1
        stats.num_extended_steps += self.is_extended
        stats.rows_computed += num_rows
        stats.prompt_rows_computed += num_prompt_rows
        stats.decode_rows_computed += num_rows - num_prompt_rows
        stats.kv_tokens_read += plan.kv_tokens_read
        stats.kv_tokens_unshared += plan.kv_tokens_unshared


class SampledToken(msgspec.Struct, frozen=True, gc=False):
    """A token that the sampler chose for one sequence."""

    token_id: int
    logprobs: TokenLogprobs | None = None


def make_delta(
    sequence: Sequence,
    sampled: SequenceOf[SampledToken] = (),
    forced: SequenceOf[int] = (),
    reason: FinishReason | None = None,
    *,
    now: float = 0.0,
    stop_token_id: int | None = None,
    error: Exception | None = None,
    first: bool = False,
    drafted: tuple[int, int] = (0, 0),
) -> TokenDelta:
    """Return the delta for sampled tokens and following forced tokens, for an end, or for both.

    The last delta, with a `reason`, carries the timings up to `now`; sequence 0's first delta
    carries the prompt's log-probabilities. `drafted`: accepted and rejected draft tokens.
    """
    request = sequence.request
    num_accepted, num_rejected = drafted
    prompt_logprobs = request.prompt_logprobs if first and sequence.index == 0 else None
    return TokenDelta(
        request_id=request.request_id,
        submission=request.submission,
        index=sequence.index,
        token_ids=(*(each.token_id for each in sampled), *forced),
        logprobs=tuple(each.logprobs for each in sampled if each.logprobs is not None),
        finish_reason=reason,
        stop_token_id=stop_token_id,
        error=request_error(error) if error else None,
        num_cached_tokens=request.num_cached or 0,
        prompt_logprobs=(None, *prompt_logprobs) if prompt_logprobs is not None else None,
        pooled=sequence.pooled() if isinstance(sequence, PooledPass) and not error else b"",
        timings=sequence.timings(now) if reason else None,
        num_accepted=num_accepted,
        num_rejected=num_rejected,
    )
