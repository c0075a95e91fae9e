"""Masked sampling: chooses a token from one row of logits under a grammar's mask, in numpy. Pure.

A long row's mask is read in words of 32 tokens: a grammar mostly allows a few tokens, or all but a
few. For a short row the number of calls counts, not their length.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_BITS = 32
_ALL = np.uint32(0xFFFFFFFF)
_SHORT = 4096  # tokens
_BLOCK = 512  # tokens whose weights are summed before the running sum


def sample_masked(
    logits: NDArray[np.float32],
    mask: NDArray[np.uint32],
    *,
    temperature: float | None,
    uniform: float,
) -> int | None:
    """Return the token of a row [vocabulary] that `uniform` in [0, 1) selects, or None.

    Only tokens with their bit in `mask` [ceil(vocabulary / 32)] count. Without a temperature it is
    the most likely of them, the lowest among equals.
    """
    token_ids: NDArray[np.int64] | None = None
    if len(logits) <= _SHORT:
        bits = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little")
        token_ids = bits.nonzero()[0]
    elif 4 * len(words := np.flatnonzero(mask)) <= len(mask):
        token_ids = _tokens(mask, words, len(logits))
    if token_ids is None:
        values = logits.copy()  # other sequences may share the row
        values[_tokens(~mask, np.flatnonzero(mask != _ALL), len(logits))] = -math.inf
    elif len(token_ids):
        values = logits[token_ids]
    else:
        return None
    place = int(values.argmax())
    if not math.isfinite(values[place]):
        return None
    if temperature is not None:
        # Subtract the maximum first: then no temperature overflows, and the largest weight is 1.
        values -= values[place]
        values /= np.float32(temperature)
        place = _select(np.exp(values, out=values), uniform)
    return place if token_ids is None else int(token_ids[place])


def _tokens(
    mask: NDArray[np.uint32], words: NDArray[np.int64], vocab_size: int
) -> NDArray[np.int64]:
    """Return the tokens with a bit in these words of the mask, in ascending order."""
    bits = np.flatnonzero(np.unpackbits(mask[words].view(np.uint8), bitorder="little"))
    token_ids = words[bits // _BITS] * _BITS + bits % _BITS
    return token_ids[token_ids < vocab_size]


def _select(weights: NDArray[np.float32], uniform: float) -> int:
    """Return the first index whose running sum exceeds `uniform` times the total."""
    if len(weights) <= _SHORT:
        running = weights.cumsum(dtype=np.float64)
        return _first_above(running, uniform * running[-1])
    sums = np.add.reduceat(weights, np.arange(0, len(weights), _BLOCK), dtype=np.float64)
    running = np.cumsum(sums)
    target = uniform * running[-1]
    block = _first_above(running, target)
    before = running[block - 1] if block else 0.0
    inside = np.cumsum(weights[block * _BLOCK : (block + 1) * _BLOCK], dtype=np.float64)
    return block * _BLOCK + _first_above(inside, target - before)


def _first_above(running: NDArray[np.float64], target: float) -> int:
    # Rounding may put the target at the last sum: the last index with a weight reaches it first.
    last = int(running.searchsorted(running[-1]))
    return min(int(running.searchsorted(target, side="right")), last)
