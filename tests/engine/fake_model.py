"""A fake model with tokens that depend on the whole prefix, and a test bench around it.

Its "keys and values" are the token and a digest of everything before it, kept by slot. It reads
through the plan's segments only, so a wrong slot, a stale one, a missing key or one too many shows
as an assertion or as another token. No torch; a step costs microseconds.
"""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from tests.attention.plain_plan import assert_same, assert_same_paths
from yaie.attention.plan import FoldingCost, StepPlan
from yaie.base.embedding_info import Pooling
from yaie.base.errors import YaieError
from yaie.base.types import (
    FinishReason,
    GenerationRequest,
    SamplingParams,
    TokenDelta,
    TokenLogprobs,
)
from yaie.engine.live_sequences import LiveSequences
from yaie.engine.queue.policies import ByPriority
from yaie.engine.request import PooledPass, Request, Sequence, SequenceState
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampledToken, SampleTask, ScheduledStep
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import Cursor
from yaie.kvcache.radix_tree import RadixTree

VOCAB_SIZE = 7
STOP_TOKEN = 0


def digest(tokens: Iterable[int], salt: int = 0) -> int:
    """Return a number that depends on every token."""
    data = np.fromiter(tokens, dtype=np.int32).tobytes()
    key = salt.to_bytes(8, "little")
    return int.from_bytes(hashlib.blake2b(data, digest_size=7, key=key).digest(), "little")


def next_token(tokens: Iterable[int], salt: int = 0) -> int:
    """Return the next token; `salt` is the sampling seed, 0 for greedy."""
    return digest(tokens, salt) % VOCAB_SIZE


def continuation(prompt: list[int], count: int, salt: int = 0, *, stops: bool = False) -> list[int]:
    """Return the answer that a request must get under every schedule."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(next_token(tokens, salt))
        if stops and tokens[-1] == STOP_TOKEN:
            break
    return tokens[len(prompt) :]


def make_prompt(seed: int, length: int, shared: int = 0) -> list[int]:
    """Return `length` tokens; the first `shared` are equal in every prompt."""
    common = random.Random(0)
    own = random.Random(seed + 1)
    return [common.randrange(100) for _ in range(shared)] + [
        own.randrange(100) for _ in range(length - shared)
    ]


class FakeModel:
    """The pool and the forward of the fake model."""

    def __init__(self, num_slots: int) -> None:
        self.tokens = np.full(num_slots, -1, dtype=np.int64)
        self.digests: list[int | None] = [None] * num_slots

    def execute(self, plan: StepPlan) -> list[list[int]]:
        """Return the prefix of each logit row, as read through the segments."""
        return self.compute(plan)[0]

    def compute(self, plan: StepPlan) -> tuple[list[list[int]], list[list[int]]]:
        """Return the prefixes of the logit rows and of the hidden rows."""
        # All rows write before any attends, as in a layer.
        written = plan.written_rows
        self.tokens[plan.slots[written]] = plan.token_ids[written]
        prefixes = [self._read(plan, row) for row in range(plan.num_rows)]
        for row in written.tolist():
            self.digests[plan.slots[row]] = digest(prefixes[row])
        for row, prefix in enumerate(prefixes):
            slot = int(plan.slots[row])
            assert self.digests[slot] == digest(prefix), "the slot has another prefix"
            if len(prefix) > 1:
                above = self._slot_before(plan, row)
                assert self.digests[above] == digest(prefix[:-1]), "computed over a wrong prefix"
        logits, hidden = plan.logit_rows.tolist(), plan.hidden_rows.tolist()
        return [prefixes[row] for row in logits], [prefixes[row] for row in hidden]

    def _read(self, plan: StepPlan, row: int) -> list[int]:
        slots = _path(plan, row)
        tokens: list[int] = self.tokens[slots].tolist()
        assert tokens[-1] == plan.token_ids[row]
        return tokens

    @staticmethod
    def _slot_before(plan: StepPlan, row: int) -> int:
        return int(_path(plan, row)[-2])


def _path(plan: StepPlan, row: int) -> np.ndarray:
    """Return the slots of positions 0 to the row's own, each from exactly one segment."""
    last = int(plan.positions[row])
    slots = np.full(last + 1, -1, dtype=np.int64)
    for segment in plan.segments:
        if segment.first_row <= row < segment.end_row and segment.first_position <= last:
            end = min(segment.first_position + len(segment.slots), last + 1)
            window = slots[segment.first_position : end]
            assert (window == -1).all(), "a key is read twice"
            window[:] = segment.slots[: end - segment.first_position]
    assert (slots >= 0).all(), "a key is missing"
    return slots


class FakeSampling(SamplingState):
    """A sampling state with a salt; with `stops` the stop token ends the sequence.

    After a token below `forces`, the next one is forced as by a grammar: the one that the model
    would sample after `prompt` and the output.
    """

    def __init__(
        self, salt: int = 0, *, stops: bool = False, prompt: Iterable[int] = (), forces: int = 0
    ) -> None:
        super().__init__(
            SamplingParams(),
            index=0,
            prompt_token_ids=(),
            eos_token_ids=(STOP_TOKEN,) if stops else (),
            vocab_size=2**31,
            fallback_seed=0,
        )
        self.salt = salt
        self.stops = stops
        self.observed: list[int] = []
        self.prompt = list(prompt)
        self.forces = forces
        self.fails_at: int | None = None  # raise when this many tokens were taken

    def observe(self, token_id: int) -> None:
        super().observe(token_id)
        self.observed.append(token_id)
        if self.fails_at == len(self.observed):
            raise ZeroDivisionError("a fault of this sequence")

    def ahead(self, token_id: int) -> FakeSampling:
        state = copy.copy(self)
        state.observed = [*self.observed]
        state.observe(token_id)
        return state

    def find_forced(self) -> list[int]:
        if not self.observed or self.observed[-1] >= self.forces:
            return []
        return [next_token([*self.prompt, *self.observed], self.salt)]


@dataclass
class Answer:
    """The answer of one sequence so far."""

    request: Request
    tokens: list[int] = field(default_factory=list)
    last: TokenDelta | None = None
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None


class WatchedSequences(LiveSequences):
    """Live sequences of a watched scheduler: it checks whom they preempt and start."""

    scheduler: WatchedScheduler

    def preempt(self, sequence: Sequence) -> None:
        number = self.scheduler.number
        numbers = [number(other) for other in self.running]
        assert number(sequence) == max(numbers), "preempted before a less urgent one"
        super().preempt(sequence)

    def start(self, sequence: Sequence, cursor: Cursor) -> None:
        self.scheduler.check_start(sequence)
        super().start(sequence, cursor)


class WatchedScheduler(Scheduler):
    """A scheduler that compares every choice of a sequence with all alternatives.

    Only `priority` may prefer one request of a tenant to another here; the order of waiting
    requests is tested with the policies, that of tenants with their shares.
    """

    _num_fresh_rows = 0  # of the last step made from scratch

    def number(self, sequence: Sequence) -> int:
        """Return the priority number, aged if it ages; the lower goes first."""
        return self.waiting.rank(sequence.request) if isinstance(self.waiting, ByPriority) else 0

    def first(self) -> Sequence | None:
        """Return the running sequence that must progress."""
        return min(self.running, key=lambda seq: (self.number(seq), seq.order), default=None)

    def schedule(self) -> ScheduledStep | None:
        step = super().schedule()
        if step is not None:
            self._compare_with_a_fresh_one(step)
        return step

    def _compare_with_a_fresh_one(self, step: ScheduledStep) -> None:
        """Require that a step made of the last one equals one made from scratch."""
        fresh = self.steps.make(self.running, self.drafting.live)
        if not step.is_extended:
            self._num_fresh_rows = step.plan.num_rows
        if step.plan.num_rows == self._num_fresh_rows:
            assert_same(step.plan, fresh.plan)
        else:  # rows were dropped
            assert_same_paths(step.plan, fresh.plan)
        assert _sampled_slots(step) == _sampled_slots(fresh)
        assert step.prompt_logits == fresh.prompt_logits
        assert step.prompt_states == fresh.prompt_states
        assert dict(step.computed) == dict(fresh.computed)
        assert set(step.members) == set(fresh.members)
        assert step.paid == fresh.paid

    def _make_live(self) -> LiveSequences:
        live = WatchedSequences(self.tree, self.waiting, self.lingering, self.stats, self.states)
        live.scheduler = self
        return live

    def check_start(self, sequence: Sequence) -> None:
        """Require that no sequence outside goes before this one."""
        waiting = [
            other
            for request in self.requests.values()
            for other in request.sequences
            if other.state is SequenceState.WAITING and request.prompt_pass in (None, sequence)
        ]
        outside = [
            self._place_outside(other)
            for other in (*waiting, *self.suspended)
            if other.request.tenant == sequence.request.tenant
        ]
        assert self._place_outside(sequence) == min(outside), "resumed before a more urgent one"

    def _place_outside(self, sequence: Sequence) -> tuple[int, bool, tuple[int, ...]]:
        waits = sequence.state is SequenceState.WAITING
        return (self.number(sequence), waits, () if waits else sequence.order)


def _sampled_slots(step: ScheduledStep) -> list[tuple[Sequence, int]]:
    """Return the sequences that sample, and the slots of the rows that they sample from."""
    slots = step.plan.slots[step.plan.logit_rows].tolist()
    return [(task.sequence, slots[task.logit_row]) for task in step.sample_tasks]


class Bench:
    """A scheduler over a fake model; every invariant is checked after every step."""

    def __init__(
        self,
        *,
        num_slots: int = 400,
        policy: str = "prefix-aware",
        eviction: str = "lru",
        max_step_rows: int = 64,
        max_running: int = 16,
        segment_overhead: int = 32,
        queue_timeout_s: float = 0.0,
        weights: dict[str, float] | None = None,
        aging: int = 0,
        max_draft_tokens: int = 0,
    ) -> None:
        self.now = 0.0  # seconds
        self.tree = RadixTree(num_slots, make_eviction_policy(eviction, num_slots))
        self.model = FakeModel(num_slots)
        self.scheduler = WatchedScheduler(
            self.tree,
            policy=policy,
            max_step_rows=max_step_rows,
            max_running=max_running,
            clock=lambda: self.now,
            weights=weights,
            aging=aging,
            queue_timeout_s=queue_timeout_s,
            folding=FoldingCost(segment_overhead),
            max_draft_tokens=max_draft_tokens,
        )
        self.answers: dict[tuple[str, int], Answer] = {}
        self.requests: dict[str, Request] = {}
        self.sequences: dict[str, list[Sequence]] = {}  # also of finished requests
        self.faults: dict[tuple[str, int], int] = {}  # sampling fails at that output length
        self.on_step: list[Callable[[ScheduledStep], None]] = []

    def add(
        self,
        request_id: str,
        prompt: list[int],
        *,
        max_new: int = 4,
        n: int = 1,
        salts: list[int] | None = None,
        stops: bool = False,
        priority: int = 0,
        queue_timeout_s: float | None = None,
        namespace: str = "",
        tenant: str = "",
        prompt_logprobs: int | None = None,
        forces: int = 0,
        pooling: Pooling | None = None,
        speculate: bool = True,
    ) -> Request:
        if pooling is not None:
            max_new, prompt_logprobs = 0, None
        spec = GenerationRequest(
            request_id=request_id,
            prompt_token_ids=tuple(prompt),
            sampling=SamplingParams(n=n, max_tokens=max_new or 1, prompt_logprobs=prompt_logprobs),
            priority=priority,
            tenant=tenant,
            queue_timeout_s=queue_timeout_s,
            pooling=pooling,
            speculate=speculate,
        )
        samplings = [
            FakeSampling(salt, stops=stops, prompt=prompt, forces=forces)
            for salt in salts or [0] * n
        ]
        request = Request(spec, namespace=namespace, max_new_tokens=max_new, samplings=[*samplings])
        self.sequences[request_id] = list(request.sequences)
        self.scheduler.add(request)
        self.requests[request_id] = request
        for sequence in request.sequences:
            self.answers[(request_id, sequence.index)] = Answer(request)
        return request

    def abort(self, request_id: str, index: int | None = None) -> None:
        self._take(self.scheduler.abort(request_id, index))
        self.check()

    def step(self) -> ScheduledStep | None:
        """Run one step, if there is work."""
        step = self.scheduler.schedule()
        self._take(self.scheduler.end_overdue())
        first = self.scheduler.first()
        before = _progress(first)
        places = sum(seq.num_places for seq in self.scheduler.running)
        assert places <= self.scheduler.max_running
        if step is None:
            self.check()
            assert not self.scheduler.has_work, "work is waiting but the step is empty"
            return None
        assert 0 < step.plan.num_rows <= self.scheduler.max_step_rows
        prefixes, hidden = self.model.compute(step.plan)
        for states in step.prompt_states:
            rows = [_state_of(hidden[row]) for row in states.hidden_rows]
            states.sequence.take_states(np.array(rows, dtype=np.float32))
        for wanted in step.prompt_logits:
            self._add_prompt_logprobs(wanted.sequence, wanted.first, wanted.logit_rows, prefixes)
        sampled = [self._sample(task, step, prefixes[task.logit_row]) for task in step.sample_tasks]
        self._take(self.scheduler.update(step, sampled))
        self.check()
        for call in self.on_step:
            call(step)
        if first is not None:
            assert first.state is not SequenceState.SUSPENDED, "the first was preempted"
        if first is not None and self.scheduler.max_step_rows >= self.scheduler.max_running:
            assert _progress(first) > before, "the first did not progress"
        return step

    def run(self, max_steps: int = 20_000) -> None:
        for _ in range(max_steps):
            if self.step() is None:
                return
        raise AssertionError(f"work was left after {max_steps} steps")

    def check(self) -> None:
        self.tree.check()
        scheduler = self.scheduler
        assert len(scheduler.running) <= scheduler.max_running
        for sequence in scheduler.running:
            assert sequence.state is SequenceState.RUNNING
            assert sequence.cursor is not None
            assert self.tree.tokens(sequence.cursor).tolist() == sequence.tokens().tolist()
        for sequence in scheduler.suspended:
            assert sequence.state is SequenceState.SUSPENDED
            assert sequence.cursor is None
        cursors = sum(len(node.cursors or ()) for node in self.tree.nodes())
        assert cursors == len(scheduler.running) + len(scheduler.lingering)
        if not scheduler.has_work:
            assert self.tree.num_live == 0

    def expect(self, request_id: str, reason: FinishReason | None = None) -> None:
        """Require that all sequences of the request ended with the right tokens."""
        for sequence in self.sequences[request_id]:
            answer = self.answers[(request_id, sequence.index)]
            assert answer.last is not None, f"{request_id} did not end"
            if reason is not None:
                assert answer.last.finish_reason == reason
            wanted = expected(sequence)
            if answer.last.finish_reason in ("abort", "error"):
                wanted = wanted[: len(answer.tokens)]
            assert answer.tokens == wanted

    def expect_all(self) -> None:
        for request_id in self.requests:
            self.expect(request_id)

    def _sample(
        self, task: SampleTask, step: ScheduledStep, prefix: list[int]
    ) -> SampledToken | YaieError:
        sequence, state = task.sequence, task.state
        drafted = step.drafts.get(sequence, ())[: task.num_ahead]
        assert prefix == [*sequence.tokens().tolist(), *drafted]
        assert isinstance(state, FakeSampling)
        assert state.num_output == len(state.observed) == len(sequence.output) + task.num_ahead
        place = (sequence.request.request_id, sequence.index)
        if self.faults.get(place) == state.num_output:
            return YaieError("no usable logits")
        return SampledToken(next_token(prefix, state.salt))

    @staticmethod
    def _add_prompt_logprobs(
        sequence: Sequence, first: int, logit_rows: tuple[int, ...], prefixes: list[list[int]]
    ) -> None:
        request = sequence.request
        assert request.prompt_logprobs is not None
        assert len(request.prompt_logprobs) == first
        for offset, row in enumerate(logit_rows):
            prefix = prefixes[row]
            assert prefix == request.prompt[: first + offset + 1].tolist()
            follows = int(request.prompt[first + offset + 1])
            logprob = -float(digest(prefix) % 1000)
            request.prompt_logprobs.append(TokenLogprobs(token_id=follows, logprob=logprob, rank=1))

    def _take(self, deltas: list[TokenDelta]) -> None:
        for delta in deltas:
            answer = self.answers[(delta.request_id, delta.index)]
            assert answer.last is None, "a delta after the end"
            answer.tokens += delta.token_ids
            if delta.prompt_logprobs is not None:
                answer.prompt_logprobs = delta.prompt_logprobs
            if delta.finish_reason is not None:
                answer.last = delta


def _state_of(prefix: list[int]) -> list[float]:
    """Return a hidden row that depends on the whole prefix."""
    return [float(digest(prefix, salt) % 1000) for salt in (1, 2, 3)]


def prompt_of_pooled(request: Request) -> list[float]:
    """Return the row that a request with pooling must get under every schedule."""
    tokens = request.prompt.tolist()
    first = 0 if request.pooling == "mean" else len(tokens) - 1
    rows = [_state_of(tokens[: end + 1]) for end in range(first, len(tokens))]
    return np.mean(rows, axis=0).tolist()


def expected(sequence: Sequence) -> list[int]:
    sampling = sequence.sampling
    assert isinstance(sampling, FakeSampling)
    return continuation(
        sequence.request.prompt.tolist(),
        sequence.request.max_new_tokens,
        sampling.salt,
        stops=sampling.stops,
    )


def _progress(sequence: Sequence | None) -> tuple[int, int, int]:
    """Return a value that grows whenever a step serves the sequence."""
    if sequence is None:
        return (0, 0, 0)
    computed, end = 0, sequence.cursor.offset if sequence.cursor else 0
    node = sequence.cursor.node if sequence.cursor else None
    while node is not None:
        computed += min(node.num_computed, end)
        node = node.parent
        end = len(node.tokens) if node else 0
    prompt_logprobs = len(sequence.request.prompt_logprobs or ())
    if isinstance(sequence, PooledPass):
        prompt_logprobs = sequence.next_output
    ended = sequence.state is SequenceState.FINISHED
    return (ended, len(sequence.output), computed + prompt_logprobs)
