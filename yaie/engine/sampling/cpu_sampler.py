"""CPU sampler: chooses a step's tokens from its logits.

Called by the engine core once a step. Implements `TokenSampler`; `device_sampling` is its twin for
other devices. A token is a function of its logits row and (seed, sequence index, position) alone,
so it depends neither on the batch nor on preemptions.

Parameters act in vLLM's order: allowed_token_ids, min_tokens, bad_words, logit_bias,
repetition_penalty, frequency_penalty and presence_penalty; temperature; min_p, top_k, top_p; the
random number.

Each truncation drops the least likely tokens, higher ids first among equals; top_p is a share of
what min_p and top_k leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from yaie.base.errors import InvariantViolated, YaieError
from yaie.base.types import TokenLogprobs
from yaie.engine.sampling.inverse_cdf import LEAST_TEMPERATURE, inverse_cdf
from yaie.engine.sampling.logit_rules import (
    NO_TOKENS,
    RULES,
    GrammarMask,
    LogitRule,
    join_forbidden,
    select_rules,
)
from yaie.engine.sampling.logprobs import CHUNK_ELEMENTS, token_logprobs
from yaie.engine.sampling.masked_sampling import sample_masked
from yaie.engine.sampling.sampling_errors import check_row, no_token, non_finite, wrap_error
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampledToken, SampleTask
from yaie.kernels.library import Library
from yaie.kernels.sampling_calls import best_tokens, sample_tokens

_Result = int | YaieError | None  # None until the token is known


@dataclass(slots=True)
class _Routes:
    """Task indices by the path to their tokens; with forbidden ids for in-place tasks."""

    in_place: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)  # from copies of their rows
    changed: list[int] = field(default_factory=list)  # from copies that rules change
    # First without the grammar, then once more under its mask if the mask excludes the token. The
    # result has the probabilities of the masked row, and most tokens cost no mask.
    tried: list[int] = field(default_factory=list)


class CpuSampler:
    """One model's sampler, in the kernel library or in torch."""

    truncation_kernel = None  # devices only
    num_late_captures = 0

    def __init__(
        self,
        vocab_size: int,
        *,
        exact: bool = False,
        kernels: Library | None = None,
        rules: Sequence[LogitRule] = RULES,
    ) -> None:
        """Choose how tokens are computed.

        `exact` makes results batch-invariant: each row is computed by itself. With `kernels` the
        kernel library samples from whole rows in place; torch works on copies of them. `rules`
        change logits in their order.
        """
        self._vocab_size = vocab_size
        self._exact = exact
        self._kernels = kernels
        self._rules = tuple(rules)

    def prepare(self) -> None:
        """See `TokenSampler.prepare`."""

    def sample(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[SampledToken | YaieError]:
        """Return one result per task, in order, from `logits` [rows, vocab].

        States are left as they are: the core lets them `observe` the tokens that it accepts. A
        non-finite row or a faulty state gives an error instead of its tokens; other rows keep
        theirs.

        Raises:
            InvariantViolated: `logits` have the wrong shape.
        """
        if logits.ndim != 2 or logits.shape[1] != self._vocab_size:
            raise InvariantViolated(
                f"logits have shape {tuple(logits.shape)}, expected [rows, {self._vocab_size}]"
            )
        if not tasks:
            return []
        logits = logits.float()
        best, best_ids = self._best(logits)
        results: list[_Result] = [None] * len(tasks)
        routes = self._route(tasks, best, best_ids, results)
        if routes.in_place:
            self._sample_in_place(logits, best, tasks, routes.in_place, results)
        for isolated in (routes.copied, routes.changed):
            if isolated:
                for task_indices in self._chunks(isolated):
                    self._sample_isolated(logits, tasks, task_indices, results)
        for i in routes.tried:
            self._try_again(logits, tasks[i], i, results)
        return self._with_logprobs(logits, tasks, results)

    def _route(
        self,
        tasks: Sequence[SampleTask],
        best: Sequence[float],
        best_ids: Sequence[int],
        results: list[_Result],
    ) -> _Routes:
        """Fill `results` where the best token or an error is known, and route the other tasks.

        Only this method asks the rules for a path.
        """
        routes = _Routes()
        for i, task in enumerate(tasks):
            try:
                state, row = task.state, check_row(task.logit_row, len(best))
                if not math.isfinite(best[row]):
                    results[i] = non_finite(f"output token {state.num_output}")
                    continue
                rules = select_rules(self._rules, state) if state.rules is None else state.rules
                if rules:
                    rules = tuple(rule for rule in rules if rule.applies(state))
                is_masked_alone = len(rules) == 1 and type(rules[0]) is GrammarMask
                if is_masked_alone and self._kernels is not None:
                    routes.tried.append(i)
                    if state.params.is_greedy:
                        results[i] = best_ids[row]
                    else:
                        routes.in_place.append((i, NO_TOKENS))
                    continue
                keeps_best = not rules or all(
                    rule.keeps_best(state, best_ids[row]) for rule in rules
                )
                if keeps_best and state.params.is_greedy:
                    results[i] = best_ids[row]
                    continue
                if keeps_best and self._kernels is not None:
                    forbidden = join_forbidden(rules, state)
                    if forbidden is not None:
                        routes.in_place.append((i, forbidden))
                        continue
                is_changed = any(not rule.after_temperature for rule in rules)
                (routes.changed if is_changed else routes.copied).append(i)
            except Exception as error:
                results[i] = wrap_error(error)
        return routes

    def _best(self, logits: Tensor) -> tuple[list[float], list[int]]:
        """Return each row's maximum and its lowest id. NaN wins every comparison."""
        if self._kernels is not None:
            return best_tokens(self._kernels, logits.numpy())
        best, best_ids = logits.max(dim=-1)
        return cast("list[float]", best.tolist()), cast("list[int]", best_ids.tolist())

    def _sample_in_place(
        self,
        logits: Tensor,
        best: Sequence[float],
        tasks: Sequence[SampleTask],
        in_place: Sequence[tuple[int, NDArray[np.int64]]],
        results: list[_Result],
    ) -> None:
        """Fill the results of `in_place` tasks by the kernel library."""
        assert self._kernels is not None
        sampled = []
        uniforms = []
        for i, forbidden in in_place:
            try:
                uniforms.append(tasks[i].state.next_uniform())
                sampled.append((i, forbidden))
            except Exception as error:
                results[i] = wrap_error(error)
        if not sampled:
            return
        rows = [tasks[i].logit_row for i, _ in sampled]
        params = [tasks[i].state.params for i, _ in sampled]
        tokens = sample_tokens(
            self._kernels,
            logits.numpy(),
            rows=rows,
            best=[best[row] for row in rows],
            temperatures=[max(each.temperature, LEAST_TEMPERATURE) for each in params],
            min_ps=[each.min_p for each in params],
            uniforms=uniforms,
            forbidden=[forbidden for _, forbidden in sampled],
        )
        for (i, _), token_id in zip(sampled, tokens, strict=True):
            results[i] = token_id if token_id >= 0 else no_token(self._rules, tasks[i].state)

    def _try_again(self, logits: Tensor, task: SampleTask, i: int, results: list[_Result]) -> None:
        """Replace a result that its grammar excludes by a sample under the mask."""
        first, state = results[i], task.state
        try:
            if not isinstance(first, int) or state.grammar is None:
                return
            if state.grammar.allows(first):
                return
            temperature = max(state.params.temperature, LEAST_TEMPERATURE)
            results[i] = sample_masked(
                logits[task.logit_row].numpy(),
                state.grammar.mask(),
                temperature=None if state.params.is_greedy else temperature,
                uniform=state.next_uniform(again=True),
            )
            if results[i] is None:
                results[i] = no_token(self._rules, state)
        except Exception as error:
            results[i] = wrap_error(error)

    def _chunks(self, task_indices: list[int]) -> list[list[int]]:
        size = 1 if self._exact else max(1, CHUNK_ELEMENTS // self._vocab_size)
        return [task_indices[start : start + size] for start in range(0, len(task_indices), size)]

    def _sample_isolated(
        self,
        logits: Tensor,
        tasks: Sequence[SampleTask],
        task_indices: list[int],
        results: list[_Result],
    ) -> None:
        """Fill `results` for tasks together; after a failure one by one, to isolate the error."""
        try:
            tokens = self._sample_copies(logits, [tasks[i] for i in task_indices])
        except Exception as error:
            if len(task_indices) == 1:
                results[task_indices[0]] = wrap_error(error)
                return
            for i in task_indices:
                self._sample_isolated(logits, tasks, [i], results)
            return
        for i, token_id in zip(task_indices, tokens, strict=True):
            results[i] = token_id if token_id >= 0 else no_token(self._rules, tasks[i].state)

    def _sample_copies(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[int]:
        """Return tokens from copied rows; -1 if the rules forbid all."""
        states = [task.state for task in tasks]
        rows = torch.tensor([task.logit_row for task in tasks], device=logits.device)
        own = logits.index_select(0, rows)
        self._apply_rules(own, states, after_temperature=False)
        best, tokens = own.max(dim=-1)
        usable = torch.isfinite(best)
        at_random = [i for i, state in enumerate(states) if not state.params.is_greedy]
        if at_random:
            if len(at_random) < len(states):
                chosen = torch.tensor(at_random, device=own.device)
                states = [states[i] for i in at_random]
                sampled = self._sample_at_random(own[chosen], best[chosen], states)
                tokens = tokens.index_copy(0, chosen, sampled)
            else:
                tokens = self._sample_at_random(own, best, states)
        return cast("list[int]", torch.where(usable, tokens, -1).tolist())

    def _sample_at_random(
        self, own: Tensor, best: Tensor, states: Sequence[SamplingState]
    ) -> Tensor:
        """Return token ids [rows] by inverse CDF over `own` [rows, vocab] with row maxima `best`.

        Overwrites `own`. A row with a non-finite maximum yields an arbitrary valid id.
        """
        temperatures = [max(state.params.temperature, LEAST_TEMPERATURE) for state in states]
        uniforms = [state.next_uniform() for state in states]
        # Subtract the maximum first: then no temperature overflows, and the largest weight is 1.
        own -= best.unsqueeze(1)
        own /= torch.tensor(temperatures, device=own.device).unsqueeze(1)
        self._apply_rules(own, states, after_temperature=True)
        numbers = torch.tensor(uniforms, dtype=torch.float64, device=own.device)
        return inverse_cdf(own.exp_(), numbers)

    def _apply_rules(
        self, own: Tensor, states: Sequence[SamplingState], *, after_temperature: bool
    ) -> None:
        """Apply one stage's rules to the rows of `own` [states, vocab], in place."""
        rows: dict[LogitRule, list[tuple[int, SamplingState]]] = {}
        for i, state in enumerate(states):
            for rule in select_rules(self._rules, state):
                if rule.after_temperature is after_temperature and rule.applies(state):
                    rows.setdefault(rule, []).append((i, state))
        for rule in self._rules:
            if rule in rows:
                rule.apply(own, rows[rule])

    def _with_logprobs(
        self, logits: Tensor, tasks: Sequence[SampleTask], results: list[_Result]
    ) -> list[SampledToken | YaieError]:
        requested = []
        for i, (task, token_id) in enumerate(zip(tasks, results, strict=True)):
            if not isinstance(token_id, int):
                continue
            if (num_top := task.sequence.sampling.params.logprobs) is not None:
                requested.append((i, task.logit_row, token_id, num_top))
        found: dict[int, TokenLogprobs] = {}
        if requested:
            computed = token_logprobs(
                logits,
                rows=[row for _, row, _, _ in requested],
                token_ids=[token_id for _, _, token_id, _ in requested],
                num_top=[num_top for *_, num_top in requested],
                one_by_one=self._exact,
            )
            found = {i: logprobs for (i, *_), logprobs in zip(requested, computed, strict=True)}
        return [
            result
            if isinstance(result, YaieError)
            else SampledToken(cast("int", result), found.get(i))
            for i, result in enumerate(results)
        ]
