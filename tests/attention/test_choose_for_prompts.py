"""The choice for steps with prompt rows: a cascade only if sharing saves more than it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.attention.trees import RandomTree
from yaie.attention.cost_model import DeviceTraits, LayerTraffic, choose_for_prompts
from yaie.attention.flashinfer.cascade import RowPaths
from yaie.attention.method_selector import MethodSelector
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import Segment
from yaie.attention.spec import AttentionSpec

SPEC = AttentionSpec(
    layer=0, num_heads=32, num_kv_heads=8, key_width=128, value_width=128, scale=0.1
)
FULL = LayerTraffic.of(SPEC, itemsize=2)
LAYERS = {FULL: 28}
H200 = DeviceTraits()


def prompt_step(num_prefix: int, num_prompt: int, num_decode: int) -> StepPlan:
    """Return a prompt and decode rows below one prefix."""
    num_rows = num_prompt + num_decode
    slots = np.arange(num_prefix + num_rows)
    prefix, own = slots[:num_prefix], slots[num_prefix:]
    segments = [
        Segment(prefix, 0, 0, num_rows, level=0),
        Segment(own[:num_prompt], num_prefix, 0, num_prompt, level=1),
    ]
    for row in range(num_prompt, num_rows):
        segments.append(Segment(own[row : row + 1], num_prefix, row, row + 1, level=1))
    rows = np.arange(num_rows)
    positions = np.full(num_rows, num_prefix)
    positions[:num_prompt] += np.arange(num_prompt)
    return StepPlan(
        token_ids=np.zeros_like(rows),
        positions=positions,
        slots=own,
        written_rows=rows,
        logit_rows=rows[num_prompt - 1 :],
        segments=tuple(segments),
        kv_tokens_read=0,
        kv_tokens_unshared=0,
    )


def test_one_prompt_behind_a_long_prefix_is_one_call() -> None:
    """All of its rows read the prefix at once, with or without a cascade."""
    assert choose_for_prompts(prompt_step(30_000, 2000, 0), LAYERS, H200) == "decode"


@pytest.mark.parametrize(
    ("num_prefix", "num_decode", "method"),
    [(100, 64, "decode"), (2000, 16, "decode"), (2000, 256, "cascade"), (30_000, 16, "cascade")],
)
def test_many_rows_below_a_long_prefix_share_it(
    num_prefix: int, num_decode: int, method: str
) -> None:
    plan = prompt_step(num_prefix, 500, num_decode)
    assert choose_for_prompts(plan, LAYERS, H200) == method


def test_slow_memory_makes_sharing_pay() -> None:
    plan = prompt_step(2000, 500, 16)
    assert choose_for_prompts(plan, LAYERS, replace(H200, bytes_per_s=3e11)) == "cascade"


def test_layers_whose_window_hides_a_key_share_nothing() -> None:
    plan = prompt_step(30_000, 500, 16)
    assert choose_for_prompts(plan, {replace(FULL, window=512): 28}, H200) == "decode"
    assert choose_for_prompts(plan, {replace(FULL, window=40_000): 28}, H200) == "cascade"


def test_without_unshared_steps_all_prompts_are_cascades() -> None:
    chooser = MethodSelector(LAYERS, H200, ("cascade", "tree"))
    assert chooser.choose_for_prompts(prompt_step(100, 500, 0)) == "cascade"


@pytest.mark.parametrize("seed", range(30))
def test_keys_are_read_again_for_each_further_run_of_rows(seed: int) -> None:
    """The border is where the launches cost what these keys take."""
    plan = RandomTree(seed).plan()
    first, last = RowPaths(plan).runs
    again = 0
    for segment in plan.segments:
        inside = (first >= segment.first_row) & (last < segment.end_row)
        again += len(segment.slots) * (int(inside.sum()) - 1)
    seconds = again * FULL.key_bytes / H200.bytes_per_s
    for factor, method in ((0.999, "cascade"), (1.001, "decode")):
        traits = replace(H200, cascade_layer_s=seconds * factor)
        expected = method if again else "decode"
        assert choose_for_prompts(plan, LAYERS, traits) == expected
