"""A token from one row of logits under the mask of a grammar, in numpy. Pure."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


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
    bits = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little")
    allowed = np.flatnonzero(bits)
    if not len(allowed):
        return None
    values = logits[allowed]
    best = int(values.argmax())
    if not math.isfinite(values[best]):
        return None
    if temperature is None:
        return int(allowed[best])
    # Subtract the maximum first: then no temperature overflows, and the largest weight is 1.
    running = np.cumsum(np.exp((values - values[best]) / np.float32(temperature)), dtype=np.float64)
    place = int(running.searchsorted(uniform * running[-1], side="right"))
    # Rounding may put the target at the last sum: the last token with a weight is the first there.
    last = int(running.searchsorted(running[-1]))
    return int(allowed[min(place, last)])
