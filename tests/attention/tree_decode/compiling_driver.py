"""A driver for Triton without a GPU: a launch compiles for an architecture and goes to a function.

Everything before the device is Triton's own: the launcher's binding of arguments, its choice of
types and divisibility, its compiler, and its check of shared memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import triton
from triton.backends.compiler import GPUTarget

BUILD = Path(__file__).resolve().parents[3] / "build/triton"  # Triton's cache: by hash of source

# Bytes of shared memory that a block can have.
SHARED_MEMORY = {80: 163 * 1024, 89: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024, 120: 99 * 1024}


@dataclass(frozen=True)
class Launch:
    """One launch of a compiled kernel, with the arguments that remain after specialization."""

    kernel: Any  # triton's CompiledKernel
    grid: tuple[int, int, int]
    arguments: dict[str, Any]  # tensors and numbers by name, in the order of the parameters

    @property
    def name(self) -> str:
        """The kernel's function."""
        return str(self.kernel.metadata.name)


class CompilingDriver:
    """Triton's driver of one architecture; the number of the device is that of the architecture."""

    def __init__(self, architecture: int, launched: Callable[[Launch], None]) -> None:
        self._architecture = architecture
        self.launched = launched
        self.utils = SimpleNamespace(
            get_device_properties=lambda _: {"max_shared_mem": SHARED_MEMORY[architecture]},
            load_binary=lambda *_: (object(), object(), 0, 0, 1024),
            unload_module=lambda _: None,
        )

    def launcher_cls(self, source: Any, metadata: Any) -> Callable[..., None]:
        """Return the launcher of a compiled kernel."""
        kept = [name for name, kind in source.signature.items() if kind != "constexpr"]

        def launch(*arguments: Any) -> None:
            *grid, _, _, _, _, _, _ = arguments[:9]
            bound = dict(zip(source.signature, arguments[9:], strict=True))
            compiled = source.fn.device_caches[self._architecture][0].values()
            kernel = next(k for k in compiled if k.metadata.hash == metadata.hash)
            kept_arguments = {name: bound[name] for name in kept}
            # A compiled kernel keeps its launcher for longer than this driver is active.
            triton.runtime.driver.active.launched(Launch(kernel, tuple(grid), kept_arguments))

        return launch

    def get_current_device(self) -> int:
        """Return the device of the caches."""
        return self._architecture

    def get_current_stream(self, device: int) -> int:
        """Return the null stream."""
        return 0

    def get_current_target(self) -> GPUTarget:
        """Return the target of the compiler."""
        return GPUTarget("cuda", self._architecture, 32)


@contextlib.contextmanager
def launches_to(architecture: int, launched: Callable[[Launch], None]) -> Iterator[None]:
    """Hand the launches of this process to a function instead of a device."""
    active = triton.runtime.driver._active
    cache = triton.knobs.cache.dir
    triton.knobs.cache.dir = str(BUILD)
    triton.runtime.driver.set_active(CompilingDriver(architecture, launched))
    try:
        yield
    finally:
        triton.runtime.driver._active = active
        triton.knobs.cache.dir = cache
