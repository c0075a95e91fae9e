"""Attention cost model for GPUs: estimates a step by separate paths, by cascade and by tree.

Pure and torch-free. A decode step is bound by memory traffic, so an estimate is the time to move a
method's bytes in all layers, plus its launches. The keys of a segment, read again for another row,
come from the L2 cache if they fit there.

| method | reads a shared segment | partials | launches a layer |
| --- | --- | --- | --- |
| decode | once for each row | none | 1 |
| cascade | once for each tile of rows | one for each row and segment | 3 |
| tree | once for each block of rows | one for each row and segment | 2 |

A cascade without shared segments, or in a layer whose window hides a key, is decode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import COLUMNS, IntArray, as_table
from yaie.attention.spec import AttentionSpec

Method = Literal["decode", "cascade", "tree"]
METHODS: tuple[Method, ...] = ("decode", "cascade", "tree")
_LAUNCHES: dict[Method, int] = {"decode": 1, "cascade": 3, "tree": 2}
_PARTIAL_BYTES = 4  # a float32, written and read again
_CASCADE_LINES = 128  # rows times group size of FlashInfer's largest tile
_TREE_LINES = 64  # rows per wide item


@dataclass(frozen=True, slots=True)
class DeviceTraits:
    """GPU traits for the estimates. The defaults are an H200's.

    `measure_traits` measures the memory traits when an engine starts.
    """

    bytes_per_s: float = 4.3e12
    cached_bytes_per_s: float = 6e12
    cache_bytes: int = 60 * 1024**2
    launch_s: float = 2.5e-6  # inside a captured graph
    # The host's time for the launches of a layer, which a captured graph saves: four Triton kernels
    # at 20 to 30 us, four products, and attention at 40 to 60 us a call.
    uncaptured_layer_s: float = 200e-6
    # The host's time for what a cascade adds to a layer: gathered queries, a second call, and a
    # merge of twenty launches in torch.
    cascade_layer_s: float = 150e-6


@dataclass(frozen=True, slots=True)
class LayerTraffic:
    """Bytes that one layer moves."""

    key_bytes: int  # one token's keys and values
    partial_bytes: int  # one row's partial, written and read
    group_size: int
    window: int | None = None  # visible keys of a row, as in `AttentionSpec`

    @classmethod
    def of(cls, spec: AttentionSpec, itemsize: int) -> LayerTraffic:
        """Return a layer's traffic; a pool element has `itemsize` bytes."""
        return cls(
            key_bytes=spec.num_kv_heads * (spec.key_width + spec.value_width) * itemsize,
            partial_bytes=2 * _PARTIAL_BYTES * spec.num_heads * (spec.value_width + 1),
            group_size=spec.group_size,
            window=spec.sliding_window,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """One method's cost."""

    num_bytes: int  # read and written, those from the cache included
    num_launches: int
    seconds: float

    def times(self, count: int) -> Estimate:
        """Return the cost for `count` equal layers."""
        return Estimate(self.num_bytes * count, self.num_launches * count, self.seconds * count)

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.num_bytes + other.num_bytes,
            self.num_launches + other.num_launches,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """A step's method, and the estimates for all available methods."""

    method: Method
    estimates: Mapping[Method, Estimate]

    @property
    def estimate(self) -> Estimate:
        """The chosen method's estimate."""
        return self.estimates[self.method]


def choose_attention(
    plan: StepPlan,
    layers: Mapping[LayerTraffic, int],
    device: DeviceTraits,
    *,
    available: Sequence[Method] = METHODS,
) -> MethodChoice:
    """Return the cheapest available method for a step; of equal ones the first.

    layers: the number of layers per type; estimates are sums over all of them.
    """
    windows = {traffic.window for traffic in layers}
    keys = {window: _KeysAndRows.of(plan, window) for window in windows}
    estimates = {method: Estimate(0, 0, 0.0) for method in available}
    for traffic, count in layers.items():
        for method in available:
            cost = _estimate(method, keys[traffic.window], traffic, device)
            estimates[method] += cost.times(count)
    return MethodChoice(min(available, key=lambda method: estimates[method].seconds), estimates)


def choose_for_prompts(
    plan: StepPlan, layers: Mapping[LayerTraffic, int], device: DeviceTraits
) -> Method:
    """Return "cascade" if it saves a step with prompt rows time, else "decode".

    Without a cascade each row run, such as a prompt, reads its whole path at once. So keys are read
    again for each further run below them, and not for each row. Layers whose window hides a key
    share nothing either way.
    """
    columns = dict(zip(COLUMNS, as_table(plan.segments).table.T, strict=True))
    first, end = columns["first_row"], columns["end_row"]
    # A run begins with a segment, after a segment, and where a row does not follow the last row.
    begins = np.zeros(plan.num_rows + 1, dtype=np.int64)
    begins[1:-1] = np.diff(plan.positions) != 1
    begins[first] = begins[end] = 1
    runs = begins.cumsum()
    again = runs[end - 1] - runs[first]
    num_keys = int(((columns["end_slot"] - columns["first_slot"]) * again).sum())
    longest = int(plan.positions.max(initial=0))
    saved_s = 0.0
    for traffic, count in layers.items():
        if traffic.window is None or longest < traffic.window:
            seconds = num_keys * traffic.key_bytes / device.bytes_per_s
            saved_s += count * (seconds - device.cascade_layer_s)
    return "cascade" if saved_s > 0 else "decode"


@dataclass(frozen=True, slots=True)
class _KeysAndRows:
    """Each segment's visible keys and rows."""

    num_keys: IntArray
    num_rows: IntArray
    is_shared: NDArray[np.bool_]
    hides: bool  # True if a row does not see all of its path

    @classmethod
    def of(cls, plan: StepPlan, window: int | None) -> _KeysAndRows:
        columns = dict(zip(COLUMNS, as_table(plan.segments).table.T, strict=True))
        num_keys = columns["end_slot"] - columns["first_slot"]
        rows = columns["first_row"], columns["end_row"]
        hides = window is not None and int(plan.positions.max(initial=0)) >= window
        if hides and len(num_keys):
            assert window is not None
            bounds = np.stack(rows, axis=1).ravel()
            padded = np.append(plan.positions, 0)  # `end_row` may be the number of rows
            lowest = np.minimum.reduceat(padded, bounds)[::2]
            hidden = np.maximum(lowest - window + 1 - columns["first_position"], 0)
            num_keys = np.maximum(num_keys - hidden, 0)
        num_rows = rows[1] - rows[0]
        return cls(num_keys, num_rows, (num_rows > 1) & (num_keys > 0), hides)


def _estimate(
    method: Method, keys: _KeysAndRows, traffic: LayerTraffic, device: DeviceTraits
) -> Estimate:
    if method == "cascade" and (keys.hides or not keys.is_shared.any()):
        method = "decode"
    lines = {"decode": 1, "cascade": _CASCADE_LINES, "tree": _TREE_LINES}[method]
    rows_at_once = max(lines // traffic.group_size, 1) if method != "decode" else 1
    key_bytes = keys.num_keys * traffic.key_bytes
    again = key_bytes * (-(-keys.num_rows // rows_at_once) - 1)
    cached_bytes = int(again[key_bytes <= device.cache_bytes].sum())
    far_bytes = int(key_bytes.sum()) + int(again.sum()) - cached_bytes
    if method != "decode":
        far_bytes += int(keys.num_rows[keys.num_keys > 0].sum()) * traffic.partial_bytes
    launches = _LAUNCHES[method]
    seconds = (
        far_bytes / device.bytes_per_s
        + cached_bytes / device.cached_bytes_per_s
        + launches * device.launch_s
    )
    return Estimate(far_bytes + cached_bytes, launches, seconds)
