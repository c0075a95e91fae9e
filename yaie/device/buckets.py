"""Buckets: batch sizes for which programs and captured graphs are made. Pure."""

from __future__ import annotations

_SMALL = (1, 2, 4)
_STEP = 8  # a multiple of 8 rows from 8 on; of 32 from 64 on; of 128 from 512 on


def bucket_of(count: int) -> int:
    """Return the least bucket size for `count` rows, at least 1."""
    for size in _SMALL:
        if count <= size:
            return size
    step = _STEP if count <= 64 else 32 if count <= 512 else 128
    return -(-count // step) * step


def buckets_up_to(most: int) -> list[int]:
    """Return the ascending bucket sizes for 1 to `most` rows."""
    sizes: list[int] = []
    count = 1
    while not sizes or sizes[-1] < most:
        sizes.append(bucket_of(count))
        count = sizes[-1] + 1
    return sizes
