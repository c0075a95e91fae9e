"""Which models compute exactly, and a check at load that this one does.

The kernels add up in a fixed order, but a compiler made them on some machine: so before an engine
promises equal bits, the packed decoder computes a sequence in a tree and in pieces and compares.
Called when a decoder is packed with an exact backend.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch

from yaie.attention.plan import Segment, StepPlan
from yaie.errors import ConfigError

_BORDERS = (0, 1, 3, 6)  # tiles of one row, two and three; then all the others at once


def not_exact(reason: str) -> ConfigError:
    """The refusal of a model that cannot be computed exactly."""
    return ConfigError(
        f"exact is set, but this model cannot be computed exactly: {reason}. Exact are decoders "
        f"that the kernel library runs whole, in bfloat16 or float32: those built like llama, "
        f"mistral, qwen2, qwen3, smollm3, granite and phi3. Leave exact out for this one",
        param="exact",
    )


def check_exact(
    execute: Callable[[StepPlan], torch.Tensor], plan: StepPlan, together: torch.Tensor
) -> None:
    """Compute the first sequence of `plan` again, alone and in chunks, and compare the logits.

    `together` are the logits of all rows of the plan. Raises `ConfigError` if a bit differs.
    """
    length = int(plan.positions.max()) + 1
    borders = [border for border in _BORDERS if border < length] + [length]
    for first, end in pairwise(borders):
        found = execute(_rows_alone(plan, first, end))
        if not torch.equal(found, together[first:end]):
            raise not_exact(
                "its logits depend on the batch, so the kernel library was compiled in a way "
                "that it was not made for; report the compiler and its version, please"
            )


def _rows_alone(plan: StepPlan, first: int, end: int) -> StepPlan:
    """Rows `first` to `end` of the plan's first sequence, all earlier ones being held."""
    every = np.arange(end - first, dtype=np.int64)
    return dataclasses.replace(
        plan,
        token_ids=plan.token_ids[first:end],
        positions=plan.positions[first:end],
        slots=plan.slots[first:end],
        written_rows=every,
        logit_rows=every,
        segments=(Segment(plan.slots[:end], 0, 0, end - first, level=0),),
    )
