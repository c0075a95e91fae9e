"""No command of docs or messages installs a package `yaie`: no index has one of ours."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from yaie.base import own_package
from yaie.base.own_package import install_command

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUFFIXES = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".sh", ".ipynb", ""}
ROOMS = ("yaie", "server", "docs", "deploy", "examples", "benchmarks", "training")
# An extra of ours, or an installer whose arguments hold the bare name (not a path or an address).
BY_NAME = re.compile(
    r"yaie\[(events|gpu|otel|dev)\]|"
    r"\b(pip3?|uv|pipx|uvx|conda)\b[^\n]*\b(install|add|run|wheel|download)\b[^\n]*"
    r"(?<![\w./:=+-])yaie(?![\w./:=+*-])"
)


def texts() -> list[Path]:
    """Return the files that users read or run; `wordings` are questions that users ask."""
    in_rooms = (path for room in ROOMS for path in (ROOT / room).rglob("*"))
    found = [*ROOT.glob("*"), *(path for path in in_rooms if "wordings" not in path.parts)]
    return [path for path in found if path.is_file() and path.suffix in SUFFIXES]


@pytest.mark.parametrize(
    "line",
    [
        "pip install 'yaie[otel]'",
        "pip install --upgrade yaie",
        "python -m pip install yaie",
        "uv pip install yaie, then",
        "uvx run yaie",
        'f"not installed; pip install {quote}yaie[gpu]"',
    ],
)
def test_a_package_by_our_name_is_found(line: str) -> None:
    assert BY_NAME.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip uninstall yaie",
        "pip install -e '.[gpu]'",
        "pip install ./yaie",
        "pip install x/yaie.whl",
    ],
)
def test_other_commands_are_not(line: str) -> None:
    assert not BY_NAME.search(line)


def test_no_text_installs_a_package_by_our_name() -> None:
    found = texts()
    assert {"README.md", "Makefile", "Dockerfile", "start.md", "dispatch.py"} <= {
        each.name for each in found
    }
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in found
        for match in BY_NAME.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert wrong == []


@pytest.mark.parametrize("extra", ["events", "gpu", "otel", "ray"])
def test_the_command_installs_the_packages_of_the_extra(extra: str) -> None:
    program, verb, *packages = shlex.split(install_command(extra))  # type: ignore[arg-type]
    assert [program, verb] == ["pip", "install"]
    wanted = [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
    assert {str(Requirement(each)) for each in packages} == {str(each) for each in wanted}


def test_a_bare_copy_of_the_package_names_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_package(_: str) -> list[str]:
        raise PackageNotFoundError

    monkeypatch.setattr(own_package, "requires", no_package)
    assert "'.[gpu]' in a clone" in install_command("gpu")
