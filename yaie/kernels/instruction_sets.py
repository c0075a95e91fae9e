"""The instruction sets that the kernels are written for, and which of them this machine has.

Called by `yaie.kernels.loader` before there is a library: what is compiled on first use is the one
set that will be used. A library says by itself which of its sets the processor has.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

PORTABLE = "portable"
CPU_DESCRIPTION = Path("/proc/cpuinfo")
INTEL = "GenuineIntel"

# The blocks and rows of csrc/kernels.cpp, best first, with what Linux calls the features they need.
_AVX512 = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "fma")
X86_64: dict[str, tuple[str, ...]] = {
    "amx": (*_AVX512, "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"),
    "bf16": (*_AVX512, "avx512_vnni", "avx512_bf16"),
    "vnni": (*_AVX512, "avx512_vnni"),
    "avx512": _AVX512,
    "avx2": ("avx2", "fma"),
}


@cache
def of_this_machine() -> tuple[str, ...]:
    """Their names, best first, `portable` last; only that where the system does not tell."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return (PORTABLE,)
    has = _described("flags")
    found = [name for name, needed in X86_64.items() if has.issuperset(needed)]
    if INTEL in _described("vendor_id") and "bf16" in found:
        # Float32 products were 1.1 (one row) to 1.7 times (32 rows) as fast as bf16 ones on a Xeon
        # without tiles: docs/benchmarks/cpu.md. csrc/kernels.cpp has the same rule.
        found.remove("bf16")
        found.insert(found.index("vnni") + 1, "bf16")
    return (*found, PORTABLE)


def _described(what: str) -> frozenset[str]:
    """Words about the first processor. Linux leaves out what it does not save registers for."""
    try:
        with CPU_DESCRIPTION.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == what:
                    return frozenset(value.split())
    except OSError:
        pass  # another system, or one that hides it
    return frozenset()
