"""Attention of single rows over their whole path, in float64: the oracle of the backends."""

from __future__ import annotations

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec


def path_of(plan: StepPlan, row: int) -> dict[int, int]:
    """Return the slot of each key visible to the row, by position."""
    found: dict[int, int] = {}
    for segment in plan.segments:
        if segment.first_row <= row < segment.end_row:
            for index, slot in enumerate(segment.slots.tolist()):
                position = segment.first_position + index
                if position <= plan.positions[row]:
                    assert position not in found, "a key is in two segments of one row"
                    found[position] = slot
    return found


def dense_attention(
    plan: StepPlan,
    spec: AttentionSpec,
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    *,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """Return [rows, heads, value_width] in float64; arguments as in `PreparedStep.attend`."""
    output = torch.zeros(plan.num_rows, spec.num_heads, spec.value_width, dtype=torch.float64)
    for row in range(plan.num_rows):
        position = int(plan.positions[row])
        seen = {
            key: slot
            for key, slot in path_of(plan, row).items()
            if spec.sliding_window is None or position - key < spec.sliding_window
        }
        slots = torch.tensor(list(seen.values()))
        groups = queries[row].double().view(spec.num_kv_heads, spec.group_size, -1)
        scores = torch.einsum("kgw,nkw->kgn", groups, keys[slots].double()) * spec.scale
        if spec.softcap is not None:
            scores = spec.softcap * torch.tanh(scores / spec.softcap)
        if sinks is not None:
            scores = torch.cat([scores, sinks.double().view(*groups.shape[:2], 1)], dim=-1)
        weights = scores.softmax(-1)[..., : len(slots)]
        result = torch.einsum("kgn,nkw->kgw", weights, values[slots].double())
        output[row] = result.reshape(spec.num_heads, -1)
    return output
