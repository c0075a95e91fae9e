"""Batch-invariance check: tests a packed decoder at load when `exact` is set.

The kernels sum in a fixed order, but any compiler may have built them. So the decoder computes a
sequence in a tree and again in chunks, and the logits must be equal to the last bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch

from yaie.attention.plan import Segment, StepPlan
from yaie.base.errors import ConfigError

_BORDERS = (0, 1, 3, 6)  # tiles of one, two and three rows; then all other rows at once


def not_exact(reason: str) -> ConfigError:
    """Return the error for a model without a batch-invariant implementation."""
    return ConfigError(
        f"exact is set, but this model is not batch-invariant: {reason}. Batch-invariant are "
        f"decoders that the kernel library runs whole, in bfloat16 or float32, such as llama, "
        f"mistral, qwen2, qwen3, smollm3, granite, phi3 and gemma, or the mixtures qwen3_moe, "
        f"mixtral, glm4_moe and gpt_oss. Omit exact for this model",
        param="exact",
    )


def check_exact(
    execute: Callable[[StepPlan], torch.Tensor], plan: StepPlan, together: torch.Tensor
) -> None:
    """Compute the first sequence in `plan` again, alone and in chunks, and compare the logits.

    `together`: the logits of all plan rows. Raises `ConfigError` if a bit differs.
    """
    length = int(plan.positions.max()) + 1
    borders = [border for border in _BORDERS if border < length] + [length]
    for first, end in pairwise(borders):
        found = execute(_rows_alone(plan, first, end))
        if not torch.equal(found, together[first:end]):
            raise not_exact(
                "its logits depend on the batch, so this compiler broke the kernels' order of "
                "summation; please report the compiler and its version"
            )


def _rows_alone(plan: StepPlan, first: int, end: int) -> StepPlan:
    """Return rows `first` to `end` in the plan's first sequence, with earlier rows cached."""
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
