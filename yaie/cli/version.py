"""`yaie version`: the version of the installed package."""

from __future__ import annotations

from importlib.metadata import version as installed_version


def version() -> None:
    """Show the version of YAIE."""
    print(f"yaie {installed_version('yaie')}")
