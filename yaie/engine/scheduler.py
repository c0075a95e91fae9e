"""The scheduler: chooses what each step computes and applies the results to the tree.

Called by `EngineCore`: `add`, `schedule`, (execute), `update`. Prefill and decode are one phase: a
live sequence samples in the step that computes its last known token. Pure; the clock is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from functools import partial

from yaie.attention.plan import FoldingCost
from yaie.base.errors import LogitsNotFinite, YaieError
from yaie.base.stats import EngineStats
from yaie.base.types import MIN_PROMPT_LOGITS, FinishReason, TokenDelta
from yaie.engine.admission import Admission
from yaie.engine.drafts.drafting import Drafting, Outcome
from yaie.engine.grammar.matcher import MaskPending
from yaie.engine.live_sequences import LiveSequences
from yaie.engine.queue.match_cache import MatchCache
from yaie.engine.queue.policies import make_policy
from yaie.engine.queue.policy_protocol import AdmissionPolicy
from yaie.engine.queue.queue_limits import Backlog
from yaie.engine.queue.turn_grace import Close, Lingering
from yaie.engine.request import End, PromptPass, Request, Sequence, SequenceState
from yaie.engine.scheduled_step import SampledToken, ScheduledStep, make_delta
from yaie.engine.step.batch_builder import BatchBuilder
from yaie.engine.step.sequence_states import SequenceStates
from yaie.kvcache.node_states import NodeStates
from yaie.kvcache.radix_tree import RadixTree


class Scheduler:
    """Owns the waiting, running and suspended sequences; the only caller of the tree."""

    def __init__(
        self,
        tree: RadixTree,
        *,
        clock: Callable[[], float],
        policy: str | AdmissionPolicy = "prefix-aware",
        max_step_rows: int = 2048,
        max_running: int = 256,
        queue_timeout_s: float = 0.0,
        weights: Mapping[str, float] | None = None,
        aging: int = 0,
        folding: FoldingCost | None = None,
        max_draft_tokens: int = 0,
        num_states: int = 0,
        turn_ends: SequenceOf[int] = (),
    ) -> None:
        """`clock` returns seconds: for sequence timings and the service rate.

        `turn_ends`: tokens that end a message.
        """
        self.tree = tree
        self.max_step_rows = max_step_rows
        self.max_running = max_running
        self.stats = EngineStats()  # counters only; the core adds the gauges
        found = self._matches = MatchCache(tree)
        self.waiting: AdmissionPolicy = (
            make_policy(
                policy,
                found.count_uncached,
                max_step_rows,
                lambda: tree.num_free,
                weights,
                aging=aging,
            )
            if isinstance(policy, str)
            else policy
        )
        self.backlog = Backlog(queue_timeout_s, weights)  # work of the requests in `waiting`
        self.lingering = Lingering(tree, clock)
        self.requests: dict[str, Request] = {}  # alive, oldest first
        self.states: SequenceStates | None = None  # of a model with recurrent layers
        if num_states:
            tree.states = NodeStates(num_states)
            self.states = SequenceStates(tree, tree.states, turn_ends)
        live = self._live = self._make_live()
        self.running, self.suspended = live.running, live.suspended
        self._admission = Admission(
            tree,
            live,
            self.waiting,
            backlog=self.backlog,
            matches=found,
            lingering=self.lingering,
            stats=self.stats,
            clock=clock,
            max_step_rows=max_step_rows,
            max_running=max_running,
        )
        self.misses = self._admission.misses
        self.steps = BatchBuilder(
            tree,
            self.waiting,
            max_step_rows=max_step_rows,
            max_running=max_running,
            folding=folding,
            states=self.states,
        )
        # No prompt pass runs in a step with drafts, so these may take its logits rows.
        max_rows = max_running + MIN_PROMPT_LOGITS
        self.drafting = Drafting(tree, self.stats, limit=max_draft_tokens, max_rows=max_rows)
        self._clock = clock
        self._began_s = 0.0  # the present step
        self._num_new: Counter[str] = Counter()  # sampled and forced tokens of it, by tenant

    def _make_live(self) -> LiveSequences:
        return LiveSequences(self.tree, self.waiting, self.lingering, self.stats, self.states)

    # -- requests -------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """True if any sequence waits or runs."""
        return bool(self.requests)

    @property
    def num_waiting(self) -> int:
        """Number of waiting requests and suspended sequences."""
        return len(self.waiting) + len(self.suspended)

    @property
    def num_free_places(self) -> int:
        """Sequences that could still be admitted; 0 if slots are short."""
        return self._admission.num_free_places

    def count_uncached(self, request: Request) -> int:
        """Count the prompt tokens of a live request that are still to be computed."""
        if any(seq.state is SequenceState.RUNNING for seq in request.sequences):
            return min(each.count_pending_rows() for each in request.sequences if each.cursor)
        return self._matches.count_uncached(request)

    def age_s(self, request: Request) -> float:
        """Return the seconds since a request's arrival."""
        return self._clock() - request.arrived_s

    def __contains__(self, request_id: str) -> bool:
        return request_id in self.requests

    def add(self, request: Request) -> None:
        """Queue a request that has been validated."""
        self.stats.num_requests += 1
        request.arrival = self.stats.num_requests
        request.arrived_at = self.tree.clock
        request.arrived_s = self._clock()
        self.waiting.add(request)  # first: if the policy raises, the request is not known yet
        self.backlog.add(request)
        self.requests[request.request_id] = request

    def abort(self, request_id: str, index: int | None = None) -> list[TokenDelta]:
        """End a request, or one sequence in it, in any state; ignore an unknown id."""
        request = self.requests.get(request_id)
        if request is None:
            return []
        sequences = request.sequences if index is None else request.sequences[index : index + 1]
        return self._end_live(sequences, "abort")

    def fail(self, sequence: Sequence, error: Exception) -> TokenDelta:
        """End one sequence because of an error in it."""
        if isinstance(sequence, PromptPass):
            sequence = sequence.request.sequences[0]  # it would report the result of the pass
        return self._end(sequence, "error", error=error)

    def displace(self, requests: SequenceOf[Request]) -> list[TokenDelta]:
        """End waiting requests that yield their room in a full queue to another tenant."""
        deltas: list[TokenDelta] = []
        for request in requests:
            deltas += self._end_live(request.sequences, "error", self.backlog.make_displacement())
        return deltas

    def forget_past(self) -> None:
        """Unpin ended turns, and forget their answers, before the cache is flushed."""
        self.lingering.release_all()
        self.drafting.forget_past()

    def end_overdue(self) -> list[TokenDelta]:
        """End requests beyond their queue timeout, and answers whose late grammar has ended."""
        deltas: list[TokenDelta] = []
        for sequence in list(self.suspended):
            if (reason := sequence.late_end) is not None:
                deltas += self._end_live([sequence], reason)
        for request in self.backlog.take_overdue(self._clock()):
            self.stats.num_queue_timeouts += 1
            error = self.backlog.make_timeout(request)
            deltas += self._end_live(request.sequences, "error", error)
        return deltas

    # -- a step ---------------------------------------------------------------------------------

    def schedule(self) -> ScheduledStep | None:
        """Admit requests, then choose a step's rows; None without running sequences."""
        self._began_s = self._clock()
        self.lingering.begin_step(yields=any(seq.is_ready for seq in self.suspended))
        self._admission.run()
        while not self.running and self.lingering.release_oldest():
            self._admission.run()
        if not self.running:
            return None
        drafts = () if self.steps.is_isolating else self.drafting.begin(self.running)
        return self.steps.next(self.running, drafts)

    def update(
        self, step: ScheduledStep, sampled: SequenceOf[SampledToken | YaieError]
    ) -> list[TokenDelta]:
        """Apply a step's results, in task order; an error ends its sequence, a late mask waits."""
        outcomes = self.drafting.settle(step, sampled)
        step.apply_to(self.tree, self.stats)
        deltas: list[TokenDelta] = []
        # Ends come first. They make room for growth, and a failed sequence must still have its
        # cursor, which growth could take, for its tokens to be dropped.
        for each in outcomes:
            if each.error is not None and not isinstance(each.error, MaskPending):
                deltas.append(self.fail(each.sequence, each.error))
        for logits in step.prompt_logits:
            if not logits.sequence.request.num_missing_prompt_logprobs:
                self._end_prompt_pass(logits.sequence.request, self.tree.close)
        for states in step.prompt_states:
            if not states.sequence.num_missing_outputs:
                states.sequence.begin_output(self._clock(), self.stats)
                deltas.append(self._end(states.sequence, "stop"))
        for each in outcomes:
            try:
                if each.sampled:
                    deltas.append(self._accept(each))
            except Exception as error:
                deltas.append(self.fail(each.sequence, error))
            if each.sequence.cursor is not None and not each.sequence.is_ready:
                self._live.hold(each.sequence)
        for tenant, num_tokens in self._num_new.items():
            self.stats.output_tokens += num_tokens
            self.waiting.charge(tenant, num_tokens)
        self._num_new.clear()
        seconds = self._clock() - self._began_s
        self.backlog.rate.observe(self.stats, seconds)
        self.drafting.note_time(step, seconds)
        return deltas

    def _accept(self, outcome: Outcome) -> TokenDelta:
        """Take sampled tokens, and the tokens that a grammar forces after the last one.

        A token ends the sequence, or the sequence grows by all; they get rows in one step.
        """
        sequence, taken = outcome.sequence, 0
        first = not sequence.output
        if first:
            sequence.begin_output(self._clock(), self.stats)
        forced: list[int] = []
        finish: End | None = None
        while finish is None and taken < len(outcome.sampled):
            forced, finish = sequence.take(outcome.sampled[taken].token_id)
            taken += 1
        sampled = outcome.sampled[:taken]
        self._num_new[sequence.request.tenant] += taken + len(forced)
        self.stats.forced_tokens += len(forced)
        drafted = outcome.num_held, outcome.num_drafted - outcome.num_held
        if finish is not None:
            reason, stop_token_id = finish
            return self._end(
                sequence,
                reason,
                sampled,
                forced,
                stop_token_id=stop_token_id,
                first=first,
                drafted=drafted,
            )
        grown = [*(each.token_id for each in sampled[outcome.num_held :]), *forced]
        for token_id in grown[:-1] if sequence.is_full else grown:  # nothing follows the last one
            self._live.grow(sequence, token_id)
        return make_delta(sequence, sampled, forced, first=first, drafted=drafted)

    # -- ends -----------------------------------------------------------------------------------

    def _end_live(
        self, sequences: SequenceOf[Sequence], reason: FinishReason, error: Exception | None = None
    ) -> list[TokenDelta]:
        live = [seq for seq in sequences if seq.state is not SequenceState.FINISHED]
        return [self._end(sequence, reason, error=error) for sequence in live]

    def _end(
        self,
        sequence: Sequence,
        reason: FinishReason,
        sampled: SequenceOf[SampledToken] = (),
        forced: SequenceOf[int] = (),
        *,
        stop_token_id: int | None = None,
        error: Exception | None = None,
        first: bool = False,
        drafted: tuple[int, int] = (0, 0),
    ) -> TokenDelta:
        """End a sequence for any reason: drop its refs and report."""
        request = sequence.request
        was_queued = sequence.state is SequenceState.WAITING and request.prompt_pass is None
        # Non-finite logits may come from invalid KV anywhere on the path. Drop every token that
        # no other sequence needs: to recompute a good prefix costs less than to fail once more.
        close = partial(self.tree.close, keep=not isinstance(error, LogitsNotFinite))
        if self.states is not None and isinstance(error, LogitsNotFinite):
            self.states.drop(sequence)
        may_go_on = reason == "stop" and bool(sequence.output)
        self._live.finish(sequence, self.lingering.hold if may_go_on else close)
        if sequence.index == 0 and request.prompt_pass is not None:
            self._end_prompt_pass(request, close)
        if request.is_finished:
            del self.requests[request.request_id]
            if was_queued:
                self._admission.leave_queue(request, self.waiting.withdraw)
            # Break the cycle, which only a full garbage collection would free.
            request.sequences = []
        if not self.requests:
            self.lingering.release_all()
        self.stats.count_end(reason)
        self.backlog.waits.serve(request.tenant, len(sequence.output))
        return make_delta(
            sequence,
            sampled,
            forced,
            reason,
            now=self._clock(),
            stop_token_id=stop_token_id,
            error=error,
            first=first,
            drafted=drafted,
        )

    def _end_prompt_pass(self, request: Request, close: Close) -> None:
        """End a request's prompt pass; its live sequences get cursors next."""
        assert request.prompt_pass is not None
        self._live.finish(request.prompt_pass, close)
        request.prompt_pass = None
        for sequence in request.sequences:
            if sequence.state is SequenceState.WAITING:
                self._live.suspend(sequence)
