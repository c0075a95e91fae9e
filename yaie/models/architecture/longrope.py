"""LongRoPE: chooses one rope table for the whole engine.

transformers chooses by a batch's longest row: the second table if it lies beyond the original
length. Keys in the pool outlive a batch, so all of them need one table. `max_model_len` decides:
within the original length it is the first, otherwise, as by default, the second for every prompt.
"""

from __future__ import annotations

from typing import Any

import torch

from yaie.models.architecture.support import LONGROPE


def use_second_table(model: torch.nn.Module, switch: int) -> int:
    """Make a model's rotary modules use their second table; return their number.

    `switch`: tokens up to which transformers uses the first one.
    """
    number = 0
    for module in model.modules():
        kinds = getattr(module, "rope_type", None)
        if kinds == LONGROPE or (isinstance(kinds, dict) and LONGROPE in kinds.values()):
            module.__dict__["forward"] = _beyond(module.forward, switch)
            number += 1
    return number


def _beyond(forward: Any, switch: int) -> Any:
    """Return a rotary forward that computes one row beyond the switch besides, and drops it."""

    def choose_second(
        x: torch.Tensor, position_ids: torch.Tensor, *others: Any, **named: Any
    ) -> Any:
        far = position_ids.new_full((*position_ids.shape[:-1], 1), switch)
        cosines, sines = forward(x, torch.cat((position_ids, far), dim=-1), *others, **named)
        return cosines[..., :-1, :], sines[..., :-1, :]

    return choose_second
