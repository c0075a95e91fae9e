"""Decides what each step computes, and carries its result into the tree. No torch, no clock.

Called by `EngineCore` in the order `add`, `schedule`, (execute), `update`. There is no prefill or
decode phase: every live sequence has known tokens, some of which are not computed yet, and draws
its next token in the step that computes the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence as List

from yaie.attention.plan import FoldingCost, RowSelection, plan_step
from yaie.engine.lookups import (
    own_tokens,
    pending_rows,
    place,
    prompt_logits,
    wants_prompt_logits,
)
from yaie.engine.policy import AdmissionPolicy, make_policy
from yaie.engine.request import Request, Sequence, SequenceState
from yaie.engine.scores import Demand, ScoreSelection, leader
from yaie.engine.step import (
    SampledToken,
    SampleTask,
    ScheduledStep,
    SchedulerCounters,
)
from yaie.errors import LogitsNotFinite, YaieError, request_error
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots
from yaie.types import FinishReason, TokenDelta

# Admission leaves room for each live sequence to grow by this many tokens, so that a request is
# not let in only to preempt the others a few steps later.
_GROWTH_RESERVE = 32


class Scheduler:
    """Owns the waiting, running and preempted sequences; the only caller of the tree."""

    def __init__(
        self,
        tree: RadixTree,
        *,
        policy: str = "prefix-aware",
        max_step_rows: int = 2048,
        max_running: int = 256,
        folding: FoldingCost | None = None,
    ) -> None:
        self.tree = tree
        self.max_step_rows = max_step_rows
        self.max_running = max_running
        self.counters = SchedulerCounters()
        self.waiting: AdmissionPolicy = make_policy(policy, self._uncached_tokens, max_step_rows)
        self.running: list[Sequence] = []  # in order of admission
        self.preempted: list[Sequence] = []
        self.num_waiting_sequences = 0  # of requests that wait for admission
        self.lacks_slots = False  # whether the last admission left somebody out for want of them
        self._requests: dict[str, Request] = {}
        self._folding = folding

    # -- requests come and go -------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether any sequence waits or runs."""
        return bool(self._requests)

    @property
    def num_waiting(self) -> int:
        """Requests that wait for admission, and preempted sequences."""
        return len(self.waiting) + len(self.preempted)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._requests

    def add(self, request: Request) -> None:
        """A request arrives; it has been validated."""
        self.counters.num_requests += 1
        request.arrival = self.counters.num_requests
        request.arrived_at = self.tree.clock
        self.waiting.add(request)  # first: if the policy raises, nobody has heard of the request
        self.num_waiting_sequences += len(request.sequences)
        self._requests[request.request_id] = request

    def abort(self, request_id: str, index: int | None = None) -> list[TokenDelta]:
        """End a request, or one of its sequences, at any moment. Unknown ids are no error."""
        request = self._requests.get(request_id)
        if request is None:
            return []
        sequences = request.sequences if index is None else request.sequences[index : index + 1]
        return [
            self._end(sequence, "abort")
            for sequence in sequences
            if sequence.state is not SequenceState.FINISHED
        ]

    def fail(self, sequence: Sequence, error: Exception) -> TokenDelta:
        """End one sequence because of an error that is its own."""
        return self._end(sequence, "error", error=error)

    # -- a step ---------------------------------------------------------------------------------

    def schedule(self) -> ScheduledStep | None:
        """Admit what fits, then choose the rows of a step; None if there is nothing to compute."""
        self._admit()
        if not self.running:
            return None
        selection = RowSelection(self.max_step_rows)
        ready: list[Sequence] = []
        members: list[Sequence] = []
        scores = ScoreSelection(self.running, self.max_running)
        unscored: set[Request] = set()  # still want logits of their prompts after this step
        num_prompt_rows = 0
        for sequence in self._in_order_of_rows():
            if sequence.request in unscored and not sequence.is_decoding:
                continue  # it gets what sequence 0 computes, and needs no rows of its own
            rows, complete = self._select(selection, sequence, scores)
            if rows or complete:
                members.append(sequence)
            if complete:
                ready.append(sequence)
            elif wants_prompt_logits(sequence):
                unscored.add(sequence.request)
            if not sequence.is_decoding:
                num_prompt_rows += rows
                sequence.request.num_paid_rows += rows
        planned = plan_step(selection, self._folding)
        index = planned.logit_index
        ready.sort(key=lambda seq: seq.order)
        return ScheduledStep(
            plan=planned.plan,
            sample_tasks=tuple(SampleTask(seq, index[place(seq)]) for seq in ready),
            prompt_logits=tuple(prompt_logits(self.tree, index, *want) for want in scores.wanted),
            selection=selection,
            members=tuple(members),
            num_prompt_rows=num_prompt_rows,
        )

    def update(
        self, step: ScheduledStep, sampled: List[SampledToken | YaieError]
    ) -> list[TokenDelta]:
        """Apply a computed step: mark, grow, end. `sampled` is in order of the sample tasks.

        An error in place of a token, or raised while a sequence grows, ends that sequence only.
        """
        self._account(step)
        deltas = []
        results = [
            (task.sequence, each) for task, each in zip(step.sample_tasks, sampled, strict=True)
        ]
        # Those that end go first: they make room for others to grow, and none of them must have
        # lost its cursor to a growing one when what it computed is to be dropped.
        for sequence, result in results:
            if isinstance(result, YaieError):
                deltas.append(self.fail(sequence, result))
        for sequence, result in results:
            if isinstance(result, YaieError):
                continue
            try:
                deltas.append(self._accept(sequence, result))
            except Exception as error:
                deltas.append(self.fail(sequence, error))
        return deltas

    # -- inside: a step -------------------------------------------------------------------------

    def _in_order_of_rows(self) -> list[Sequence]:
        """Those that need one row go first: they draw now, and somebody reads along.

        Then by standing, so that the first gets on however many rows the others want.
        """
        return sorted(
            self.running, key=lambda seq: (pending_rows(leader(seq)) > 1, self.standing(seq))
        )

    def _select(
        self, selection: RowSelection, sequence: Sequence, scores: ScoreSelection
    ) -> tuple[int, bool]:
        """Choose rows of a sequence: how many are new, and whether it draws."""
        assert sequence.cursor is not None
        before, complete = selection.num_rows, False
        is_scored = not wants_prompt_logits(sequence) or scores.add(
            selection, sequence, self.tree.path(sequence.cursor)
        )
        if is_scored:
            _, complete = selection.add(sequence.cursor)
        return selection.num_rows - before, complete

    def _account(self, step: ScheduledStep) -> None:
        self.tree.advance(step.plan.num_rows)
        for node, entry in step.selection.entries.items():
            self.tree.mark_computed(node, entry.computed_to)
        counters = self.counters
        counters.num_steps += 1
        counters.rows_computed += step.plan.num_rows
        counters.prompt_rows_computed += step.num_prompt_rows
        counters.kv_tokens_read += step.plan.kv_tokens_read
        counters.kv_tokens_unshared += step.plan.kv_tokens_unshared

    def _accept(self, sequence: Sequence, sampled: SampledToken) -> TokenDelta:
        """A token was drawn: it ends the sequence, or the sequence grows by it."""
        request = sequence.request
        if request.num_cached is None:
            request.num_cached = max(0, len(request.prompt) - request.num_paid_rows)
            self.counters.prompt_tokens += len(request.prompt)
            self.counters.cached_tokens += request.num_cached
        first = not sequence.output
        sequence.output.append(sampled.token_id)
        sequence.sampling.observe(sampled.token_id)
        self.counters.output_tokens += 1
        finish = sequence.sampling.finish_reason(sampled.token_id)
        if finish is None and sequence.num_remaining <= 0:
            finish = ("length", None)
        if finish is not None:
            return self._end(sequence, finish[0], sampled, stop_token_id=finish[1], first=first)
        if sequence.state is SequenceState.RUNNING:
            self._grow(sequence, sampled.token_id)
        return self._delta(sequence, sampled, first=first)

    def _grow(self, sequence: Sequence, token_id: int) -> None:
        """The drawn token takes its place in the tree, at another's cost if need be."""
        assert sequence.cursor is not None
        while True:
            try:
                self.tree.append(sequence.cursor, token_id)
            except OutOfSlots:
                victim = self._victim(sequence)
                self._preempt(victim)
                if victim is sequence:
                    return
            else:
                return

    def _end(
        self,
        sequence: Sequence,
        reason: FinishReason,
        sampled: SampledToken | None = None,
        *,
        stop_token_id: int | None = None,
        error: Exception | None = None,
        first: bool = False,
    ) -> TokenDelta:
        """The one way in which sequences end: drop the refs, report."""
        request = sequence.request
        if sequence.state is SequenceState.RUNNING:
            # What led to logits that are no numbers would do the same to whoever comes next. All
            # goes that nobody else needs: which part is at fault, and who computed it, cannot be
            # told, and to compute a sound prefix once more costs less than to fail once more.
            self._leave_tree(sequence, keep=not isinstance(error, LogitsNotFinite))
        elif sequence.state is SequenceState.PREEMPTED:
            self.preempted.remove(sequence)
        was_waiting = sequence.state is SequenceState.WAITING
        sequence.state = SequenceState.FINISHED
        if request.is_finished:
            del self._requests[request.request_id]
            if was_waiting:
                self._leave_line(request)
            # Else the two would keep each other until a full garbage collection. A new list,
            # since `abort` goes through the old one.
            request.sequences = []
        if reason == "abort":
            self.counters.num_aborted += 1
        elif reason == "error":
            self.counters.num_failed += 1
        else:
            self.counters.num_finished += 1
        return self._delta(
            sequence, sampled, reason, stop_token_id=stop_token_id, error=error, first=first
        )

    def _leave_line(self, request: Request) -> None:
        self.waiting.remove(request)
        self.num_waiting_sequences -= len(request.sequences)

    def _leave_tree(self, sequence: Sequence, *, keep: bool = True) -> None:
        assert sequence.cursor is not None
        self.tree.close(sequence.cursor, keep=keep)
        sequence.cursor = None
        self.running.remove(sequence)

    def _delta(
        self,
        sequence: Sequence,
        sampled: SampledToken | None,
        reason: FinishReason | None = None,
        *,
        stop_token_id: int | None = None,
        error: Exception | None = None,
        first: bool = False,
    ) -> TokenDelta:
        request = sequence.request
        logprobs = sampled.logprobs if sampled else None
        prompt_logprobs = request.prompt_logprobs if first and sequence.index == 0 else None
        return TokenDelta(
            request_id=request.request_id,
            submission=request.submission,
            index=sequence.index,
            token_ids=(sampled.token_id,) if sampled else (),
            logprobs=(logprobs,) if logprobs else (),
            finish_reason=reason,
            stop_token_id=stop_token_id,
            error=request_error(error) if error else None,
            num_cached_tokens=request.num_cached or 0,
            prompt_logprobs=(None, *prompt_logprobs) if prompt_logprobs is not None else None,
        )

    # -- inside: admission and preemption -------------------------------------------------------

    def _uncached_tokens(self, request: Request) -> int:
        if request.prompt_logprobs is not None:
            return len(request.prompt)  # all of it gets rows, held or not
        match = self.tree.match(request.namespace, request.prompt)
        return len(request.prompt) - match.num_computed

    def standing(self, sequence: Sequence) -> tuple[int, int, int]:
        """Who goes before whom once admitted: by the policy's rank, then by age."""
        return (self.waiting.rank(sequence.request), *sequence.order)

    def _admit(self) -> None:
        """Give cursors to preempted sequences and to waiting requests, while they fit.

        The preempted go first, except before a request that outranks them.
        """
        self.lacks_slots = False
        if not self.preempted and not len(self.waiting):
            return
        demand = Demand(self.running)
        while True:
            sequence = min(self.preempted, key=self.standing, default=None)
            if sequence is not None and not self.waiting.outranks(sequence.request):
                if not self._resume(sequence):
                    self.lacks_slots = True
                    return
                demand.add(sequence)
                continue
            if not len(self.waiting) or demand.fills(self.max_step_rows, self.max_running):
                return
            request = self.waiting.next(self.tree.clock)
            if request is None:
                return
            live = [seq for seq in request.sequences if seq.state is SequenceState.WAITING]
            if self.running and len(self.running) + len(live) > self.max_running:
                return
            if not self._fits(request, request.prompt, live):
                self.lacks_slots = True
                return
            self._begin(request, live, demand)

    def _resume(self, sequence: Sequence) -> bool:
        """Give a preempted sequence a cursor, if there is room."""
        if len(self.running) >= self.max_running:
            return False
        if not self._fits(sequence.request, sequence.tokens(), [sequence]):
            return False
        if not self._enter(sequence):
            return False
        self.preempted.remove(sequence)
        return True

    def _begin(self, request: Request, sequences: list[Sequence], demand: Demand) -> None:
        """Admit a request whole, and add what it needs to the rows of the coming steps."""
        known = self.tree.match(request.namespace, request.prompt).num_known
        self._leave_line(request)
        for sequence in sequences:
            if not self._enter(sequence):
                sequence.state = SequenceState.PREEMPTED
                self.preempted.append(sequence)
        running = [seq for seq in sequences if seq.state is SequenceState.RUNNING]
        if request.prompt_logprobs is not None:
            for sequence in running:
                demand.add(sequence)
        else:
            demand.add_rows(len(request.prompt) - known + 1, len(running))

    def _enter(self, sequence: Sequence) -> bool:
        try:
            sequence.cursor = self.tree.open(sequence.request.namespace, sequence.tokens())
        except OutOfSlots:
            return False
        sequence.state = SequenceState.RUNNING
        self.running.append(sequence)
        return True

    def _fits(self, request: Request, tokens: object, sequences: list[Sequence]) -> bool:
        """Whether there is room for these tokens and for everybody to grow a little."""
        match = self.tree.match(request.namespace, tokens)  # type: ignore[arg-type]
        needed = len(tokens) - match.num_known  # type: ignore[arg-type]
        missing = needed - (self.tree.num_available - match.count_evictable())
        if self.running:
            growing = [*self.running, *sequences]
            missing += sum(min(_GROWTH_RESERVE, seq.num_remaining) for seq in growing)
        return missing <= 0 or missing <= self.tree.count_trimmable() - match.count_trimmable()

    def _victim(self, growing: Sequence) -> Sequence:
        """Whom to preempt so that a slot comes free: of those who give way first, the cheapest.

        The first by standing is never chosen, so that somebody always gets on; it can use the
        whole pool alone, since no request is longer than that.
        """
        first = min(self.running, key=self.standing)
        able = [seq for seq in self.running if seq is not first]
        rank = max(self.waiting.rank(seq.request) for seq in [growing, *able])
        able = [seq for seq in able if self.waiting.rank(seq.request) == rank]
        costs = [(own_tokens(seq), seq) for seq in able]
        costs = [(cost, seq) for cost, seq in costs if cost]
        if costs:
            return min(costs, key=lambda pair: pair[0])[1]
        others = [seq for seq in able if seq is not growing]
        # Nobody has a token of its own: the others hold theirs in common, and give them back
        # once the last of them is preempted.
        if others and (growing is first or self.waiting.rank(growing.request) < rank):
            return max(others, key=self.standing)
        return growing

    def _preempt(self, sequence: Sequence) -> None:
        """Take a sequence's cursor away. What it computed stays held until somebody needs it."""
        self.counters.num_preemptions += 1
        self._leave_tree(sequence)
        sequence.state = SequenceState.PREEMPTED
        self.preempted.append(sequence)
