"""The version: of the installed package, or of a source tree that nothing has installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import yaie
from tests.kernels.check_wheel import wait_ready
from tests.kernels.wheel import copy_project
from yaie.base import own_package

ROOT = Path(__file__).resolve().parents[1]
STATED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture
def _uninstalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(own_package, "version", version)
    own_package.read_version.cache_clear()
    yield
    own_package.read_version.cache_clear()


@pytest.mark.usefixtures("_uninstalled")
def test_a_tree_without_metadata_has_the_version_of_its_project() -> None:
    assert yaie.__version__ == STATED


@pytest.mark.usefixtures("_uninstalled")
def test_the_package_alone_has_an_unknown_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_package, "_PROJECT", tmp_path / "pyproject.toml")
    assert yaie.__version__ == own_package.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        '[project]\nname = "another"\nversion = "9.9.9"\n',
        '[project]\nname = "yaie"\n',
        "[tool.ruff]\n",
        "this is no TOML",
    ],
)
def test_a_project_file_without_yaies_version(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    assert own_package.version_in(file) == own_package.UNKNOWN


def test_nothing_else_asks_for_the_metadata_of_yaie() -> None:
    sources = [p for folder in ("yaie", "server") for p in (ROOT / folder).rglob("*.py")]
    asking = [p for p in sources if re.search(r"version\(.yaie.\)", p.read_text())]
    assert sources and asking == []


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables of a copied source tree and this Python's packages, without metadata of YAIE."""
    tree, packages = tmp_path / "tree", tmp_path / "packages"
    tree.mkdir()
    packages.mkdir()
    copy_project(tree)
    for found in Path(sysconfig.get_path("purelib")).iterdir():
        if "yaie" not in found.name:
            (packages / found.name).symlink_to(found)
    paths = os.pathsep.join((str(tree), str(packages)))
    # Kernels off: the copy is asked for no token.
    return {**os.environ, "PYTHONPATH": paths, "YAIE_KERNELS": "off"}


@pytest.mark.integration
def test_a_source_tree_runs_without_an_installation(
    environment: dict[str, str], tmp_path: Path
) -> None:
    python = [sys.executable, "-S"]  # no site-packages: they have YAIE's metadata

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*python, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    asked = run("-c", "import importlib.metadata; importlib.metadata.version('yaie')")
    assert "PackageNotFoundError" in asked.stderr
    printed = run("-m", "yaie", "version")
    assert printed.stdout == f"yaie {STATED}\n", printed.stderr
    log = tmp_path / "serve.log"
    with log.open("w") as errors:
        server = subprocess.Popen(
            [*python, "-m", "yaie", "serve", "--port", "0", "--num-slots", "4k"],
            cwd=tmp_path,
            env=environment,
            stderr=errors,
        )
    try:
        with urllib.request.urlopen(f"{wait_ready(server, log)}/version", timeout=60) as reply:
            assert json.load(reply) == {"version": STATED}
    finally:
        server.terminate()
        server.wait(60)
