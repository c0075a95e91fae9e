"""Names and weights of tenants, as settings, engine and server write them."""

from __future__ import annotations

import hashlib
import math

from yaie.errors import ConfigError

_LEAST_WEIGHT, _MOST_WEIGHT = 0.001, 1000.0


def tenant_digest(secret: bytes) -> str:
    """Return the name of the tenant with this API key: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(secret).hexdigest()[:16]


def parse_weights(text: str) -> dict[str, float]:
    """Parse `name=weight,name=weight`; the last `=` of an entry separates.

    Raises `ConfigError` with the number of a wrong entry. The entry itself may be a key, and stays
    out of messages.
    """
    weights: dict[str, float] = {}
    for number, entry in enumerate(filter(str.strip, text.split(",")), 1):
        name, separator, weight = (part.strip() for part in entry.rpartition("="))
        if not separator or not name:
            raise _wrong(number, "it must be name=weight, such as ada=2")
        if name in weights:
            raise _wrong(number, "its name has a weight already; give each tenant one weight")
        try:
            weights[name] = float(weight)
        except ValueError:
            weights[name] = math.nan
        if not _LEAST_WEIGHT <= weights[name] <= _MOST_WEIGHT:
            raise _wrong(number, f"its weight must be from {_LEAST_WEIGHT} to {_MOST_WEIGHT:g}")
    return weights


def check_names(weights: dict[str, float], keys: tuple[str, ...]) -> None:
    """Raise `ConfigError` unless every name is the digest of one of the API keys."""
    known = {tenant_digest(key.encode()) for key in keys}
    for number, name in enumerate(weights, 1):
        if name not in known:
            raise _wrong(
                number,
                "its name belongs to no API key; a key's tenant has the first 16 digits of "
                "`printf %s KEY | sha256sum`",
            )


def _wrong(number: int, requirement: str) -> ConfigError:
    return ConfigError(f"entry {number} of tenant_weights: {requirement}", param="tenant_weights")
