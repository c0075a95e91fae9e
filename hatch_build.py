"""A build hook of hatchling that adds the compiled kernel library to the wheel.

The library has every instruction set, so that the installation and the first start need no
compiler. Without a compiler the wheel is pure: the library is compiled on first use, or torch
serves. An editable install is pure too, because its source changes; HATCH_BUILD_NO_HOOKS=true
disables the hook.
"""

from __future__ import annotations

import importlib.util
import os
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
# C++'s library is linked statically, because systems may lack its newest symbols; only its used
# parts, because others need a newer C library.
FLAGS = ("-static-libstdc++", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "-s")
# Libraries that a wheel may need: libgcc_s, which torch needs as well, and the C library, whose
# version is in the wheel's name.
SYSTEM_LIBRARIES = re.compile(
    r"(libgcc_s|libc|libm|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d+"
)


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """A hook that compiles before the files are collected, and cleans up after."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to a wheel, except an editable one."""
        self._folder: Path | None = None
        is_supported = sys.platform in ("linux", "darwin")
        if self.target_name != "wheel" or version != "standard" or not is_supported:
            return
        build = _load_build(Path(self.root))
        self._folder = Path(tempfile.mkdtemp(prefix="yaie-kernels-"))
        library = self._folder / build.LIBRARY_NAME
        for compiler in build.find_compilers():
            try:
                flags = FLAGS if sys.platform == "linux" else ()
                build.compile_library(compiler, library, flags=flags)
                tag = platform_tag(library)
            except (build.BuildFailed, OSError, subprocess.SubprocessError, ValueError) as error:
                self.app.display_warning(f"this compiler failed: {error}")
                continue
            library.chmod(0o755)
            build_data["force_include"][str(library)] = f"{KERNELS}/{build.LIBRARY_NAME}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{tag}"
            return
        self.app.display_warning("the wheel has no compiled kernels, because no C++ compiler works")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compiled file, which is in the wheel now."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def platform_tag(library: Path) -> str:
    """Return the platform tag of a wheel with this library.

    On Linux it is manylinux with the C library's version, read from the symbols, or linux if that
    fails. On macOS it has the system that the compiler targets. Raises ValueError if the library
    needs others.
    """
    machine = platform.machine()
    if sys.platform == "darwin":
        oldest = os.environ.get("MACOSX_DEPLOYMENT_TARGET") or platform.mac_ver()[0]
        return f"macosx_{oldest.partition('.')[0]}_0_{machine}"
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
    """Import `yaie.kernels.build` from the source, because YAIE is not installed during a build."""
    path = root / KERNELS / "build.py"
    spec = importlib.util.spec_from_file_location("yaie_kernels_build", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
