"""Probe: launches the kernels before they serve, and checks their results.

A compiler may be missing, and a layout, mask or item may be wrong on a device that no test has run
on. Each layer type computes small random steps, here and in plain torch on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from yaie.attention.backend import AttentionBackend, PreparedStep
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.probe_plan import plan_probe
from yaie.attention.tree_decode.variants import Variant
from yaie.base.errors import ConfigError
from yaie.kvcache.pool import KVPool, LayerShape

# Of a head's output, relative to its length. Weights in bfloat16 err by 0.005, and one key more or
# less changes some head by 0.1.
_TOLERANCE = 0.02
_CPU = torch.device("cpu")


def probe_layers(
    backend: AttentionBackend,
    specs: Sequence[AttentionSpec],
    dtype: torch.dtype,
    kv_dtype: torch.dtype,
    device: torch.device,
) -> None:
    """Compute a tree and a single path in each layer type, from a filled pool.

    That launches each kernel with wide and with narrow items, over keys that are cut and merged.
    backend: a `TreeDecodeBackend` that no step has used. Raises `ConfigError` if it fails, or
    differs from `ReferenceBackend` in float32.
    """
    reason = None
    try:
        for spec in dict.fromkeys(replace(each, layer=0, kv_layer=None) for each in specs):
            for name, error in _errors(backend, spec, dtype, kv_dtype, device):
                if reason is None and not error < _TOLERANCE:
                    reason = (
                        f"they compute wrong values for heads of {spec.value_width}: "
                        f"relative error {error:.1e} in {name}"
                    )
    except Exception as error:  # Triton's: no compiler, an unknown device
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
    if reason is not None:
        raise ConfigError(
            f"the Triton kernels do not run on this device ({reason}); install a C compiler if it "
            "is missing, or use attention_backend='reference'",
            param="attention_backend",
        )


def _errors(
    backend: AttentionBackend,
    spec: AttentionSpec,
    dtype: torch.dtype,
    kv_dtype: torch.dtype,
    device: torch.device,
) -> Iterator[tuple[str, float]]:
    """Yield each step's name and its largest head error."""
    plans = plan_probe(Variant.of(spec, dtype.itemsize).tiling(spec))
    shape = LayerShape(spec.num_kv_heads, spec.key_width, spec.value_width)
    found, expected = (
        _Side(each, spec, KVPool([shape], plans.num_slots, kv_dtype, place, layout="NHD"), place)
        for each, place in ((backend, device), (ReferenceBackend(), _CPU))
    )
    generator = torch.Generator().manual_seed(0)

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=generator).to(dtype)

    def rows(plan: StepPlan) -> tuple[torch.Tensor, torch.Tensor]:
        count = plan.num_rows, spec.num_kv_heads
        return normal(*count, spec.key_width), normal(*count, spec.value_width)

    stored = rows(plans.stored)
    for side in (found, expected):
        side.write(plans.stored, *stored)
    for name, plan in (("a tree", plans.tree), ("a single path", plans.path)):
        new, queries = rows(plan), normal(plan.num_rows, spec.num_heads, spec.key_width)
        # Each as heavy as about fifty keys, so that it shows.
        sinks = normal(spec.num_heads) + 4 if spec.has_sinks else None
        output = found.attend(found.write(plan, *new), queries, sinks)
        exact = expected.attend(expected.write(plan, *new), queries.float(), sinks)
        difference = torch.linalg.vector_norm(output.float() - exact, dim=-1)
        yield name, float((difference / torch.linalg.vector_norm(exact, dim=-1)).max())


class _Side:
    """One backend under comparison, with a one-layer pool."""

    def __init__(
        self, backend: AttentionBackend, spec: AttentionSpec, pool: KVPool, device: torch.device
    ) -> None:
        self._backend = backend
        self._spec = spec
        self._keys, self._values = pool.keys(0), pool.values(0)
        self._device = device

    def write(self, plan: StepPlan, keys: torch.Tensor, values: torch.Tensor) -> PreparedStep:
        """Prepare a step, and write its rows' keys and values into the pool."""
        step, device = self._backend.prepare(plan, self._device), self._device
        step.write(self._keys, self._values, keys.to(device), values.to(device))
        return step

    def attend(
        self, step: PreparedStep, queries: torch.Tensor, sinks: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the outputs [rows, heads, value_width] on the CPU."""
        there = None if sinks is None else sinks.to(self._device)
        queries = queries.to(self._device)
        return step.attend(self._spec, queries, self._keys, self._values, there).cpu()
