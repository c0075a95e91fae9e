"""What min_p, top_k and top_p leave of a distribution, for many draws at once.

Called by the sampler with scaled logits; nothing here knows requests beyond their parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from yaie.engine.sampling_state import SamplingState

_FEW = 1024  # tokens; top_p looks at as many first, and sorts more only for a flatter row


def apply_top_k_top_p_min_p(scaled: Tensor, states: Sequence[SamplingState]) -> None:
    """Apply min_p, top_k and top_p to `scaled` [draws, vocab] (line maxima 0), in place."""
    vocab_size = scaled.shape[1]
    if any(state.params.min_p > 0 for state in states):
        floors = [
            math.log(state.params.min_p) if state.params.min_p > 0 else -math.inf
            for state in states
        ]
        scaled.masked_fill_(scaled < torch.tensor(floors, device=scaled.device)[:, None], -math.inf)
    with_top_k = [i for i, state in enumerate(states) if 0 < state.params.top_k < vocab_size]
    # Apart, so that a draw among few tokens never costs what one among many beside it does.
    few = [i for i in with_top_k if states[i].params.top_k <= _FEW]
    many = [i for i in with_top_k if states[i].params.top_k > _FEW]
    for places in (few, many):
        if places:
            _cut_top_k(scaled, places, [states[i] for i in places])
    only_top_p = [
        i
        for i, state in enumerate(states)
        if state.params.top_p < 1.0 and not 0 < state.params.top_k < vocab_size
    ]
    if only_top_p:
        _cut_top_p(scaled, only_top_p, _shares([states[i] for i in only_top_p], scaled.device))


def _shares(states: Sequence[SamplingState], device: torch.device) -> Tensor:
    """top_p of each; infinite where it is off, so that rounding cuts nothing."""
    shares = [state.params.top_p if state.params.top_p < 1.0 else math.inf for state in states]
    return torch.tensor(shares, dtype=torch.float64, device=device)


def _cut_top_k(scaled: Tensor, places: list[int], states: Sequence[SamplingState]) -> None:
    """Apply top_k, and top_p to what it leaves, to the lines at `places`."""
    lines = torch.tensor(places, device=scaled.device)
    lengths = torch.tensor([state.params.top_k for state in states], device=scaled.device)
    ordered = _largest(scaled[lines], int(lengths.max()))
    positions = torch.arange(ordered.shape[1], device=scaled.device)
    ordered.masked_fill_(positions >= lengths[:, None], -math.inf)
    totals = ordered.exp().sum(dim=-1, dtype=torch.float64)
    within = _num_within_share(ordered, _shares(states, scaled.device) * totals)
    _keep_first(scaled, lines, ordered, torch.minimum(within, lengths))


def _cut_top_p(scaled: Tensor, places: list[int], shares: Tensor) -> None:
    lines = torch.tensor(places, device=scaled.device)
    totals = scaled[lines].exp().sum(dim=-1, dtype=torch.float64)
    targets = shares * totals
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
        # Tokens below this weight have together less than half of what top_p leaves out.
        floor = (totals - targets) / (2 * scaled.shape[1])
        count = int((own >= floor.log().unsqueeze(1)).sum(dim=-1).max())
        ordered = _largest(own, count)
        _keep_first(scaled, lines, ordered, _num_within_share(ordered, targets))


def _largest(own: Tensor, count: int) -> Tensor:
    """The `count` largest values of each line, in descending order."""
    if count <= _FEW or own.device.type != "cpu":
        return own.topk(count, dim=-1).values
    # Vector instructions sort a whole line in a fraction of the time that topk takes for many.
    ordered = torch.from_numpy(np.sort(own.numpy(), axis=-1))
    return ordered[:, -count:].flip(-1)


def _num_within_share(ordered: Tensor, targets: Tensor) -> Tensor:
    """How many leading tokens it takes to reach `targets`: at least 1 of each line."""
    weights = ordered.exp().double()
    before = weights.cumsum(dim=-1) - weights
    possible = ordered > -math.inf
    return ((before < targets.unsqueeze(1)) & possible).sum(dim=-1).clamp(min=1)


def _keep_first(scaled: Tensor, lines: Tensor, ordered: Tensor, kept: Tensor) -> None:
    """Keep the `kept` most likely tokens of each of `lines`; of equal ones the lowest ids."""
    last = ordered.gather(1, (kept - 1).unsqueeze(1))
    own = scaled[lines]
    cut = own < last
    tied = own == last
    # How many of those equal to the last one kept have a place.
    room = kept - (own > last).sum(dim=-1)
    crowded = (tied.sum(dim=-1) > room).nonzero().squeeze(1)
    if len(crowded):
        numbered = tied[crowded].cumsum(dim=-1)
        cut[crowded] |= tied[crowded] & (numbered > room[crowded].unsqueeze(1))
    scaled[lines] = own.masked_fill_(cut, -math.inf)
