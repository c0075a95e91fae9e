"""Every call of FlashInfer bound to the signatures of the installed version.

A recording stands in for a wrapper and binds what `PlannedWrapper` passes to the real method. The
plan of decode takes any keyword, so its keywords are compared with those of the implementation
behind it.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.flashinfer.fake_layers import kind_with
from yaie.attention.flashinfer import wrappers
from yaie.attention.flashinfer.cascade import Groups
from yaie.attention.flashinfer.wrappers import LayerKind, PlannedWrapper, Role
from yaie.device import gpu_packages
from yaie.device.queue import PlainQueue

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("flashinfer") is None, reason="flashinfer-python is not installed"
)
CPU = torch.device("cpu")


class Recording:
    """A wrapper of FlashInfer that binds its arguments and computes nothing."""

    def __init__(self, real: type, *args: object, **keywords: object) -> None:
        self._real = real
        inspect.signature(real).bind(*args, **keywords)
        self.planned: inspect.BoundArguments | None = None

    def plan(self, *args: object, **keywords: object) -> None:
        plan: Callable[..., Any] = getattr(self._real, "_plan_impl", self._real.plan)  # type: ignore[attr-defined]
        self.planned = inspect.signature(plan).bind(self, *args, **keywords)

    def run(self, queries: torch.Tensor, *args: object, **keywords: object) -> object:
        run = self._real.run  # type: ignore[attr-defined]
        bound = inspect.signature(run).bind(self, queries, *args, **keywords)
        lse = torch.ones(queries.shape[:2])
        return (queries, lse) if bound.arguments.get("return_lse") else queries


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    import flashinfer

    made: list[Recording] = []
    for name in ("BatchDecodeWithPagedKVCacheWrapper", "BatchPrefillWithPagedKVCacheWrapper"):
        real = getattr(flashinfer, name)

        def make(*args: object, real: type = real, **keywords: object) -> Recording:
            made.append(Recording(real, *args, **keywords))
            return made[-1]

        monkeypatch.setattr(flashinfer, name, make)
    return made


def test_the_installed_version_is_in_the_window() -> None:
    assert gpu_packages.check_flashinfer() is None


@pytest.mark.parametrize("role", ["decode", "extend", "shared"])
@pytest.mark.parametrize(
    "kind", [kind_with(), kind_with(softcap=30.0, sliding_window=9), kind_with(num_heads=14)]
)
def test_calls_bind(recordings: list[Recording], role: Role, kind: LayerKind) -> None:
    wrapper = PlannedWrapper(role, kind, torch.zeros(16, dtype=torch.uint8), PlainQueue(CPU))
    groups = Groups(
        query_indptr=np.array([0, 1, 2], dtype=np.int32),
        key_indptr=np.array([0, 3, 3], dtype=np.int32),
        slots=np.array([5, 6, 7], dtype=np.int32),
    )
    wrapper.plan(groups, window_left=8)
    queries, pool = torch.zeros(2, kind.num_heads, 64), torch.zeros(9, kind.num_kv_heads, 64)
    assert wrapper.run(queries, pool, pool) is queries
    assert torch.equal(
        wrapper.run_partial(queries, pool, pool).lse, torch.full((2, kind.num_heads), 0.6931472)
    )
    (recording,) = recordings
    planned = recording.planned
    assert planned is not None
    # 64-bit arrays would select, and compile, other modules.
    for value in planned.arguments.values():
        if isinstance(value, torch.Tensor):
            assert value.dtype == torch.int32
    assert planned.arguments["window_left"] == 8
    assert planned.arguments["q_data_type"] == torch.bfloat16


def test_last_pages_of_groups_without_keys_are_empty() -> None:
    groups = Groups(*(np.array(each, dtype=np.int32) for each in ([0, 1, 2], [0, 3, 3], [1, 2, 3])))
    assert groups.has_keys.tolist() == [1, 0]


def test_groups_that_decode_refuses_use_the_kernel_on_tensor_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[dict[str, object]] = []
    monkeypatch.setattr(
        "flashinfer.BatchDecodeWithPagedKVCacheWrapper",
        lambda *args, **keywords: made.append(keywords),
    )
    for num_heads in (2, 4, 10, 14):  # groups of 1, 2, 5 and 7
        wrappers._make("decode", kind_with(num_heads=num_heads), torch.zeros(1))
    assert [each["use_tensor_cores"] for each in made] == [False, False, True, True]
