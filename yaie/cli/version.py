"""`yaie version`: the version of this package."""

from __future__ import annotations

from yaie.base.own_version import read_version


def version() -> None:
    """Show the version of YAIE."""
    print(f"yaie {read_version()}")
