"""`RowOutputs`: what a step returns for its rows."""

from __future__ import annotations

from typing import NamedTuple

import torch


class RowOutputs(NamedTuple):
    """A step's outputs in float32, on the model's device."""

    logits: torch.Tensor  # [len(plan.logit_rows), vocab]
    hidden: torch.Tensor  # [len(plan.hidden_rows), hidden] after the last norm
