"""Row costs: how much longer a step with more rows takes, measured before the first request.

One path, as a draft has: the rows read the same keys. It takes half a second, or two rounds of
a large model: `LearnedCosts` learns the rest from the steps that serve requests.
"""

from __future__ import annotations

import time
from random import Random

from yaie.attention.plan import RowSelection, StepPlan, plan_step
from yaie.engine.drafts.draft_lengths import UNMEASURED, RowCosts, rising
from yaie.engine.execution.executor import Executor
from yaie.kvcache.node import as_tokens
from yaie.kvcache.radix_tree import RadixTree

SIZES = (1, 2, 4, 8, 16, 32)  # rows
_CONTEXT = 64  # tokens
_LEAST_ROUNDS = 2
_MOST_ROUNDS = 12
_MOST_S = 0.5  # then rounds after the least number are omitted


def measure_row_costs(executor: Executor) -> RowCosts:
    """Time steps of several sizes over a pool without tokens, if it is large enough for them."""
    loaded = executor.loaded
    random = Random(0)
    tokens = [random.randrange(loaded.vocab_size) for _ in range(_CONTEXT + SIZES[-1])]
    if len(tokens) > min(loaded.num_slots, loaded.max_model_len):
        return UNMEASURED
    tree = RadixTree(loaded.num_slots)
    cursor = tree.open("", as_tokens(tokens[:_CONTEXT]))
    selection = RowSelection(_CONTEXT)
    selection.add(cursor)
    executor.compute(plan_step(selection).plan)
    assert cursor.node is not None
    tree.mark_computed(cursor.node, _CONTEXT - 1)
    plans, planning_s = [], float("inf")
    for size in SIZES:
        began = time.perf_counter()
        tree.draft(cursor, tokens[_CONTEXT : _CONTEXT + size - 1])
        selection = RowSelection(size)
        selection.add(cursor)
        selection.add_draft(cursor, size - 1)
        plans.append(plan_step(selection).plan)
        tree.retract(cursor)
        planning_s = min(planning_s, time.perf_counter() - began)
    # Twice: without a draft this step and the next one extend the last plan.
    return rising([*zip(SIZES, _time_each(executor, plans), strict=True)], 2 * planning_s)


def _time_each(executor: Executor, plans: list[StepPlan]) -> list[float]:
    """Return the seconds of each step, the fastest of some rounds: other work only adds time."""
    fastest = [float("inf")] * len(plans)
    began = time.perf_counter()
    for done in range(_MOST_ROUNDS):
        if done >= _LEAST_ROUNDS and time.perf_counter() - began > _MOST_S:
            break
        for place, plan in enumerate(plans):
            start = time.perf_counter()
            executor.compute(plan)
            fastest[place] = min(fastest[place], time.perf_counter() - start)
    return fastest
