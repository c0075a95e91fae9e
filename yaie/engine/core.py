"""The engine core: a plain synchronous object that takes requests and is stepped.

`step` is schedule, execute, sample, update. Called from one thread, by the server's engine process
or by a client in this process. It knows token ids only, never text.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import random
import secrets
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from yaie.base.cache_changes import CacheChange
from yaie.base.errors import InvariantViolated, Overloaded, RequestFailed, UnknownModel, YaieError
from yaie.base.queries import Answer, Query, TreeView
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import ExpectedPrompt, GenerationRequest, Grammar, TokenDelta
from yaie.device.available_memory import is_out_of_memory, release_unused
from yaie.engine.drafts.draft_support import supported_speculation
from yaie.engine.drafts.learned_costs import LearnedCosts
from yaie.engine.engine_adapters import EngineAdapters, in_use
from yaie.engine.execution.engine_info import describe_engine
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import choose_sampler
from yaie.engine.execution.executor_loading import load_executor
from yaie.engine.execution.hidden_states import hidden_states
from yaie.engine.execution.memory import DeviceMemoryGauge
from yaie.engine.grammar.compiler import GrammarCompiler
from yaie.engine.prefill_ahead import PrefillAhead
from yaie.engine.query_answers import QueryAnswers, observe
from yaie.engine.queue.grammar_queue import GrammarQueue
from yaie.engine.request import Request
from yaie.engine.request_views import RequestViews
from yaie.engine.row_costs import measure_row_costs
from yaie.engine.sampling.logprobs import prompt_logprobs
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import ScheduledStep
from yaie.engine.scheduler import Scheduler
from yaie.engine.scheduler_stats import read_stats
from yaie.engine.validation import validate_request
from yaie.engine.warm_up import warm_up
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.radix_tree import RadixTree
from yaie.models.load.folder import resolve_model_path
from yaie.models.load.recurrent_limits import limit_running
from yaie.models.load.score_head import read_score_head
from yaie.models.native.packed_weights import PackedWeightsWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from yaie.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

_STEPS_BETWEEN_AUDITS = 1000  # and only when idle: an audit walks the whole tree
# At 15 to 30 us a node. Of a larger tree only the counts are checked: the next request would wait.
_MAX_AUDITED_NODES = 5000


class EngineCore:
    """Owner of the tree, the scheduler, the executor and the sampler."""

    def __init__(self, config: EngineConfig, executor: Executor | None = None) -> None:
        """Load the model and allocate the pool, unless an executor already has both.

        Raises `StartupError`.
        """
        self._writer: PackedWeightsWriter | None = None
        if executor is None:
            # The check that needs no weights comes first: a refusal takes no load.
            read_score_head(resolve_model_path(config.source), config.pooling)
            executor, self._writer = load_executor(config)
        self.executor = executor
        loaded = executor.loaded
        self._config = config = replace(
            config,
            max_running=limit_running(config, loaded.num_states),
            speculate=supported_speculation(
                config, loaded.device.type, is_recurrent=bool(loaded.num_states)
            ),
        )
        self._sampler = choose_sampler(executor, max_tasks=config.max_running, exact=config.exact)
        self._memory = DeviceMemoryGauge(loaded.device)
        self._tree = RadixTree(
            loaded.num_slots, make_eviction_policy(config.eviction, loaded.num_slots)
        )
        self.scheduler = Scheduler(
            self._tree,
            clock=time.monotonic,
            policy=config.policy,
            max_step_rows=config.max_step_rows,
            max_running=config.max_running,
            queue_timeout_s=config.queue_timeout_s,
            weights=config.weights,
            aging=config.priority_aging,
            max_draft_tokens=config.max_draft_tokens,
            num_states=loaded.num_states,
            turn_ends=loaded.metadata.eos_token_ids,
        )
        self.adapters = EngineAdapters(
            executor.adapted, lambda: in_use(self.scheduler, self._grammars, self._expected)
        )
        self.adapters.load_all(config.lora)
        if config.speculate == "auto":
            self.scheduler.drafting.learned = LearnedCosts(measure_row_costs(executor))
        self.info = describe_engine(config, executor, self._sampler, self.adapters.infos)
        self._score_head = read_score_head(loaded.path, config.pooling)
        self._expected = PrefillAhead(
            self._tree, executor, self.scheduler.stats, config.max_step_rows
        )
        self._grammars = self._make_grammars(partial(_load_tokenizer, loaded.path))
        self._events = observe(self._tree, config)
        self._queries = QueryAnswers(
            self._tree,
            self.scheduler.forget_past,
            RequestViews(self.scheduler),
            self.adapters,
        )
        self._pending: list[TokenDelta] = []  # reported by the next step
        self._isolated = itertools.count()
        self._seeds = secrets.SystemRandom() if config.seed is None else random.Random(config.seed)
        self._audited_at = 0

    def warm_up(self) -> None:
        """See `Core.warm_up`."""
        self._sampler.prepare()
        patient = replace(
            self._config, queue_timeout_s=0.0, max_waiting_tokens=0, lora="", speculate="off"
        )
        self.info = replace(self.info, warm_up_s=warm_up(EngineCore(patient, self.executor)))

    # -- requests -------------------------------------------------------------------------------

    def add(self, request: GenerationRequest) -> None:
        """Queue a request.

        Raises `InvalidRequest` or `Overloaded` for a request that cannot be run, `RequestFailed`
        if a request of the same id is still alive.
        """
        if request.request_id in self.scheduler or request.request_id in self._grammars:
            raise RequestFailed(f"a request with the id {request.request_id!r} is still running")
        try:
            displaced = self._make_room(request.tenant, len(request.prompt_token_ids))
            made = self._make_request(request)
            if request.grammar is None or self._grammars.add(made, request.grammar):
                self._pending += self.scheduler.displace(displaced)
                self.scheduler.add(made)
        except Exception as error:
            self.scheduler.stats.num_requests += 1
            self.scheduler.stats.num_failed += 1
            if not isinstance(error, YaieError):
                log.exception("request %s could not be added", request.request_id)
            raise

    def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request or one sequence in it; ignore an unknown id."""
        request = self._grammars.abort(request_id, index)
        if request is not None:
            self.scheduler.add(request)
            index = None
        self._pending += self.scheduler.abort(request_id, index)

    def use_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Read grammars with `tokenizer` instead of the model's own; call it before any request."""
        self._grammars = self._make_grammars(lambda: tokenizer)

    def _make_grammars(self, read_tokenizer: Callable[[], Tokenizer]) -> GrammarQueue:
        return GrammarQueue(
            GrammarCompiler(
                read_tokenizer,
                vocab_size=self.info.vocab_size,
                end_token_ids=self.info.eos_token_ids,
                cache_bytes=self._config.grammar_cache_bytes,
            )
        )

    def check_grammar(self, grammar: Grammar) -> None:
        """Compile a grammar for later requests and wait for it; any thread may call it.

        Raises `InvalidRequest` if it is wrong or beyond the limits, `Overloaded` if too many are
        being compiled.
        """
        self._grammars.check(grammar)

    def _make_room(self, tenant: str, num_tokens: int) -> list[Request]:
        scheduler = self.scheduler
        places = scheduler.num_free_places
        return scheduler.backlog.make_room(tenant, num_tokens, self._config, places)

    @property
    def has_work(self) -> bool:
        """True if a step would compute or report anything."""
        return self.scheduler.has_work or bool(self._pending or self._grammars)

    def _make_request(self, request: GenerationRequest) -> Request:
        max_new_tokens = validate_request(request, self.info, self._config.max_running)
        namespace = self.adapters.namespace_of(request)
        is_whole = self.info.execution == "encoder"
        if not self._config.prefix_cache or is_whole:
            namespace = (namespace, next(self._isolated))
        first = SamplingState(
            request.sampling,
            index=0,
            prompt_token_ids=request.prompt_token_ids,
            eos_token_ids=self.info.eos_token_ids,
            vocab_size=self.info.vocab_size,
            fallback_seed=self._seeds.getrandbits(63),
            reasoning_limit=request.reasoning_limit,
            num_resumed=request.num_resumed,
        )
        others = (first.for_sequence(index) for index in range(1, request.sampling.n))
        return Request(
            request,
            namespace=namespace,
            max_new_tokens=max_new_tokens,
            samplings=[first, *others],
            is_whole=is_whole,
        )

    # -- a step ---------------------------------------------------------------------------------

    def step(self) -> list[TokenDelta]:
        """Compute one step; return its deltas, after the pending ones."""
        self._expected.pause()
        self.adapters.release()
        if self._grammars:
            self._admit_with_grammars()
        began = time.perf_counter()
        self._queries.times.note(self._tree.clock, began)
        deltas, self._pending = self._pending, []
        step = self.scheduler.schedule()
        deltas += self.scheduler.end_overdue()  # requests that this step could not admit
        scheduled = time.perf_counter()
        if step is not None:
            deltas += self._execute(step)
        elif self.scheduler.suspended and not deltas:
            self._grammars.wait_for_mask()
        stats = self.scheduler.stats
        stats.schedule_s += scheduled - began
        stats.step_s += time.perf_counter() - began
        if self._config.audit:
            self._tree.check()
        elif self.scheduler.stats.num_steps - self._audited_at >= _STEPS_BETWEEN_AUDITS:
            self._audit_when_idle()
        return deltas

    def _admit_with_grammars(self) -> None:
        """Queue requests whose grammar is ready; end requests with a bad grammar or no room."""
        is_idle = not (self._pending or self.scheduler.has_work)
        for entry in self._grammars.ready(may_wait=is_idle):
            request = entry.request
            if entry.error is None:
                try:
                    displaced = self._make_room(request.tenant, len(request.prompt))
                    self._pending += self.scheduler.displace(displaced)
                except Overloaded as error:
                    entry.error = error
            self.scheduler.add(request)
            for index in sorted(entry.aborted):
                self._pending += self.scheduler.abort(request.request_id, index)
            if entry.error is not None:
                first = next(each for each in request.sequences if each.index not in entry.aborted)
                self._pending.append(self.scheduler.fail(first, entry.error))

    def _execute(self, step: ScheduledStep) -> list[TokenDelta]:
        began = time.perf_counter()
        failure: str | None = None
        try:
            logits, hidden = self.executor.compute(step.plan)
            computed = time.perf_counter()
            found, errors = prompt_logprobs(step, logits, one_by_one=self._config.exact)
            states = hidden_states(step, hidden, errors, self._score_head)
            sampled = self._sampler.sample(logits, step.sample_tasks)
        except Exception as error:
            if not is_out_of_memory(error):
                return self._fail_step(step, error)
            failure = str(error)  # the error would keep the step's tensors alive
        if failure is not None:
            return self._after_out_of_memory(step, failure)
        self.scheduler.steps.note_success()
        sampling_ended = time.perf_counter()
        for request, logprobs in found:  # only now: a step that fails is computed again
            assert request.prompt_logprobs is not None
            request.prompt_logprobs += logprobs
        for sequence, rows in states:
            sequence.take_states(rows)
        deltas = self.scheduler.update(step, sampled)
        if errors:
            deltas += [self.scheduler.fail(sequence, error) for sequence, error in errors.items()]
        stats = self.scheduler.stats
        if (choice := self.executor.attention_choice) is not None:
            stats.count_attention(choice.method, choice.estimate.seconds)
        stats.forward_s += computed - began
        stats.sample_s += sampling_ended - computed
        stats.schedule_s += time.perf_counter() - sampling_ended
        return deltas

    def _fail_step(self, step: ScheduledStep, error: Exception) -> list[TokenDelta]:
        """End the faulty sequence of a failed step once it is known; compute the rest again."""
        self.scheduler.stats.num_failed_steps += 1
        self.scheduler.drafting.retract()
        faulty = self.scheduler.steps.isolate(step, error)
        if faulty is None:
            log.warning(
                "a step of %d sequences failed: %r; smaller steps find the faulty one",
                len(step.members),
                error,
            )
            return []
        log.error("request %s made a step fail", faulty.request.request_id, exc_info=error)
        return [self.scheduler.fail(faulty, error)]

    def _after_out_of_memory(self, step: ScheduledStep, failure: str) -> list[TokenDelta]:
        """Have smaller steps compute the rows; end the sequences of a one-row step."""
        self.scheduler.stats.num_out_of_memory += 1
        self.scheduler.drafting.retract()
        release_unused(self.executor.loaded.device)
        if self.scheduler.steps.retry_smaller(step):
            log.warning(
                "a step of %d rows ran out of memory, the next has at most %d: %s; lower "
                "--max-step-rows or --num-slots to free memory for steps",
                step.plan.num_rows,
                self.scheduler.steps.rows.limit,
                failure,
            )
            return []
        error = RequestFailed(
            f"a step of one token ran out of memory: {failure}; lower num_slots, which leaves more "
            "memory to steps"
        )
        log.error("%s", error.message)
        return [self.scheduler.fail(sequence, error) for sequence in step.members]

    def expect(self, prompt: ExpectedPrompt) -> None:
        """Compute a later prompt's beginning in idle moments; ignore an invalid one."""
        ids = prompt.token_ids
        if not ids or len(ids) >= self.info.max_model_len or not self._config.prefix_cache:
            return
        if self.scheduler.states is not None:
            return  # its steps would leave no states to resume from
        if min(ids) >= 0 and max(ids) < self.info.vocab_size:
            with contextlib.suppress(UnknownModel):  # its adapter was unloaded meanwhile
                self._expected.add(self.adapters.namespace_of(prompt), prompt)

    def use_idle_moment(self) -> bool:
        """Prepare for later steps, for some milliseconds; False if all is prepared."""
        if not self._expected.advance():
            return self.executor.use_idle_moment()
        if self._config.audit:
            self._tree.check()
        return True

    # -- reports --------------------------------------------------------------------------------

    def answer(self, query: Query) -> Answer:
        """Answer a query, between two steps. Raises `InvalidRequest`."""
        began = time.perf_counter()
        found = self._queries.answer(query, began)
        if isinstance(found, TreeView):
            return msgspec.structs.replace(found, seconds=time.perf_counter() - began)
        return found

    def take_cache_changes(self) -> tuple[CacheChange, ...]:
        """See `Core.take_cache_changes`."""
        return self._events.take_changes() if self._events is not None else ()

    @property
    def stats(self) -> EngineStats:
        """A copy of the current gauges, and the counters since the start."""
        graphs = self.executor.graphs
        stats = read_stats(
            self.scheduler,
            time.monotonic(),
            num_waiting=self.scheduler.num_waiting + len(self._grammars),
            num_expected_prompts=len(self._expected),
            num_replayed_steps=graphs.num_replayed if graphs else 0,
            num_late_captures=self._sampler.num_late_captures,
        )
        self._memory.report(stats)
        return stats

    def check(self) -> None:
        """Audit every tree invariant; raise `InvariantViolated`."""
        self._tree.check()

    def wait_until_saved(self, timeout_s: float | None = None) -> bool:
        """Wait until a first start has saved its packed weights; False on a timeout."""
        return self._writer is None or self._writer.wait(timeout_s)

    def close(self) -> None:
        """Free the model and the pool; abandon packed weights that are not on disk yet."""
        if self._writer is not None:
            self._writer.close()
        self._grammars.close()
        del self.executor, self._sampler, self._expected

    def _audit_when_idle(self) -> None:
        if self.scheduler.has_work:
            return
        self._audited_at = self.scheduler.stats.num_steps
        try:
            if self._tree.num_nodes <= _MAX_AUDITED_NODES:
                self._tree.check()
            if self._tree.num_live:
                raise InvariantViolated(
                    f"{self._tree.num_live} tokens are pinned without a live sequence"
                )
        except Exception as error:  # a corrupt tree may also crash its audit
            self.scheduler.stats.num_audit_failures += 1
            log.error("the tree failed its audit and was reset; the cache is empty now: %r", error)
            self._tree.reset()


def _load_tokenizer(path: Path) -> Tokenizer:
    from yaie.text.tokenizer import load_tokenizer  # it imports transformers: seconds of a start

    return load_tokenizer(path)
