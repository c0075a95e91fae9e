"""Addresses and API keys as typed on the command line. Wrong ones raise usage errors."""

from __future__ import annotations

from yaie.cli.failures import usage_error
from yaie.remote.address import WrongAddress, base_url, first_key, key_of


def choose_key(typed: str | None, *, is_named: bool) -> str | None:
    """Return the API key to send, that of `key_of`. Raises a usage error for an empty --api-key."""
    if typed is not None and not first_key(typed):
        raise usage_error("--api-key holds no key", advice="--api-key KEY, or leave it out")
    return key_of(typed, is_named=is_named)


def read_base(text: str) -> str:
    """Return the address of a server without the `/v1` at its end. Raises a usage error."""
    try:
        return base_url(text)
    except WrongAddress as error:
        advice = "    or ".join(f"--url {url}" for url in error.fix.split(" or "))
        raise usage_error(error.fact, why=error.why, advice=advice) from None
