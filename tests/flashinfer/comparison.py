"""Logits of an executor beside those of the reference backend, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass
class Comparison:
    """Sums over the steps that were compared."""

    tolerance: float  # of a logit
    num_steps: int = 0
    num_tokens: int = 0  # compared
    num_near_ties: int = 0
    largest_error: float = 0.0

    def add(self, got: torch.Tensor, expected: torch.Tensor) -> None:
        """Compare the logits of a step, and its greedy tokens except near ties."""
        self.num_steps += 1
        torch.testing.assert_close(got, expected, rtol=0, atol=self.tolerance)
        if len(got):
            self.largest_error = max(self.largest_error, float((got - expected).abs().max()))
        best = expected.topk(2, dim=-1).values
        is_clear = best[:, 0] - best[:, 1] > 2 * self.tolerance
        assert torch.equal(got.argmax(-1)[is_clear], expected.argmax(-1)[is_clear])
        self.num_tokens += int(is_clear.sum())
        self.num_near_ties += int((~is_clear).sum())
