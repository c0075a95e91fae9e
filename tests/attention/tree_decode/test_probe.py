"""The probe of the kernels, by backends that fail, err or compute right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend, ReferenceStep
from yaie.attention.segment_table import as_table
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.probe import probe_layers
from yaie.attention.tree_decode.probe_plan import plan_probe
from yaie.attention.tree_decode.variants import Variant
from yaie.attention.tree_decode.work_items import Splitting, make_work_items
from yaie.base.errors import ConfigError

CPU = torch.device("cpu")
SPEC = AttentionSpec(layer=3, num_heads=4, num_kv_heads=2, key_width=8, value_width=8, scale=0.3)
KINDS = {
    "plain": SPEC,
    "window": replace(SPEC, sliding_window=4096),
    "short window": replace(SPEC, sliding_window=5),
    "softcap": replace(SPEC, softcap=1.5),
    "sinks": replace(SPEC, has_sinks=True),
    "widths": replace(SPEC, key_width=16, value_width=24),
}
Attend = Callable[..., torch.Tensor]


def probe(
    backend: ReferenceBackend,
    spec: AttentionSpec = SPEC,
    dtype: torch.dtype = torch.bfloat16,
    kv_dtype: torch.dtype = torch.bfloat16,
) -> None:
    probe_layers(backend, [spec], dtype, kv_dtype, CPU)


class Wrong(ReferenceBackend):
    """A backend whose steps attend by another function."""

    def __init__(self, attend: Callable[[ReferenceStep, Attend], Attend]) -> None:
        self._attend = attend

    def prepare(self, plan: StepPlan, device: torch.device) -> ReferenceStep:
        step = super().prepare(plan, device)
        step.attend = self._attend(step, step.attend)  # type: ignore[method-assign]
        return step


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_right_backend_passes(kind: str, dtype: torch.dtype) -> None:
    for kv_dtype in (dtype, torch.int8, torch.float8_e4m3fn):
        probe(ReferenceBackend(), KINDS[kind], dtype, kv_dtype)


def test_a_failure_is_one_line_with_its_reason() -> None:
    class NoCompiler(ReferenceBackend):
        def prepare(self, plan: StepPlan, device: torch.device) -> ReferenceStep:
            raise RuntimeError("Failed to find C compiler.\nmore")

    with pytest.raises(ConfigError) as caught:
        probe(NoCompiler())
    assert "(Failed to find C compiler.)" in caught.value.message
    assert "\n" not in caught.value.message


def with_spec(**changes: Any) -> Callable[[ReferenceStep, Attend], Attend]:
    """Return a step that takes the layer for another one."""

    def changed(step: ReferenceStep, attend: Attend) -> Attend:
        return lambda spec, *tensors: attend(replace(spec, **changes), *tensors)

    return changed


def with_tensors(change: Callable[..., tuple[Any, ...]]) -> Any:
    """Return a step that changes what it reads."""

    def changed(step: ReferenceStep, attend: Attend) -> Attend:
        return lambda spec, *tensors: attend(spec, *change(*tensors))

    return changed


def only_trees(step: ReferenceStep, attend: Attend) -> Attend:
    """Return a step that errs where a kernel would have wide items."""
    if step._plan.num_rows == 1:
        return attend
    return lambda *given: attend(*given).roll(1, dims=0)


def unmasked(step: ReferenceStep, attend: Attend) -> Attend:
    """Return a step whose rows see the keys of later rows."""
    plan = step._plan
    last = plan.positions.copy()
    last[-3:] = last[-1]
    step._plan = replace(plan, positions=last)
    return attend


WRONG = {
    "values": ("plain", lambda step, attend: lambda *given: attend(*given) * 0.95, "a tree"),
    "not a number": ("plain", lambda _, attend: lambda *given: attend(*given) * np.nan, "a tree"),
    "wide items": ("plain", only_trees, "a tree"),
    "causal mask": ("plain", unmasked, "a tree"),
    "window": ("window", with_spec(sliding_window=4097), "a tree"),
    "short window": ("short window", with_spec(sliding_window=4), "a tree"),
    "softcap": ("softcap", with_spec(softcap=None), "a tree"),
    "scale": ("plain", with_spec(scale=0.29), "a tree"),
    "sinks": ("sinks", with_tensors(lambda q, k, v, s: (q, k, v, None)), "a tree"),
    "heads": ("plain", with_tensors(lambda q, k, v, s: (q, k.flip(1), v, s)), "a tree"),
    "slots": ("plain", with_tensors(lambda q, k, v, s: (q, k, v.roll(1, 0), s)), "a tree"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_computed_wrong_is_refused(name: str) -> None:
    kind, attend, where = WRONG[name]
    width = KINDS[kind].value_width
    with pytest.raises(ConfigError, match=f"wrong values for heads of {width}: .* in {where}"):
        probe(Wrong(attend), KINDS[kind])


def test_narrow_items_alone_are_checked_by_themselves() -> None:
    def only_paths(step: ReferenceStep, attend: Attend) -> Attend:
        is_path = step._plan.num_rows == 1
        return lambda *given: attend(*given) * (1.1 if is_path else 1)

    with pytest.raises(ConfigError, match=r"heads of 8: relative error .* in a single path"):
        probe(Wrong(only_paths))


def test_rows_that_are_written_wrong_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ReferenceBackend()

    class WritesElsewhere(ReferenceBackend):
        def prepare(self, plan: StepPlan, device: torch.device) -> ReferenceStep:
            step, real = backend.prepare(plan, device), ReferenceStep.write
            step.write = (  # type: ignore[method-assign]
                lambda keys, values, new_keys, new_values: real(
                    step, keys, values, new_keys, new_values.flip(0)
                )
            )
            return step

    with pytest.raises(ConfigError, match="wrong values"):
        probe(WritesElsewhere())


@pytest.mark.parametrize("group", [1, 2, 4, 7, 8, 16, 32])
@pytest.mark.parametrize("window", [None, 128, 512, 4096])
def test_steps_have_every_kind_of_item(group: int, window: int | None) -> None:
    spec = replace(SPEC, num_heads=2 * group, sliding_window=window)
    tiling = Variant.of(spec, itemsize=2).tiling(spec)
    plans = plan_probe(tiling)

    def items_of(plan: StepPlan) -> Any:
        table = as_table(plan.segments)
        return make_work_items(table, plan.positions, tiling, Splitting(target_programs=528))

    tree, path = items_of(plans.tree), items_of(plans.path)
    assert tree.has_wide
    has_narrow = group <= 16
    assert path.has_wide is not has_narrow
    assert (tree.items[:, 6] == 0).any() == has_narrow
    assert (np.diff(tree.indptr) > 1).all()  # each row merges several partials
    if window is None:
        assert len(path.items) == 4  # of three segments: the longest is cut
    else:  # the window ends inside the shared keys, for each row
        first_visible = plans.tree.positions - window + 1
        (shared,) = (each for each in plans.tree.segments if each.level == 0)
        assert (first_visible > 0).all() and (first_visible < len(shared.slots)).all()
