"""FlashInfer's attention modules with host kernels in place of its device kernels.

Built with nvcc from FlashInfer's own binding, dispatch and planner, and the sources beside this
file. The cache is `$XDG_CACHE_HOME/yaie/flashinfer-tests`, keyed by FlashInfer, nvcc and sources.
FlashInfer's device kernels of prefill are not compiled: nothing here could run them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ARCHITECTURE = "9.0a"
RUNTIME = "libcudart.so.13"


@dataclass(frozen=True)
class Variant:
    """The compile-time choices of a prefill module, and of a decode module without a window.

    The backend leaves keys outside of the window out of a decode row's list.
    """

    dtype: str = "bfloat16"
    kv_dtype: str = "bfloat16"
    window: bool = False
    softcap: bool = False
    width: int = 64


VARIANTS = (
    Variant(),
    Variant(window=True),
    Variant(softcap=True),
    Variant(window=True, softcap=True),
    Variant(dtype="float16", kv_dtype="float16"),
    Variant(kv_dtype="float8_e4m3fn"),
)


def missing() -> str | None:
    """Return the reason why the modules cannot be built; None if they can."""
    try:
        version("flashinfer-python")
    except PackageNotFoundError:
        return "flashinfer-python is not installed"
    if _cuda_home() is None:
        return "nvcc is not installed; set CUDA_HOME or put it on the PATH"
    if shutil.which("gcc") is None:
        return "gcc is not installed"
    return None


def _cuda_home() -> Path | None:
    named = os.environ.get("CUDA_HOME")
    for home in (Path(named) if named else None, Path("/usr/local/cuda")):
        if home is not None and (home / "bin/nvcc").is_file():
            return home
    found = shutil.which("nvcc")
    return Path(found).resolve().parent.parent if found else None


def folder() -> Path:
    """Return the folder of these versions and sources in the cache."""
    digest = versions()
    for path in sorted(HERE.iterdir()):
        if path.suffix in (".cu", ".cuh"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return cache() / digest.hexdigest()[:16]


def cache() -> Path:
    """Return the folder of all versions."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "yaie/flashinfer-tests"


def versions() -> hashlib._Hash:
    """Return a digest of the versions of FlashInfer and nvcc."""
    home = _cuda_home()
    assert home is not None, missing()
    nvcc = (home / "bin/nvcc").resolve()
    shown = subprocess.run([nvcc, "--version"], capture_output=True, check=True).stdout
    return hashlib.sha256(version("flashinfer-python").encode() + shown)


def environment(target: Path) -> dict[str, str]:
    """Return the environment of a process that loads the modules of `target`."""
    return os.environ | {
        "CUDA_HOME": str(_cuda_home()),
        "FLASHINFER_CUDA_ARCH_LIST": ARCHITECTURE,
        "FLASHINFER_DISABLE_JIT": "1",
        "FLASHINFER_WORKSPACE_BASE": str(target / "generated"),
        "LD_LIBRARY_PATH": os.pathsep.join(
            filter(None, (str(target / "runtime"), os.environ.get("LD_LIBRARY_PATH")))
        ),
        "YAIE_FAKE_CUDA": str(target),
    }


def build() -> Path:
    """Build what the cache lacks, one compilation at a time; return the folder.

    FlashInfer reads its folders when it is imported, so a process of its own compiles.
    """
    target = folder()
    build_runtime(target / "runtime")
    done = subprocess.run(
        [sys.executable, "-m", "tests.flashinfer.modules", str(target)],
        env=environment(target) | {"FLASHINFER_DISABLE_JIT": ""},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"FlashInfer's modules could not be built in {target}")
    return target


def build_runtime(to: Path) -> None:
    """Compile the fake CUDA runtime into the folder `to`."""
    to.mkdir(parents=True, exist_ok=True)
    unfinished = to / f"{RUNTIME}.{os.getpid()}"
    home = _cuda_home()
    subprocess.run(
        [
            *("gcc", "-shared", "-fPIC", "-O1", f"-I{home}/include", f"-Wl,-soname,{RUNTIME}"),
            *(f"-Wl,--version-script={HERE / 'cudart.map'}", str(HERE / "cudart.c")),
            *("-o", str(unfinished)),
        ],
        check=True,
    )
    unfinished.replace(to / RUNTIME)


def _build_modules(target: Path) -> None:
    """Compile and link every variant's modules into `target / "aot"`."""
    for spec in specs():
        library = target / "aot" / spec.name / f"{spec.name}.so"
        if library.exists():
            continue
        name = "decode" if spec.name.startswith("batch_decode") else "prefill"
        commands = spec.get_compile_commands()
        host = next(c for c in commands if c["file"].endswith(f"batch_{name}.cu"))
        objects = [_compile(host, HERE / f"host_{name}.cu")]
        for command in commands:
            # The planner of decode asks for the occupancy of the device kernel, so that stays.
            if "_kernel_mask_" not in command["file"]:
                objects.append(_compile(command, Path(command["file"])))
        library.parent.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(".unfinished")
        linked = ["c++", "-shared", *objects, f"-L{target / 'runtime'}", f"-l:{RUNTIME}"]
        subprocess.run([*linked, "-o", str(unfinished)], check=True)
        unfinished.replace(library)


def _compile(command: dict[str, str], source: Path) -> str:
    """Compile `source` as FlashInfer compiles another of the module; return the object."""
    words = command["command"].split()
    original = command["file"]
    to = Path(command["directory"]) / source.with_suffix(".cuda.o").name
    words = [str(source) if word == original else word for word in words]
    words[words.index("-o") + 1] = str(to)
    words += [f"-I{HERE}", f"-I{Path(original).parent}"]
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(words, check=True)
    return str(to)


def specs() -> list[Any]:
    """Return FlashInfer's build specifications of all modules."""
    import torch
    from flashinfer.jit.attention import gen_batch_decode_module

    found = []
    for variant in VARIANTS:
        dtype, kv_dtype = getattr(torch, variant.dtype), getattr(torch, variant.kv_dtype)
        types = (dtype, kv_dtype, dtype, torch.int32, variant.width, variant.width, 0)
        found.append(_prefill_spec(*types, variant.window, variant.softcap))
        if not variant.window:
            found.append(gen_batch_decode_module(*types, False, variant.softcap))
    return found


def _prefill_spec(*arguments: object) -> Any:
    from flashinfer.jit.attention import modules

    return modules._gen_batch_prefill_primary_module("fa2", *arguments, False)


if __name__ == "__main__":
    _build_modules(Path(sys.argv[1]))
