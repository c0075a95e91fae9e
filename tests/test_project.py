"""The project's own files: version, lock, changelog and workflows agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
REQUIRED = [
    Requirement(text)
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
]
YAML_FILES = sorted((ROOT / ".github").rglob("*.yml"))


def read_pins(file: str) -> dict[str, list[str]]:
    """Return the pinned versions by package; environments may differ in theirs."""
    pins: dict[str, list[str]] = {}
    for line in (ROOT / file).read_text().splitlines():
        if found := re.match(r"([\w.-]+)==([^ ;]+)", line):
            pins.setdefault(canonicalize_name(found[1]), []).append(found[2])
    return pins


@pytest.mark.parametrize("requirement", REQUIRED, ids=lambda requirement: requirement.name)
def test_the_pins_have_an_allowed_version_of_each_dependency(requirement: Requirement) -> None:
    pins = read_pins("requirements-dev.lock") | read_pins("constraints.txt")
    versions = pins.get(canonicalize_name(requirement.name), [])
    assert versions, "run `make lock`"
    assert all(version in requirement.specifier for version in versions), "run `make lock`"


def test_the_lock_leaves_torch_to_the_constraints() -> None:
    assert "torch" in read_pins("constraints.txt")
    assert not [
        name for name in read_pins("requirements-dev.lock") if re.match("torch|nvidia", name)
    ]


def test_the_newest_release_in_the_changelog_is_the_projects_version() -> None:
    headings = re.findall(r"^## \[?([^\]\s]+)", CHANGELOG, re.MULTILINE)
    assert headings[:2] == ["Unreleased", PROJECT["version"]]


@pytest.mark.parametrize("file", YAML_FILES, ids=lambda file: file.name)
def test_each_file_of_github_is_yaml(file: Path) -> None:
    assert isinstance(yaml.safe_load(file.read_text()), dict)


def test_the_workflow_runs_the_script_of_ci() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    steps = [step.get("run") for job in jobs.values() for step in job["steps"]]
    (command,) = filter(None, steps)
    assert (ROOT / command).stat().st_mode & 0o100


def test_the_workflow_builds_a_wheel_for_each_promised_platform() -> None:
    job = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text())["jobs"]["build"]
    built = {each["build"] for each in job["strategy"]["matrix"]["include"]}
    platforms = ("manylinux_x86_64", "manylinux_aarch64", "macosx_arm64")
    oldest = "cp" + PROJECT["requires-python"].removeprefix(">=").replace(".", "")
    assert built == {f"{oldest}-{platform}" for platform in platforms}
