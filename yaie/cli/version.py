"""`yaie version`: shows the package version."""

from __future__ import annotations

from yaie.base.own_version import read_version


def version() -> None:
    """Show the YAIE version."""
    print(f"yaie {read_version()}")
