"""Wheels built from a copy of the project, and environments that they are installed in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.kernels.compiler import find_compiler
from yaie.kernels import build

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = f"yaie/kernels/{build.LIBRARY_NAME}"


def copy_project(folder: Path) -> Path:
    """Copy the files of a wheel."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("yaie", "server"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    return folder


def build_wheel(project: Path, to: Path, compiler: str) -> Path:
    """Build a wheel with this C++ compiler."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(to)],
        cwd=project,
        env={**os.environ, "CXX": compiler},
        check=True,
        capture_output=True,
        timeout=600,
    )
    (wheel,) = to.glob("*.whl")
    return wheel


def compiler_of(name: str, folder: Path) -> str:
    """Return a compiler that builds the library with one set, in a third of the time."""
    compiler = folder / "compiler"
    defines = f"-UYAIE_CHOSEN_SETS -DYAIE_CHOSEN_SETS=1 -DYAIE_WITH_{name}=1"
    compiler.write_text(f'#!/bin/sh\nexec {find_compiler()} "$@" {defines}\n')
    compiler.chmod(0o755)
    return str(compiler)


def make_environment(folder: Path) -> Path:
    """Create an empty environment that shares this one's dependencies, and return its Python."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    # Files named .pth in that folder, such as this checkout's editable install, are not followed.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin" / "python"


def install(wheel: Path, python: Path) -> None:
    """Install a wheel without its dependencies."""
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(wheel)],
        check=True,
        timeout=300,
    )


def without_compiler(folder: Path) -> dict[str, str]:
    """Return an environment with an empty PATH and an empty cache below `folder`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PATH": str(folder), "CXX": "", "XDG_CACHE_HOME": str(folder / "cache")}
    return environment | {"YAIE_KERNELS": "auto"}
