"""Instruction sets: the kernels' sets, and this machine's as the system reports them.

Called by `yaie.kernels.library_search` before a library exists: the first use compiles the best set
alone. A loaded library detects the processor's sets itself.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

PORTABLE = "portable"
CPU_DESCRIPTION = Path("/proc/cpuinfo")
INTEL = "GenuineIntel"

# The sets in csrc/kernels.cpp, best first, with the names of their features in Linux.
_AVX512 = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "fma")
X86_64: dict[str, tuple[str, ...]] = {
    "amx": (*_AVX512, "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"),
    "bf16": (*_AVX512, "avx512_vnni", "avx512_bf16"),
    "vnni": (*_AVX512, "avx512_vnni"),
    "avx512": _AVX512,
    "avx2": ("avx2", "fma", "f16c"),
}

WITH_BF16 = ("amx", "bf16")  # sets that multiply bf16


@cache
def of_this_machine() -> tuple[str, ...]:
    """Return this machine's sets by name, best first; `portable` alone if undetectable."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return (PORTABLE,)
    has = _read_features("flags")
    found = [name for name, needed in X86_64.items() if has.issuperset(needed)]
    if INTEL in _read_features("vendor_id") and "bf16" in found:
        # Float32 products were 1.1 (one row) to 1.7 times (32 rows) as fast as bf16 ones on a Xeon
        # without AMX: docs/benchmarks/results.md. csrc/kernels.cpp has the same rule.
        found.remove("bf16")
        found.insert(found.index("vnni") + 1, "bf16")
    return (*found, PORTABLE)


def _read_features(key: str) -> frozenset[str]:
    """Return the words on a line about the first processor.

    Linux omits features whose registers it does not save.
    """
    try:
        with CPU_DESCRIPTION.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return frozenset(value.split())
    except OSError:
        pass  # another system, or a container that hides it
    return frozenset()
