"""The wheel contains a library that needs no compiler; without a compiler it still builds."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.kernels.compiler import find_compiler, needs_compiler
from tests.kernels.report import REPORT
from tests.kernels.wheel import (
    LIBRARY,
    ROOT,
    build_wheel,
    compiler_of,
    copy_project,
    install,
    make_environment,
    without_compiler,
)
from yaie.kernels import instruction_sets

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="prebuilt for Linux only"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("project"))


def run(python: Path, arguments: list[str], folder: Path, option: str = "auto") -> str:
    """Return the output of an installed Python without compilers, run in an empty folder."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [str(python), *arguments],
        cwd=folder,
        env=without_compiler(folder) | {"YAIE_KERNELS": option},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def report_of(python: Path, folder: Path, option: str = "auto") -> dict[str, object]:
    """Return the report on the kernels of an installed wheel."""
    origin = "import yaie\nassert 'site-packages' in yaie.__file__, yaie.__file__\n"
    found: dict[str, object] = json.loads(run(python, ["-c", origin + REPORT], folder, option))
    return found


def check_library(wheel: Path) -> None:
    """The library needs the system libraries that the wheel's name promises, without C++'s."""
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


@needs_compiler
@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump")
def test_an_installed_wheel_serves_without_a_compiler(project: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project, tmp_path, compiler_of("portable", tmp_path))
    check_library(wheel)
    python = make_environment(tmp_path / "environment")
    install(wheel, python)
    found = report_of(python, tmp_path / "empty")
    assert found["reason"] == "portable, prebuilt"
    assert list((tmp_path / "empty").iterdir()) == []  # it compiled nothing
    script = str(ROOT / "tests" / "kernels" / "check_wheel.py")
    printed = run(python, [script, "installed"], tmp_path / "served")
    assert "portable, prebuilt" in printed
    assert re.search(r"it answers: .*\w", printed)


@needs_compiler
@pytest.mark.slow
def test_the_whole_wheel_has_every_instruction_set(project: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project, tmp_path, str(find_compiler()))
    check_library(wheel)
    python = make_environment(tmp_path / "environment")
    install(wheel, python)
    for name in instruction_sets.of_this_machine():
        found = report_of(python, tmp_path / "empty", name)
        assert found["set"] == name
        assert found["sets"] == list(instruction_sets.of_this_machine())


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_working_compiler_the_wheel_is_pure(
    project: Path, tmp_path: Path, compiler: str
) -> None:
    wheel = build_wheel(project, tmp_path, compiler)
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as files:
        assert LIBRARY not in files.namelist()
        assert "yaie/kernels/csrc/kernels.cpp" in files.namelist()


def test_a_prebuilt_library_of_another_source_is_unused(project: Path, tmp_path: Path) -> None:
    wheel = build_wheel(project, tmp_path, "false")
    python = make_environment(tmp_path / "environment")
    install(wheel, python)
    (packages,) = (tmp_path / "environment").glob("lib/python*/site-packages")
    (packages / LIBRARY).write_bytes(b"\x7fELF of another time")
    found = report_of(python, tmp_path / "empty")
    assert found["loaded"] is False
    assert "no C++ compiler" in str(found["reason"])


def load_hook(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", project / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_macos_wheel_names_the_system_that_the_compiler_targets(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_hook(project)
    monkeypatch.setattr(module.sys, "platform", "darwin")
    monkeypatch.setattr(module.platform, "machine", lambda: "arm64")
    monkeypatch.setenv("MACOSX_DEPLOYMENT_TARGET", "11.0")
    assert module.platform_tag(tmp_path / LIBRARY) == "macosx_11_0_arm64"


def test_an_editable_install_compiles_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source changes, which would soon outdate a compiled library."""
    module = load_hook(project)
    monkeypatch.setattr(module, "_load_build", lambda root: pytest.fail("it compiles"))
    hook = module.CustomBuildHook(str(project), {}, None, None, str(tmp_path), "wheel")
    data: dict[str, object] = {"force_include": {}, "pure_python": True}
    hook.initialize("editable", data)
    hook.finalize("editable", data, "")
    assert data == {"force_include": {}, "pure_python": True}
