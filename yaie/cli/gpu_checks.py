"""The doctor's checks of a machine with an NVIDIA GPU: what it lacks, and what mends it.

Without such a device all of them are fine: nothing of it is needed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from yaie.base.own_package import install_command

Result = tuple[Literal["ok", "warning", "failed"], str]

_DRIVER = Path("/proc/driver/nvidia/version")
_CUDA_TORCH = "pip install --force-reinstall torch"  # without an index of CPU builds
_NOT_NEEDED: Result = "ok", "not needed: this machine has no NVIDIA device"


def has_device() -> bool:
    """Return True if the system shows an NVIDIA device, whether torch can use it or not."""
    return _DRIVER.is_file() or Path("/dev/nvidia0").exists() or bool(shutil.which("nvidia-smi"))


def check_torch_and_driver() -> Result:
    """Check that torch is a CUDA build whose driver is there."""
    if not has_device():
        return _NOT_NEEDED
    import torch

    if torch.version.cuda is None:
        return "warning", f"torch {torch.__version__} is a CPU build; {_CUDA_TORCH}"
    if not torch.cuda.is_available():
        return "warning", (
            f"torch needs a driver for CUDA {torch.version.cuda}; `nvidia-smi` shows the one there "
            f"is: install a newer one, or an older torch"
        )
    major, minor = torch.cuda.get_device_capability()
    return "ok", f"CUDA {torch.version.cuda}, compute capability {major}.{minor}"


def check_flashinfer() -> Result:
    """Check that FlashInfer is installed, in a known version."""
    from yaie.device import gpu_packages

    found = gpu_packages.find_flashinfer_version()
    if found is None and not has_device():
        return _NOT_NEEDED
    reason = gpu_packages.check_flashinfer()
    return ("ok", f"{found}") if reason is None else ("warning", reason)


def check_modules() -> Result:
    """Check that FlashInfer's modules are compiled, or that nvcc can compile them."""
    if not has_device():
        return _NOT_NEEDED
    prebuilt = _prebuilt_modules()
    nvcc = find_nvcc()
    if nvcc is not None:
        return "ok", f"{nvcc} compiles FlashInfer's modules at the first start of a model: minutes"
    if prebuilt:
        return "ok", f"{prebuilt} prebuilt modules of FlashInfer; no nvcc for others"
    return "warning", (
        "no nvcc and no prebuilt modules for FlashInfer; pip install nvidia-cuda-nvcc==13.0.* "
        "nvidia-nvvm==13.0.* nvidia-cuda-crt==13.0.* nvidia-cuda-runtime==13.0.* "
        "nvidia-cuda-cccl==13.0.* ninja, and set CUDA_HOME to their folder nvidia/cu13"
    )


def find_nvcc() -> Path | None:
    """Return nvcc where FlashInfer looks for it: CUDA_HOME, the PATH, /usr/local/cuda."""
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    on_path = shutil.which("nvcc")
    candidates = [Path(named) / "bin/nvcc"] if named else []
    candidates += [Path(on_path)] if on_path else []
    candidates.append(Path("/usr/local/cuda/bin/nvcc"))
    return next((path for path in candidates if path.is_file()), None)


def _prebuilt_modules() -> int:
    spec = importlib.util.find_spec("flashinfer")
    if spec is None or not spec.submodule_search_locations:
        return 0
    folder = Path(spec.submodule_search_locations[0]) / "data/aot"
    return len(list(folder.glob("*/*.so")))


def check_triton() -> Result:
    """Check that Triton is installed."""
    try:
        return "ok", version("triton")
    except PackageNotFoundError:
        if not has_device():
            return _NOT_NEEDED
        return "warning", f"not installed; {install_command('gpu')}"
