"""Merging partial attention results by their log-sum-exp, in torch.

Sums are float32 and in a fixed order, so equal inputs give equal bits.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch


class Partial(NamedTuple):
    """Attention over a subset of the keys."""

    output: torch.Tensor  # [queries, heads, width]
    lse: torch.Tensor  # [queries, heads] natural log-sum-exp of the scores; -inf without keys


def merge(
    own: Partial, shared: Partial, rows: torch.Tensor, level_indptr: tuple[int, ...]
) -> Partial:
    """Merge the shared results into the rows' results; the output is float32.

    own: a result for each row, over at least one key.
    rows: [queries of `shared`] int64, the row of each; distinct between two bounds of
    `level_indptr`.
    """
    output, lse = own.output.float(), own.lse.clone()
    for start, end in itertools.pairwise(level_indptr):
        at = rows[start:end]
        before, part = lse[at], shared.lse[start:end]
        total = torch.logaddexp(before, part)
        old = torch.exp(before - total)[..., None]
        new = torch.exp(part - total)[..., None]
        output[at] = output[at] * old + shared.output[start:end].float() * new
        lse[at] = total
    return Partial(output, lse)


def with_sinks(partial: Partial, sinks: torch.Tensor) -> torch.Tensor:
    """Return the output [rows, heads, width] in float32 with sinks in the denominator.

    sinks: [heads] natural logits without a value.
    """
    share = torch.sigmoid(partial.lse - sinks.float())
    return partial.output.float() * share[..., None]
