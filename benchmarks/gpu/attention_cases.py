"""Cases for attention backends: step plans, and pools whose unused slots hold NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from benchmarks.gpu.shapes import SHAPES
from tests.attention.dense import dense_attention
from tests.attention.trees import RandomTree, decode_step
from yaie.attention.backend import AttentionBackend
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import make_queue
from yaie.kvcache.pool import KVPool, LayerShape

NUM_SLOTS = 4097  # the last one is spare: it belongs to no token


def layer_of(shape: str) -> AttentionSpec:
    """Return a layer of a model shape."""
    settings = SHAPES[shape].settings
    heads = settings["num_attention_heads"]
    width = settings.get("head_dim", settings["hidden_size"] // heads)
    return AttentionSpec(
        layer=0,
        num_heads=heads,
        num_kv_heads=settings["num_key_value_heads"],
        key_width=width,
        value_width=width,
        scale=width**-0.5,
    )


def unshared_step(num_rows: int, length: int) -> StepPlan:
    """Plan a decode step of sequences that share nothing."""
    rows = np.arange(num_rows, dtype=np.int64)
    segments = tuple(
        Segment(row * length + np.arange(length), 0, row, row + 1, level=0)
        for row in range(num_rows)
    )
    return StepPlan(
        token_ids=rows,
        positions=np.full(num_rows, length - 1),
        slots=rows * length + length - 1,
        written_rows=rows,
        logit_rows=rows,
        segments=segments,
        kv_tokens_read=num_rows * length,
        kv_tokens_unshared=num_rows * length,
    )


def prompt_step(num_rows: int) -> StepPlan:
    """Plan the prompt of one sequence."""
    rows = np.arange(num_rows, dtype=np.int64)
    return StepPlan(
        token_ids=rows,
        positions=rows,
        slots=rows,
        written_rows=rows,
        logit_rows=rows[-1:],
        segments=(Segment(rows, 0, 0, num_rows, level=0),),
        kv_tokens_read=num_rows,
        kv_tokens_unshared=num_rows,
    )


def _random_tree(seed: int) -> StepPlan:
    plan = RandomTree(seed, longest=40).plan()
    num_keys = sum(len(segment.slots) for segment in plan.segments)
    return replace(plan, kv_tokens_read=num_keys, kv_tokens_unshared=num_keys)


DECODE_STEPS: Mapping[str, StepPlan] = {
    "decode 1 x 7": unshared_step(1, 7),
    "decode 37 x 64": unshared_step(37, 64),
    "decode 5 x 333": unshared_step(5, 333),
    "decode 16 behind 500": decode_step(16, 500, 30),
}
STEPS: Mapping[str, StepPlan] = {
    **{f"tree {seed}": _random_tree(seed) for seed in range(6)},
    **DECODE_STEPS,
    "prompt of 300": prompt_step(300),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A step of one layer with random numbers; all tensors but `expected` are on the device."""

    plan: StepPlan
    spec: AttentionSpec
    queries: torch.Tensor  # [rows, heads, width]
    new_keys: torch.Tensor  # [rows, kv_heads, width], of the rows themselves
    new_values: torch.Tensor
    keys: torch.Tensor  # [NUM_SLOTS, kv_heads, width], of the tokens before
    values: torch.Tensor
    expected: torch.Tensor  # [rows, heads, width] in float64


def make_case(
    plan: StepPlan, spec: AttentionSpec, dtype: torch.dtype, device: torch.device
) -> Case:
    """Draw numbers for a plan.

    Slots that no row reads hold NaN, except the spare one, and so do those that the step writes.
    """
    generator = torch.Generator().manual_seed(plan.num_rows)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(dtype)

    queries = draw(plan.num_rows, spec.num_heads, spec.key_width)
    keys = draw(NUM_SLOTS, spec.num_kv_heads, spec.key_width)
    values = draw(NUM_SLOTS, spec.num_kv_heads, spec.value_width)
    expected = dense_attention(plan, spec, queries, keys, values, sinks=None)
    new_keys, new_values = keys[plan.slots], values[plan.slots]
    read = np.concatenate([segment.slots for segment in plan.segments])
    before = np.setdiff1d(read, plan.slots)
    hidden = np.setdiff1d(np.arange(NUM_SLOTS - 1), before)
    keys[hidden], values[hidden] = torch.nan, torch.nan
    return Case(
        plan,
        spec,
        queries=queries.to(device),
        new_keys=new_keys.to(device),
        new_values=new_values.to(device),
        keys=keys.to(device),
        values=values.to(device),
        expected=expected,
    )


def make_pool(spec: AttentionSpec, dtype: torch.dtype, device: torch.device) -> KVPool:
    """Return the pool of one layer, in the layout that all backends read on a GPU."""
    layer = LayerShape(spec.num_kv_heads, spec.key_width, spec.value_width)
    return KVPool([layer], NUM_SLOTS, dtype, device, layout="NHD")


def _make_flashinfer(device: torch.device) -> dict[str, AttentionBackend]:
    from yaie.attention.flashinfer.backend import FlashInferBackend

    cascade = FlashInferBackend(device)
    return {"cascade": cascade, "decode": cascade.make_unshared()}


def _make_triton(device: torch.device) -> dict[str, AttentionBackend]:
    from yaie.attention.tree_decode.backend import TreeDecodeBackend

    return {"tree": TreeDecodeBackend(make_queue(device))}


# Backends by the name of the setting; each has one or more methods of attention.
BACKENDS: Mapping[str, Callable[[torch.device], dict[str, AttentionBackend]]] = {
    "flashinfer": _make_flashinfer,
    "triton": _make_triton,
    "reference": lambda device: {"reference": ReferenceBackend()},
}
