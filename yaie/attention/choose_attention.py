"""Cost model of a step's attention on a GPU: every path by itself, a cascade, or the whole tree.

Pure and torch-free. A decode step is bound by memory traffic, so an estimate is the time of the
bytes that a method moves in one layer, plus its launches. The keys of a segment, read again for
another row, come from the L2 cache if they fit there.

| method | reads a shared segment | partials | launches |
| --- | --- | --- | --- |
| decode | once for each row | none | 1 |
| cascade | once for each tile of rows | one for each row and segment | 3 |
| tree | once for each block of rows | one for each row and segment | 2 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from yaie.attention.segment_table import COLUMNS, IntArray, Segment, as_table
from yaie.attention.spec import AttentionSpec

Method = Literal["decode", "cascade", "tree"]
METHODS: tuple[Method, ...] = ("decode", "cascade", "tree")
_LAUNCHES: dict[Method, int] = {"decode": 1, "cascade": 3, "tree": 2}
_PARTIAL_BYTES = 4  # of a float32, written and read again
_CASCADE_LINES = 128  # rows times group size of FlashInfer's largest tile
_TREE_LINES = 64  # of a wide item


@dataclass(frozen=True, slots=True)
class DeviceTraits:
    """Figures of a GPU that estimates rest on. The defaults are an H200's."""

    bytes_per_s: float = 4.3e12
    cached_bytes_per_s: float = 6e12
    cache_bytes: int = 60 * 1024**2
    launch_s: float = 2.5e-6  # inside a captured graph


@dataclass(frozen=True, slots=True)
class LayerTraffic:
    """Bytes that one layer moves."""

    key_bytes: int  # of the keys and values of one token
    partial_bytes: int  # of one row's partial, written and read
    group_size: int

    @classmethod
    def of(cls, spec: AttentionSpec, itemsize: int) -> LayerTraffic:
        """Return the traffic of a layer whose pool has elements of `itemsize` bytes."""
        return cls(
            key_bytes=spec.num_kv_heads * (spec.key_width + spec.value_width) * itemsize,
            partial_bytes=2 * _PARTIAL_BYTES * spec.num_heads * (spec.value_width + 1),
            group_size=spec.group_size,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of one method in one layer."""

    num_bytes: int  # read and written, those from the cache included
    num_launches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The cheapest method of a step, and the estimates of all."""

    method: Method
    estimates: dict[Method, Estimate]

    @property
    def estimate(self) -> Estimate:
        """The estimate of the chosen method."""
        return self.estimates[self.method]


def choose_attention(
    segments: Sequence[Segment],
    traffic: LayerTraffic,
    device: DeviceTraits,
    *,
    available: Sequence[Method] = METHODS,
) -> Choice:
    """Return the cheapest available method for a step's segments; of equal ones the first."""
    columns = dict(zip(COLUMNS, as_table(segments).table.T, strict=True))
    num_keys = columns["end_slot"] - columns["first_slot"]
    num_rows = columns["end_row"] - columns["first_row"]
    estimates = {
        method: _estimate(method, num_keys, num_rows, traffic, device) for method in available
    }
    return Choice(min(available, key=lambda method: estimates[method].seconds), estimates)


def _estimate(
    method: Method,
    num_keys: IntArray,
    num_rows: IntArray,
    traffic: LayerTraffic,
    device: DeviceTraits,
) -> Estimate:
    lines = {"decode": 1, "cascade": _CASCADE_LINES, "tree": _TREE_LINES}[method]
    rows_at_once = max(lines // traffic.group_size, 1) if method != "decode" else 1
    key_bytes = num_keys * traffic.key_bytes
    again = key_bytes * (-(-num_rows // rows_at_once) - 1)
    is_cached = key_bytes <= device.cache_bytes
    first_bytes = int(key_bytes.sum())
    cached_bytes = int(again[is_cached].sum())
    far_bytes = first_bytes + int(again.sum()) - cached_bytes
    if method != "decode":
        far_bytes += int(num_rows.sum()) * traffic.partial_bytes
    launches = _LAUNCHES[method]
    if method == "cascade" and not np.any(num_rows > 1):
        launches = 1  # without shared segments it is one call
    seconds = (
        far_bytes / device.bytes_per_s
        + cached_bytes / device.cached_bytes_per_s
        + launches * device.launch_s
    )
    return Estimate(far_bytes + cached_bytes, launches, seconds)
