"""The choice of each step: the least estimate, and what a captured step may cost more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.attention.trees import RandomTree, decode_step
from yaie.attention.cost_model import METHODS, DeviceTraits, LayerTraffic, Method
from yaie.attention.method_selector import MethodSelector
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec

SPEC = AttentionSpec(
    layer=0, num_heads=32, num_kv_heads=8, key_width=128, value_width=128, scale=0.1
)
FULL = LayerTraffic.of(SPEC, itemsize=2)
LAYERS = {FULL: 24, replace(FULL, window=16): 8}
CAPTURED: tuple[Method, ...] = ("decode", "tree")


def traits_of(seed: int) -> DeviceTraits:
    """Return a device on which small plans differ, with launches from none to dear."""
    draw = np.random.default_rng(seed)
    return DeviceTraits(
        bytes_per_s=10 ** draw.uniform(9, 12),
        cached_bytes_per_s=10 ** draw.uniform(9, 12),
        cache_bytes=int(draw.choice((0, 10**5, 10**8))),
        launch_s=10 ** draw.uniform(-9, -5),
        uncaptured_layer_s=10 ** draw.uniform(-8, -4),
    )


def random_plan(seed: int) -> StepPlan:
    if seed % 2:
        return RandomTree(seed).plan()
    draw = np.random.default_rng(seed)
    return decode_step(*(int(draw.integers(1, most)) for most in (60, 200, 60)))


@pytest.mark.parametrize("seed", range(40))
def test_the_chosen_estimate_is_the_least(seed: int) -> None:
    chooser, plan = MethodSelector(LAYERS, traits_of(seed)), random_plan(seed)
    method = chooser.choose(plan)
    assert chooser.choice is not None
    assert chooser.choice.method == method
    seconds = [each.seconds for each in chooser.choice.estimates.values()]
    assert chooser.choice.estimate.seconds == min(seconds)


def test_every_method_is_chosen_by_some_plan_and_device() -> None:
    found = {MethodSelector(LAYERS, traits_of(n)).choose(random_plan(n)) for n in range(40)}
    assert found == set(METHODS)


@pytest.mark.parametrize("seed", range(40))
def test_captured_methods_are_ranked_by_estimate_within_what_they_save(seed: int) -> None:
    traits = traits_of(seed)
    chooser, plan = MethodSelector(LAYERS, traits), random_plan(seed)
    ranked = chooser.rank(plan, CAPTURED)
    chooser.choose(plan)
    assert chooser.choice is not None
    best = chooser.choice.estimate.seconds
    costs = {method: chooser.choice.estimates[method].seconds for method in METHODS}
    bound = best + 32 * traits.uncaptured_layer_s
    assert set(ranked) == {method for method in CAPTURED if costs[method] <= bound}
    assert [costs[method] for method in ranked] == sorted(costs[method] for method in ranked)
    for method in ranked:
        chooser.take(plan, method)
        assert chooser.choice.method == method
        assert chooser.choice.estimate.seconds == costs[method]


def test_a_deep_shared_prefix_leaves_the_graph() -> None:
    """512 rows over 60,000 keys: a cascade without a graph beats any captured step."""
    chooser = MethodSelector({FULL: 32})
    assert chooser.rank(decode_step(512, 60_000, 128), CAPTURED) == []
    assert chooser.rank(decode_step(64, 896, 128), CAPTURED)[0] == "tree"
    assert chooser.rank(decode_step(64, 0, 1024), CAPTURED)[0] == "decode"


def test_a_step_with_prompt_rows_has_no_choice() -> None:
    chooser, plan = MethodSelector(LAYERS), decode_step(4, 100, 10)
    assert chooser.choose(plan) is not None
    fields = {name: getattr(plan, name) for name in StepPlan.__slots__}
    prefill = StepPlan(**{**fields, "logit_rows": plan.logit_rows[1:]})
    assert chooser.choose(prefill) is None
    assert chooser.choice is None
