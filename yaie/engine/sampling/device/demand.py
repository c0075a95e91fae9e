"""Sampling demand: the device work of each task in a step, collected on the host.

Only this module asks the rules. A faulty state gives an error instead of its task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from yaie.base.errors import InvariantViolated, YaieError
from yaie.engine.sampling.inverse_cdf import LEAST_TEMPERATURE
from yaie.engine.sampling.logit_rules import (
    Changes,
    GrammarMask,
    LogitRule,
    MaskRule,
    ReasoningEnd,
    SparseRule,
    Truncation,
    select_rules,
)
from yaie.engine.sampling.sampling_errors import check_row, wrap_error
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampleTask

Mask = NDArray[np.uint32]


@dataclass(slots=True)
class TaskDemand:
    """One task that the device samples."""

    index: int  # among the tasks of the step
    state: SamplingState
    row: int
    uniform: float = 0.0  # greedy: unused
    # The number of a second draw, under the mask of the grammar, if that excludes the first
    # token: as where the kernel library samples.
    second_uniform: float | None = None
    mask: Mask | None = None
    forced: int = -1  # the only token that may follow
    truncates: bool = False
    sparse: list[tuple[int, Changes]] = field(default_factory=list)  # by index of the rule
    others: list[int] = field(default_factory=list)  # rules known by `apply` alone, by index

    @property
    def temperature(self) -> float:
        """A random sample's temperature; 1 for a greedy one."""
        params = self.state.params
        return 1.0 if params.is_greedy else max(params.temperature, LEAST_TEMPERATURE)

    @property
    def least_logit(self) -> float:
        """Scaled logits below it are dropped by min_p; the largest one is 0."""
        min_p = self.state.params.min_p
        return math.log(min_p) if self.truncates and min_p > 0 else -math.inf

    def num_kept(self, vocab_size: int) -> int:
        """Return top_k's limit on tokens."""
        top_k = self.state.params.top_k
        return top_k if self.truncates and 0 < top_k < vocab_size else vocab_size

    @property
    def share(self) -> float:
        """The weight share that top_p keeps; infinite for all of them."""
        top_p = self.state.params.top_p
        return top_p if self.truncates and top_p < 1.0 else math.inf


class DemandReader:
    """Reads tasks' demands from the logit rules."""

    def __init__(self, rules: Sequence[LogitRule], vocab_size: int) -> None:
        self._rules = tuple(rules)
        self._places = {rule: place for place, rule in enumerate(self._rules)}
        self._vocab_size = vocab_size

    def read(
        self, tasks: Sequence[SampleTask], num_rows: int
    ) -> tuple[list[TaskDemand], dict[int, YaieError]]:
        """Return the demands of valid tasks, and the errors of faulty tasks, by index."""
        demands: list[TaskDemand] = []
        errors: dict[int, YaieError] = {}
        for index, task in enumerate(tasks):
            try:
                row = check_row(task.logit_row, num_rows)
                demands.append(self._read_one(index, task.state, row))
            except Exception as error:
                errors[index] = wrap_error(error)
        return demands, errors

    def _read_one(self, index: int, state: SamplingState, row: int) -> TaskDemand:
        demand = TaskDemand(index, state, row)
        is_greedy = state.params.is_greedy
        if not is_greedy:
            demand.uniform = state.next_uniform()
        rules = select_rules(self._rules, state) if state.rules is None else state.rules
        if not rules:
            return demand
        applying = [rule for rule in rules if rule.applies(state)]
        if not is_greedy and len(applying) == 1 and type(applying[0]) is GrammarMask:
            demand.second_uniform = state.next_uniform(again=True)
        for rule in applying:
            self._add(demand, rule)
        return demand

    def _add(self, demand: TaskDemand, rule: LogitRule) -> None:
        state = demand.state
        if isinstance(rule, MaskRule):
            mask = rule.mask(state)
            demand.mask = mask if demand.mask is None else demand.mask & mask
        elif isinstance(rule, SparseRule):
            changes = [(ids, numbers) for ids, numbers in rule.changes(state) if len(ids)]
            for ids, _ in changes:
                self._check(ids)
            if changes:
                demand.sparse.append((self._places[rule], changes))
        elif isinstance(rule, ReasoningEnd):
            assert state.reasoning is not None and state.reasoning.forced is not None
            demand.forced = state.reasoning.forced
        elif isinstance(rule, Truncation):
            demand.truncates = True
        else:
            demand.others.append(self._places[rule])

    def _check(self, ids: NDArray[np.int64]) -> None:
        # On a GPU a wrong index ends the process.
        if ids.min() < 0 or ids.max() >= self._vocab_size:
            raise InvariantViolated(
                f"a counted token id is outside the vocabulary of {self._vocab_size}"
            )
