"""Truncation check: compares a truncation's result with float64 sums on the host.

Sums of weights in another order, or another exponential, differ by rounding. So top_p may keep one
token more or less than torch, if the sum at its border equals the target within the tolerance. All
other tokens must agree.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from yaie.engine.sampling.device.device_truncation import Limits

# Share of the total weight: ten times the error of a float32 weight.
TOLERANCE = 1e-6


def find_fault(scaled: Tensor, found: Tensor, limits: Limits) -> str | None:
    """Return what is wrong with the result `found` of a truncation; None if it is right.

    scaled: float32 [rows, vocab] before the truncation, the largest of each row 0, without NaN.
    """
    before, after = scaled.cpu(), found.cpu()
    least, num_kept, shares = (
        each.tolist() for each in (limits.least, limits.num_kept, limits.shares)
    )
    for place in range(len(before)):
        top_k = num_kept[place] if limits.has_top_k else before.shape[1]
        top_p = shares[place] if limits.has_top_p else math.inf
        min_p = least[place] if limits.has_min_p else -math.inf
        fault = _fault_of_row(before[place], after[place], min_p, top_k, top_p)
        if fault is not None:
            return fault
    return None


def _fault_of_row(
    before: Tensor, after: Tensor, least: float, top_k: int, top_p: float
) -> str | None:
    is_kept = after != -math.inf
    if not torch.equal(before[is_kept], after[is_kept]):
        return "it changes logits that it keeps"
    # The most likely tokens first, lower ids first among equals.
    order = before.argsort(descending=True, stable=True)
    in_order = before[order]
    num_candidates = int(((in_order >= least) & (in_order > -math.inf)).sum())
    num_candidates = min(num_candidates, top_k)
    count = int(is_kept.sum())
    if not bool(is_kept[order[:count]].all()):
        return "it keeps a token and drops a more likely one"
    if top_p >= 1:
        return None if count == num_candidates else _counts(count, str(num_candidates))
    sums = in_order[:num_candidates].double().exp().cumsum(dim=0)
    shares = sums / sums[-1]
    # The first sums that may, and that must, count as the share.
    first, last = (
        min(int((shares < border).sum()) + 1, num_candidates)
        for border in (top_p - TOLERANCE, top_p + TOLERANCE)
    )
    return None if first <= count <= last else _counts(count, f"{first} to {last}")


def _counts(found: int, expected: str) -> str:
    return f"it keeps {found} tokens instead of {expected}"
