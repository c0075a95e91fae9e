"""Numerics check: compares packed weights with the original model on test steps.

Used at load, by the packed decoder and by packed linear layers.
"""

from __future__ import annotations

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
# one row's logits by much; a wrong operation changes all rows.
TOLERANCE_OF_EXPERTS = 0.4
_SHARED, _OWN = 9, 7  # tokens of the comparison's two sequences


class DecoderDiffers(Exception):
    """The packed model computes other logits than the original; the original is freed already."""


def check_agreement(
    loaded: LoadedModel, found: torch.Tensor, expected: torch.Tensor, *, least: float = 0.0
) -> float:
    """Return the logits' relative error against the original's; its bound is `least` or more.

    Raises `DecoderDiffers` if rounding does not explain it.
    """
    error = float((found - expected).norm() / expected.norm().clamp_min(1e-6))
    bound = _TOLERANCE_QUANTIZED if loaded.metadata.quantization else _TOLERANCE[loaded.dtype]
    bound = max(bound, _TOLERANCE_OF_POOL.get(loaded.kv_dtype, 0.0), least)
    if not error <= bound:  # also for a NaN
        raise DecoderDiffers(f"logits of the packed weights are off by {error:.2%}")
    return error


def has_room_to_compare(loaded: LoadedModel) -> bool:
    """Return True if the full comparison plan, which saved weights need, fits into the pool."""
    length = _SHARED + _OWN
    return loaded.num_slots >= length + _OWN and loaded.max_model_len >= length


def comparison_plan(loaded: LoadedModel) -> StepPlan:
    """Plan two short sequences with a common prefix, with logits for all rows."""
    shared, own = (_SHARED, _OWN) if has_room_to_compare(loaded) else (1, 0)
    return _plan(loaded, shared, own, first_own=shared)


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
