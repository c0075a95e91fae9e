"""YAIE's own package: its version, and the commands that install its extras.

No command names the package `yaie`: no package index has it, and a stranger who registered the name
would run code on every machine that follows the command. A release changes this module.
"""

from __future__ import annotations

import shlex
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

NAME = "yaie"
UNKNOWN = "0+unknown"
_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@cache
def read_version() -> str:
    """Return the version of the installed package, or the version in pyproject.toml.

    Return `0+unknown` for a bare copy of the package, so that a server starts without a version.
    """
    try:
        return version(NAME)
    except PackageNotFoundError:
        return version_in(_PROJECT)


def version_in(file: Path) -> str:
    """Return the version of YAIE in a pyproject.toml, or `0+unknown`."""
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        return str(project["version"]) if project["name"] == NAME else UNKNOWN
    except (OSError, ValueError, KeyError):
        return UNKNOWN


UPGRADE = "git pull, then make setup or pip install -c constraints.txt -e ."


def install_command(extra: Literal["events", "gpu", "otel", "ray"]) -> str:
    """Return the command that installs an extra's packages, for clones and wheels alike."""
    try:
        found = [Requirement(text) for text in requires(NAME) or ()]
    except PackageNotFoundError:  # a bare copy of the package
        return f"pip install -c constraints.txt -e '.[{extra}]' in a clone of YAIE"
    wanted = [
        _as_argument(each)
        for each in found
        if each.marker is not None
        and each.marker.evaluate({"extra": extra})
        and not each.marker.evaluate({"extra": ""})
    ]
    return shlex.join(["pip", "install", *wanted])


def _as_argument(requirement: Requirement) -> str:
    """Return a requirement without its marker, which a command line cannot have."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"
