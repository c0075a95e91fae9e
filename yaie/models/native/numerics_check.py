"""Numerics check: compares packed weights with the original model on test steps.

Used at load, by the packed decoder and by packed linear layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from yaie.attention.plan import Segment, StepPlan
from yaie.models.architecture.loaded_model import LoadedModel

# Bound of the relative error of the logits. In bf16 the original rounds after each operation, the
# library only weights, keys and values; in the worst case, random weights with sharp attention,
# they differ by up to a tenth. A wrong operation gives a larger error.
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.15, torch.float16: 0.02}
# The original multiplies quantized weights with rows in floating point; the library rounds rows to
# int8. A wrong operation gives a relative error near 1.
_TOLERANCE_QUANTIZED = 0.4
# In a pool of low precision, a difference of 1e-7 may round a key or value to its neighbour.
_TOLERANCE_OF_POOL = {torch.bfloat16: 0.01, torch.float16: 0.002, torch.int8: 0.02}
# A router in 16 bits may choose another expert after a rounding. With random weights that changes
# one row's logits by much; a wrong operation changes all rows. A missing factor may change them by
# less than this: `attention_check` compares attention's values and gates of each kind of layer, and
# `check_mixture` a mixture. A fault in a 16-bit mixture's scores or norms of heads shows above this
# alone, and in float32 above 1e-4.
TOLERANCE_OF_EXPERTS = 0.4
_SHARED, _OWN = 9, 7  # tokens of the comparison's two sequences
_ROW_FACTOR = 3  # of the bound: the error of a row, in the better of two texts
_FAR_FACTOR = 2  # of the bound: the median error of rows at the context's end


class DecoderDiffers(Exception):
    """The packed model computes other logits than the original; the original is freed already."""


def check_agreement(
    loaded: LoadedModel,
    plans: Sequence[StepPlan],
    found: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    *,
    least: float = 0.0,
) -> float:
    """Return the largest relative error of the logits; its bound is `least` or more.

    `found` and `expected` are logits for each comparison plan. A single row may be
    ill-conditioned: rounding alone then changes its logits completely. So the median row of each
    path decides, and a row that is wrong in two texts. Rows at the context's end are worse
    conditioned than other rows, since the tokens between are missing.

    Raises `DecoderDiffers` if rounding does not explain the error.
    """
    bound = _TOLERANCE_QUANTIZED if loaded.metadata.quantization else _TOLERANCE[loaded.dtype]
    bound = max(bound, _TOLERANCE_OF_POOL.get(loaded.kv_dtype, 0.0), least)
    pairs = zip(found, expected, strict=True)
    errors = [_row_errors(rows, original) for rows, original in pairs]
    near = [each for each, plan in zip(errors, plans, strict=True) if not _has_gap(plan)]
    far = [each for each, plan in zip(errors, plans, strict=True) if _has_gap(plan)]
    worst = max(float(path.median()) for rows in near for path in _paths(rows))
    worst = max(worst, float(torch.stack(near).amin(dim=0).max()) / _ROW_FACTOR)
    for rows in far:
        worst = max(worst, float(rows[_SHARED:].median()) / _FAR_FACTOR)
    if not worst <= bound:
        raise DecoderDiffers(f"logits of the packed weights are off by {worst:.2%}")
    return worst


def _row_errors(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Return the relative error of each row; infinite for a row with a NaN.

    Without the row's mean, which changes no probability and may be most of the norm.
    """
    found, expected = (each - each.mean(dim=-1, keepdim=True) for each in (found, expected))
    norms = expected.norm(dim=-1).clamp_min(1e-6)
    errors: torch.Tensor = (found - expected).norm(dim=-1) / norms
    return errors.nan_to_num(nan=torch.inf)


def _paths(rows: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return the rows of the shared prefix and of each branch."""
    branches = (rows[_SHARED : _SHARED + _OWN], rows[_SHARED + _OWN :])
    return (rows[:_SHARED], *branches) if len(rows) > _SHARED else (rows,)


def _has_gap(plan: StepPlan) -> bool:
    return int(plan.positions.max()) >= len(plan.positions)


def has_room_to_compare(loaded: LoadedModel) -> bool:
    """Return True if the full comparison plan, which saved weights need, fits into the pool."""
    length = _SHARED + _OWN
    return loaded.num_slots >= length + _OWN and loaded.max_model_len >= length


def comparison_plans(loaded: LoadedModel, *, with_gap: bool) -> list[StepPlan]:
    """Return the plan below for two texts, and with a gap the plan at the context's end."""
    far = far_plan(loaded) if with_gap else None
    near = [comparison_plan(loaded), comparison_plan(loaded, second_text=True)]
    return near if far is None else [*near, far]


def comparison_plan(loaded: LoadedModel, *, second_text: bool = False) -> StepPlan:
    """Plan two short sequences with a common prefix, with logits for all rows."""
    shared, own = (_SHARED, _OWN) if has_room_to_compare(loaded) else (1, 0)
    plan = _plan(loaded, shared, own, first_own=shared)
    if not second_text:
        return plan
    return replace(plan, token_ids=(plan.token_ids * 3 + 17) % loaded.vocab_size)


def far_plan(loaded: LoadedModel) -> StepPlan | None:
    """Plan the same tokens, with the tokens after the common prefix at the context's end.

    A model may compute far positions differently, by another rope table or scaled queries. The
    paths have a gap, which the CPU's attention allows. None without room, or for a context that
    short sequences fill.
    """
    first = loaded.max_model_len - _OWN
    if not has_room_to_compare(loaded) or first <= _SHARED:
        return None
    return _plan(loaded, _SHARED, _OWN, first_own=first)


def _plan(loaded: LoadedModel, shared: int, own: int, *, first_own: int) -> StepPlan:
    """Plan a prefix at position 0, and two branches with `own` tokens at position `first_own`."""
    length = shared + own
    count = shared + 2 * own
    token_ids = np.arange(count, dtype=np.int64) * 31 % loaded.vocab_size
    slots = np.arange(count, dtype=np.int64)
    branches = [
        Segment(slots[first : first + own], first_own, first, first + own, level=1)
        for first in (shared, shared + own)
        if own
    ]
    positions = np.concatenate([np.arange(shared), *[np.arange(first_own, first_own + own)] * 2])
    return StepPlan(
        token_ids=token_ids,
        positions=positions.astype(np.int64),
        slots=slots,
        written_rows=slots,
        logit_rows=slots,
        segments=(Segment(slots[:shared], 0, 0, count, level=0), *branches),
        kv_tokens_read=count,
        kv_tokens_unshared=2 * length,
    )
