"""YAIE's version, for installed packages and for source trees."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
