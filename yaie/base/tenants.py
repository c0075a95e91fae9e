"""Names, weights and priorities of tenants, as settings, engine and server write them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Iterator

from yaie.base.errors import ConfigError

WEIGHTS, PRIORITIES = "tenant_weights", "tenant_priorities"  # names of the settings
OTHERS = "*"  # tenants without an entry
BATCHES = "batches"  # the tenant of all requests in batches, by default of the least weight
_WHOLE = re.compile(r"-?[0-9]{1,18}")  # fits into 64 bits
LEAST_WEIGHT, _MOST_WEIGHT = 0.001, 1000.0


def tenant_digest(secret: bytes) -> str:
    """Return the name of the tenant with this API key: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(secret).hexdigest()[:16]


def parse_weights(text: str) -> dict[str, float]:
    """Parse `name=weight,name=weight`; the last `=` of an entry separates.

    Raises `ConfigError` with the number of a wrong entry. The entry itself may be a key, and stays
    out of messages.
    """
    weights: dict[str, float] = {}
    for number, name, weight in _entries(text, "weight", "ada=2", WEIGHTS):
        if name in weights:
            reason = "its tenant has a weight already; give each tenant one weight"
            raise _wrong(number, reason, WEIGHTS)
        try:
            weights[name] = float(weight)
        except ValueError:
            weights[name] = math.nan
        if not LEAST_WEIGHT <= weights[name] <= _MOST_WEIGHT:
            reason = f"its weight must be from {LEAST_WEIGHT} to {_MOST_WEIGHT:g}"
            raise _wrong(number, reason, WEIGHTS)
    return weights


def parse_priorities(text: str) -> dict[str, int]:
    """Parse `name=number,name=number`: the lowest priority number each tenant may use.

    The name `*` covers all other tenants. Raises `ConfigError` as `parse_weights`.
    """
    least: dict[str, int] = {}
    for number, name, given in _entries(text, "number", f"{OTHERS}=0", PRIORITIES):
        if name in least:
            reason = "its tenant has a number already; give each tenant one number"
            raise _wrong(number, reason, PRIORITIES)
        if not _WHOLE.fullmatch(given):
            raise _wrong(number, "its number must be whole, with at most 18 digits", PRIORITIES)
        least[name] = int(given)
    return least


def _entries(text: str, value: str, example: str, setting: str) -> Iterator[tuple[int, str, str]]:
    """Yield number, name and value for each entry in a setting."""
    for number, entry in enumerate(filter(str.strip, text.split(",")), 1):
        name, separator, given = (part.strip() for part in entry.rpartition("="))
        if not separator or not name:
            raise _wrong(number, f"it must be name={value}, such as {example}", setting)
        yield number, name, given


def check_names(names: Iterable[str], known: Collection[str], setting: str = WEIGHTS) -> None:
    """Raise `ConfigError` unless every name is a known tenant, the tenant of an API key."""
    for number, name in enumerate(names, 1):
        special = OTHERS if setting == PRIORITIES else BATCHES
        if name not in known and name != special:
            fix = (
                "name a tenant as api_key_file does, or by the first 16 digits of "
                "`printf %s KEY | sha256sum`"
            )
            if not known:
                fix = f"without API keys give {OTHERS} alone, for every client"
            raise _wrong(number, f"its name matches no API key; {fix}", setting)


def _wrong(number: int, requirement: str, setting: str) -> ConfigError:
    return ConfigError(f"entry {number} of {setting}: {requirement}", param=setting)
