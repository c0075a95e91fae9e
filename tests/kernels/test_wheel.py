"""The wheel: it holds a library that needs no compiler, and no compiler is no failure."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.kernels.compiler import find_compiler, needs_compiler
from tests.kernels.report import REPORT
from yaie.kernels import build, instruction_sets

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = f"yaie/kernels/{build.LIBRARY_NAME}"

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="prebuilt for Linux only")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel is built from, without the weights."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    unwanted = shutil.ignore_patterns("__pycache__", "*.safetensors", "*.so")
    for name in ("yaie", "server"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    return folder


def build_wheel(project: Path, to: Path, compiler: str) -> Path:
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
    """A compiler that makes the library with one set only, which takes a third of the time."""
    compiler = folder / "compiler"
    defines = f"-UYAIE_CHOSEN_SETS -DYAIE_CHOSEN_SETS=1 -DYAIE_WITH_{name}=1"
    compiler.write_text(f'#!/bin/sh\nexec {find_compiler()} "$@" {defines}\n')
    compiler.chmod(0o755)
    return str(compiler)


def install(wheel: Path, target: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(wheel)],
        check=True,
        timeout=300,
    )


def report_of(target: Path, empty: Path, wish: str) -> dict[str, object]:
    """What a process says that has the installed files, and no compiler to be found."""
    environment = {**os.environ, "PYTHONPATH": str(target), "PATH": str(empty), "CXX": ""}
    environment |= {"XDG_CACHE_HOME": str(empty / "cache"), "YAIE_KERNELS": wish}
    done = subprocess.run(
        [sys.executable, "-c", f"import yaie\nassert {str(target)!r} in yaie.__file__\n{REPORT}"],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def check_library(wheel: Path) -> None:
    """What it needs of a system is what the wheel's name promises, and nothing of C++."""
    with zipfile.ZipFile(wheel) as files:
        library = files.extract(LIBRARY, wheel.parent)
    listing = subprocess.run(
        ["objdump", "-p", "-T", library], capture_output=True, text=True, check=True
    ).stdout
    assert "libstdc++" not in listing
    tag = wheel.stem.split("-")[-1]
    assert tag.startswith("manylinux_2_"), tag
    promised = int(tag.split("_")[2])
    needed = [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", listing)]
    assert max(needed) == promised


@on_linux
@needs_compiler
@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump")
def test_an_installed_wheel_has_kernels_without_a_compiler(project: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project, tmp_path, compiler_of("portable", tmp_path))
    check_library(wheel)
    install(wheel, tmp_path / "installed")
    (empty := tmp_path / "empty").mkdir()
    found = report_of(tmp_path / "installed", empty, "auto")
    assert found["loaded"] is True
    assert found["reason"] == "portable, prebuilt"
    assert list(empty.iterdir()) == []  # nothing was compiled


@on_linux
@needs_compiler
@pytest.mark.slow
def test_the_whole_wheel_has_every_instruction_set(project: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project, tmp_path, str(find_compiler()))
    check_library(wheel)
    install(wheel, tmp_path / "installed")
    (empty := tmp_path / "empty").mkdir()
    for name in instruction_sets.of_this_machine():
        found = report_of(tmp_path / "installed", empty, name)
        assert found["set"] == name
        assert found["sets"] == list(instruction_sets.of_this_machine())


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_compiler_that_works_the_wheel_is_pure(
    project: Path, tmp_path: Path, compiler: str
) -> None:
    wheel = build_wheel(project, tmp_path, compiler)
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as files:
        assert LIBRARY not in files.namelist()
        assert "yaie/kernels/csrc/kernels.cpp" in files.namelist()


@on_linux
def test_a_prebuilt_library_of_another_source_is_not_used(project: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project, tmp_path, "false")
    install(wheel, tmp_path / "installed")
    (tmp_path / "installed" / LIBRARY).write_bytes(b"\x7fELF of another time")
    (empty := tmp_path / "empty").mkdir()
    found = report_of(tmp_path / "installed", empty, "auto")
    assert found["loaded"] is False
    assert "no C++ compiler" in str(found["reason"])


def test_an_editable_install_compiles_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source changes, so that what was compiled would be of no use soon."""
    spec = importlib.util.spec_from_file_location("hatch_build", project / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_load_build", lambda root: pytest.fail("it compiles"))
    hook = module.CustomBuildHook(str(project), {}, None, None, str(tmp_path), "wheel")
    data: dict[str, object] = {"force_include": {}, "pure_python": True}
    hook.initialize("editable", data)
    hook.finalize("editable", data, "")
    assert data == {"force_include": {}, "pure_python": True}
