"""Puts a compiled kernel library into the wheel, where there is a compiler: called by hatchling.

It holds every instruction set, so that installing and the first start need no compiler. It never
fails a build: without a compiler the wheel is pure, and the library is compiled on first use or
torch serves. An editable install gets none, as its source changes; HATCH_BUILD_NO_HOOKS=true leaves
it out of every other.
"""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = "yaie/kernels"
# C++'s own library becomes part of the file, as the newest symbols of it are not everywhere; only
# what is used of it, as more would ask for a newer C library.
FLAGS = ("-static-libstdc++", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "-s")
# What a wheel may ask of a system: libgcc_s, old symbols of which torch needs as well, and the C
# library, whose version is in the wheel's name.
SYSTEM_LIBRARIES = re.compile(
    r"(libgcc_s|libc|libm|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d+"
)


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles before the files are gathered, and cleans up after."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to a wheel that is no editable one."""
        self._folder: Path | None = None
        if self.target_name != "wheel" or version != "standard" or sys.platform != "linux":
            return
        build = _load_build(Path(self.root))
        self._folder = Path(tempfile.mkdtemp(prefix="yaie-kernels-"))
        library = self._folder / build.LIBRARY_NAME
        for compiler in build.find_compilers():
            try:
                build.compile_library(compiler, library, flags=FLAGS)
                tag = platform_tag(library)
            except (build.BuildFailed, OSError, subprocess.SubprocessError, ValueError) as error:
                self.app.display_warning(f"no kernels from this compiler: {error}")
                continue
            library.chmod(0o755)
            build_data["force_include"][str(library)] = f"{KERNELS}/{build.LIBRARY_NAME}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{tag}"
            return
        self.app.display_warning("no C++ compiler that works: the wheel holds no compiled kernels")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled; it is in the wheel now."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def platform_tag(library: Path) -> str:
    """The platform that a library needs, in the words of a wheel's name.

    manylinux with the version of the C library, read from the symbols; plain linux where that
    cannot be read. Raises ValueError if it needs other libraries.
    """
    machine = platform.machine()
    objdump = shutil.which("objdump")
    if objdump is None:
        return f"linux_{machine}"
    found = subprocess.run(
        [objdump, "-p", "-T", str(library)], capture_output=True, text=True, check=True
    ).stdout
    for needed in re.findall(r"^\s*NEEDED\s+(\S+)", found, re.MULTILINE):
        if not SYSTEM_LIBRARIES.fullmatch(needed):
            raise ValueError(f"the compiled library needs {needed}")
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", found)
    if not versions:
        return f"linux_{machine}"  # another C library
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    return f"manylinux_{major}_{minor}_{machine}"


def _load_build(root: Path) -> ModuleType:
    """`yaie.kernels.build` from the source: YAIE itself is not installed where a wheel is built."""
    path = root / KERNELS / "build.py"
    spec = importlib.util.spec_from_file_location("yaie_kernels_build", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
