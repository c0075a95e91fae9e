"""Rows of scaled logits and limits for tests of truncation, and what the CPU's sampler keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.engine.sampling import state_of
from yaie.base.types import SamplingParams
from yaie.engine.sampling.device.device_truncation import (
    Limits,
    PlainTruncation,
    RowTruncation,
)
from yaie.engine.sampling.inverse_cdf import LEAST_TEMPERATURE
from yaie.engine.sampling.truncation import apply_top_k_top_p_min_p


@dataclass(frozen=True)
class Rows:
    """Scaled logits [rows, vocab], and the parameters of each row."""

    scaled: Tensor
    params: list[SamplingParams]

    @classmethod
    def of(cls, logits: np.ndarray, params: list[SamplingParams]) -> Rows:
        """Return rows scaled as the sampler scales them; temperatures of 0 by the least."""
        raw = torch.from_numpy(logits.astype(np.float32))
        temperatures = [max(each.temperature, LEAST_TEMPERATURE) for each in params]
        best = raw.amax(dim=-1, keepdim=True)
        return cls((raw - best).div_(torch.tensor(temperatures)[:, None]), params)

    def to(self, device: torch.device) -> Rows:
        """Return the rows on a device."""
        return Rows(self.scaled.to(device), self.params)

    def limits(self) -> Limits:
        vocab_size, device = self.scaled.shape[1], self.scaled.device
        least = [math.log(each.min_p) if each.min_p else -math.inf for each in self.params]
        kept = [each.top_k if 0 < each.top_k < vocab_size else vocab_size for each in self.params]
        shares = [each.top_p if each.top_p < 1 else math.inf for each in self.params]
        return Limits(
            torch.tensor(least, device=device),
            torch.tensor(kept, device=device),
            torch.tensor(shares, dtype=torch.float64, device=device),
            has_min_p=any(each.min_p for each in self.params),
            has_top_k=any(each < vocab_size for each in kept),
            has_top_p=any(each < 1 for each in shares),
        )

    def truncated(self, truncation: RowTruncation) -> Tensor:
        """Return the scaled logits after a truncation, whose spare memory holds NaN before."""
        found = self.scaled.clone()
        truncation.truncate(found, torch.full_like(found, math.nan), self.limits())
        return found

    def truncated_by_sorting(self) -> Tensor:
        """Return the scaled logits after the truncation of the CPU's sampler."""
        found, vocab_size = self.scaled.clone(), self.scaled.shape[1]
        states = [state_of(each, vocab_size=vocab_size) for each in self.params]
        apply_top_k_top_p_min_p(found, list(enumerate(states)))
        return found


def check(rows: Rows, truncation: RowTruncation) -> None:
    """Compare a truncation with its twin and with the CPU's; a row of NaN has no token to keep."""
    found = rows.truncated(truncation)
    is_good = ~rows.scaled.isnan().any(dim=-1)
    assert torch.equal(found[is_good], rows.truncated(PlainTruncation())[is_good])
    assert torch.equal(found[is_good], rows.truncated_by_sorting()[is_good])
    assert not found[~is_good].isfinite().any()


@st.composite
def parameters(draw: st.DrawFn, vocab_size: int) -> SamplingParams:
    """Return limits, each on or off, with values at the ends of their ranges."""
    return SamplingParams(
        temperature=draw(st.sampled_from([0.0, 0.3, 1.0, 2.0])),
        top_k=draw(st.sampled_from([0, 0, 1, 2, 7, vocab_size - 1, vocab_size, vocab_size + 5])),
        top_p=draw(st.sampled_from([1.0, 1.0, 1e-9, 0.1, 0.5, 0.9, 0.999999, 1 - 1e-12])),
        min_p=draw(st.sampled_from([0.0, 0.0, 1e-6, 0.05, 0.7, 1.0])),
    )


@st.composite
def rows(draw: st.DrawFn, most: int) -> Rows:
    """Return up to three rows of up to `most` tokens: ties, gaps, masked tokens, and NaN."""
    vocab_size = draw(st.integers(1, 40) | st.integers(1, most))
    count = draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = generator.normal(size=(count, vocab_size))
    for place in range(count):
        row = logits[place] * draw(st.sampled_from([0.0, 0.01, 1.0, 5.0, 1e4]))
        steps = draw(st.sampled_from([0, 0, 1, 4]))  # of a unit: ties
        if steps:
            row = np.round(row * steps) / steps
        masked = draw(st.sampled_from([0.0, 0.0, 0.5, 0.99]))
        row[generator.random(vocab_size) < masked] = -math.inf
        if not np.isfinite(row).any():
            row[vocab_size // 2] = 0.0
        if draw(st.integers(0, 9)) == 0:
            row[generator.integers(vocab_size)] = math.nan
        logits[place] = row
    return Rows.of(logits, [draw(parameters(vocab_size)) for _ in range(count)])
