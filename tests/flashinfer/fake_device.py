"""FlashInfer without a GPU: its wrappers, planner and dispatch run, tensors stay on the CPU.

`use()` changes torch and FlashInfer for the whole process, so its tests have one of their own,
with the environment of `modules.environment` (`make test-flashinfer`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import types
from pathlib import Path
from typing import NamedTuple

import torch

from tests.flashinfer.modules import RUNTIME

VARIABLE = "YAIE_FAKE_CUDA"
NUM_MULTIPROCESSORS = 132
GARBAGE = 0x7F  # in every plan's buffer before it is filled: an entry that is read must be written


class _CLaunch(ctypes.Structure):
    """A launch, as the runtime notes it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
    )


class Launch(NamedTuple):
    """A recorded launch of a device kernel."""

    name: str  # mangled
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int  # dynamic shared memory in bytes


class FakeRuntime:
    """The fake CUDA runtime of this process."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._library.yaie_launch.restype = _CLaunch

    def record_kernels(self) -> None:
        """Record launches of device kernels from now on; they compute nothing."""
        self._library.yaie_record_kernels(1)

    def take_kernels(self) -> list[Launch]:
        """Return the launches since the last call, in order."""
        found = [self._library.yaie_launch(i) for i in range(self._library.yaie_num_launches())]
        self._library.yaie_forget_launches()
        return [
            Launch(each.name.decode(), tuple(each.grid), tuple(each.block), each.shared)
            for each in found
        ]

    def take_launches(self) -> list[str]:
        """Return the names of launches since the last call, in order."""
        return [launch.name for launch in self.take_kernels()]

    @property
    def num_reads(self) -> int:
        """Copies from the device to the host so far."""
        return int(self._library.yaie_num_reads())


def use() -> FakeRuntime:
    """Make FlashInfer believe in a device; return its runtime."""
    target = Path(os.environ[VARIABLE])
    runtime = FakeRuntime(target / "runtime" / RUNTIME)
    _unpin_memory()
    torch.cuda.device = lambda device: contextlib.nullcontext()  # type: ignore[assignment,misc]
    import flashinfer
    from flashinfer.jit import env

    env.FLASHINFER_AOT_DIR = target / "aot"
    properties = types.SimpleNamespace(
        major=9, minor=0, multi_processor_count=NUM_MULTIPROCESSORS, name="fake H200"
    )
    answers = {
        "get_compute_capability": lambda device: (9, 0),
        "get_device_properties": lambda device: properties,
        "get_device_sm_count": lambda device: NUM_MULTIPROCESSORS,
        "is_sm90a_supported": lambda device: True,
        "device_support_pdl": lambda device: False,
    }
    for name, module in list(sys.modules.items()):
        if name == "flashinfer" or name.startswith("flashinfer."):
            for attribute, answer in answers.items():
                if hasattr(module, attribute):
                    setattr(module, attribute, answer)
    _spoil_plans(flashinfer.BatchDecodeWithPagedKVCacheWrapper)
    _spoil_plans(flashinfer.BatchPrefillWithPagedKVCacheWrapper)
    return runtime


def _unpin_memory() -> None:
    """Let torch ignore `pin_memory`, which needs a device."""
    empty = torch.empty

    def unpinned(*args: object, **keywords: object) -> torch.Tensor:
        keywords.pop("pin_memory", None)
        return empty(*args, **keywords)  # type: ignore[call-overload,no-any-return]

    torch.empty = unpinned  # type: ignore[assignment]


def _spoil_plans(wrapper: type) -> None:
    """Fill a wrapper's integer buffers with garbage before each plan."""
    plan = wrapper.plan  # type: ignore[attr-defined]

    def plan_into_garbage(self, *args, **keywords):  # type: ignore[no-untyped-def]
        self._int_workspace_buffer.fill_(GARBAGE)
        self._pin_memory_int_workspace_buffer.fill_(GARBAGE)
        return plan(self, *args, **keywords)

    wrapper.plan = plan_into_garbage  # type: ignore[attr-defined]
