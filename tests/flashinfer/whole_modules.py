"""FlashInfer's attention modules as it builds them itself, device kernels included.

Built with FlashInfer's own ninja files and nvcc, for the layers of `LAYERS`. The cache is
`$XDG_CACHE_HOME/yaie/flashinfer-tests`, keyed by FlashInfer and nvcc. The folder of finished
modules has the form of FlashInfer's `data/aot`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.flashinfer.modules import Variant, build_runtime, cache, environment, versions

VARIABLE = "YAIE_WHOLE_MODULES"
_DRIVER = "libcuda.so.1"  # empty: the modules name it, and call none of its functions

LAYERS = tuple(
    Variant(kv_dtype=kv_dtype, width=width)
    for width in (128, 64)
    for kv_dtype in ("bfloat16", "float8_e4m3fn")
)


def folder() -> Path:
    """Return the folder of these versions in the cache."""
    return cache() / f"whole-{versions().hexdigest()[:16]}"


def whole_environment(target: Path, runtime: Path) -> dict[str, str]:
    """Return the environment of a process that loads the modules of `target`."""
    return environment(runtime) | {
        "FLASHINFER_WORKSPACE_BASE": str(target),
        "FLASHINFER_EXTRA_LDFLAGS": f"-L{target / 'driver'}",
        "LD_LIBRARY_PATH": os.pathsep.join(
            (str(target / "driver"), environment(runtime)["LD_LIBRARY_PATH"])
        ),
        VARIABLE: str(target),
    }


def build(runtime: Path) -> dict[str, str]:
    """Build what the cache lacks; return the environment for tests of the modules.

    `runtime` is the folder of the fake CUDA runtime.
    """
    target = folder()
    _build_driver(target / "driver")
    build_runtime(runtime / "runtime")
    variables = whole_environment(target, runtime)
    done = subprocess.run(
        [sys.executable, "-m", "tests.flashinfer.whole_modules"],
        env=variables | {"FLASHINFER_DISABLE_JIT": ""},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"FlashInfer's whole modules could not be built in {target}")
    return variables


def _build_driver(to: Path) -> None:
    """Make an empty driver, which FlashInfer's command for the linker asks for."""
    to.mkdir(parents=True, exist_ok=True)
    if (to / "libcuda.so").exists():
        return
    empty = ("gcc", "-shared", "-x", "c", os.devnull, f"-Wl,-soname,{_DRIVER}")
    subprocess.run([*empty, "-o", str(to / _DRIVER)], check=True)
    (to / "libcuda.so").symlink_to(_DRIVER)


def specs() -> list[Any]:
    """Return FlashInfer's build specifications of all modules; the longest first."""
    import torch
    from flashinfer.jit.attention import gen_batch_decode_module
    from flashinfer.jit.attention.modules import _gen_batch_prefill_primary_module

    found: list[list[Any]] = [[], []]
    for layer in LAYERS:
        dtype, kv_dtype = getattr(torch, layer.dtype), getattr(torch, layer.kv_dtype)
        types = (dtype, kv_dtype, dtype, torch.int32, layer.width, layer.width, 0)
        found[0].append(_gen_batch_prefill_primary_module("fa2", *types, False, False, False))
        found[1].append(gen_batch_decode_module(*types, False, False))
    return [*found[0], *found[1]]


def _build_modules() -> None:
    for spec in specs():
        is_there = spec.jit_library_path.exists()
        before = time.monotonic()
        spec.build()  # by ninja, which looks at the sources
        if not is_there:
            size = spec.jit_library_path.stat().st_size
            print(
                f"{spec.name}: {size / 1e6:.1f} MB, {time.monotonic() - before:.0f} s", flush=True
            )


if __name__ == "__main__":
    _build_modules()
