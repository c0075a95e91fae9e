"""Truncation: min_p, top_k and top_p for many distributions at once.

Called by the sampler's rules with scaled logits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from yaie.engine.sampling_state import SamplingState

_FEW = 1024  # candidates that top_p looks at first; a flatter row is sorted further

_Rows = Sequence[tuple[int, SamplingState]]  # (logits row, state of its sequence)


def apply_top_k_top_p_min_p(scaled: Tensor, rows: _Rows) -> None:
    """Truncate `rows` of `scaled` [rows, vocab] in place; the maximum of each row is 0."""
    vocab_size = scaled.shape[1]
    _apply_min_p(scaled, [(i, state.params.min_p) for i, state in rows if state.params.min_p > 0])
    with_top_k = [(i, state) for i, state in rows if 0 < state.params.top_k < vocab_size]
    # Small and large k apart, so that a small one never pays for a large one in its batch.
    _apply_top_k(scaled, [row for row in with_top_k if row[1].params.top_k <= _FEW])
    _apply_top_k(scaled, [row for row in with_top_k if row[1].params.top_k > _FEW])
    _apply_top_p(
        scaled,
        [
            (i, state)
            for i, state in rows
            if state.params.top_p < 1.0 and not 0 < state.params.top_k < vocab_size
        ],
    )


def _apply_min_p(scaled: Tensor, min_ps: Sequence[tuple[int, float]]) -> None:
    if not min_ps:
        return
    floors = [-math.inf] * len(scaled)
    for i, min_p in min_ps:
        floors[i] = math.log(min_p)
    scaled.masked_fill_(scaled < torch.tensor(floors, device=scaled.device)[:, None], -math.inf)


def _apply_top_k(scaled: Tensor, rows: _Rows) -> None:
    """Apply top_k, and top_p to the remainder, to `rows`."""
    if not rows:
        return
    lines = torch.tensor([i for i, _ in rows], device=scaled.device)
    lengths = torch.tensor([state.params.top_k for _, state in rows], device=scaled.device)
    ordered = _largest(scaled[lines], int(lengths.max()))
    positions = torch.arange(ordered.shape[1], device=scaled.device)
    ordered.masked_fill_(positions >= lengths[:, None], -math.inf)
    totals = ordered.exp().sum(dim=-1, dtype=torch.float64)
    within = _num_within_share(ordered, _shares(rows, scaled.device) * totals)
    _keep_first(scaled, lines, ordered, torch.minimum(within, lengths))


def _apply_top_p(scaled: Tensor, rows: _Rows) -> None:
    if not rows:
        return
    lines = torch.tensor([i for i, _ in rows], device=scaled.device)
    totals = scaled[lines].exp().sum(dim=-1, dtype=torch.float64)
    targets = _shares(rows, scaled.device) * totals
    count = min(_FEW, scaled.shape[1])
    ordered = _largest(scaled[lines], count)
    enough = ordered.exp().sum(dim=-1, dtype=torch.float64) >= targets
    enough |= count == scaled.shape[1]
    if bool(enough.any()):
        kept = _num_within_share(ordered[enough], targets[enough])
        _keep_first(scaled, lines[enough], ordered[enough], kept)
    if not bool(enough.all()):
        lines, totals, targets = lines[~enough], totals[~enough], targets[~enough]
        own = scaled[lines]
        # All tokens below this weight together are less than half of the mass that top_p drops.
        floor = (totals - targets) / (2 * scaled.shape[1])
        count = int((own >= floor.log().unsqueeze(1)).sum(dim=-1).max())
        ordered = _largest(own, count)
        _keep_first(scaled, lines, ordered, _num_within_share(ordered, targets))


def _shares(rows: _Rows, device: torch.device) -> Tensor:
    """Return top_p of each row; infinite if it is off, so that rounding keeps all tokens."""
    top_ps = [state.params.top_p for _, state in rows]
    shares = [top_p if top_p < 1.0 else math.inf for top_p in top_ps]
    return torch.tensor(shares, dtype=torch.float64, device=device)


def _largest(own: Tensor, count: int) -> Tensor:
    """Return the `count` largest values of each row, in descending order."""
    if count <= _FEW or own.device.type != "cpu":
        return own.topk(count, dim=-1).values
    # numpy's vectorised sort of a whole row is several times faster than a large topk.
    ordered = torch.from_numpy(np.sort(own.numpy(), axis=-1))
    return ordered[:, -count:].flip(-1)


def _num_within_share(ordered: Tensor, targets: Tensor) -> Tensor:
    """Return the number of leading tokens that reach `targets`: at least 1 for each row."""
    weights = ordered.exp().double()
    before = weights.cumsum(dim=-1) - weights
    possible = ordered > -math.inf
    return ((before < targets.unsqueeze(1)) & possible).sum(dim=-1).clamp(min=1)


def _keep_first(scaled: Tensor, lines: Tensor, ordered: Tensor, kept: Tensor) -> None:
    """Keep the `kept` most likely tokens of each of `lines`; lower ids win ties."""
    last = ordered.gather(1, (kept - 1).unsqueeze(1))
    own = scaled[lines]
    cut = own < last
    tied = own == last
    room = kept - (own > last).sum(dim=-1)  # room for tokens tied with the last kept token
    crowded = (tied.sum(dim=-1) > room).nonzero().squeeze(1)
    if len(crowded):
        numbered = tied[crowded].cumsum(dim=-1)
        cut[crowded] |= tied[crowded] & (numbered > room[crowded].unsqueeze(1))
    scaled[lines] = own.masked_fill_(cut, -math.inf)
