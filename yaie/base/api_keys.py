"""API keys as settings give them: a list, and a file that may name its keys.

A line of the file is `KEY`, or `NAME KEY`: the name of the tenant, in settings, metrics and
statistics. Keys with one name are one tenant, so that a new key may replace an old one.
"""

from __future__ import annotations

import re
from pathlib import Path

from yaie.base.errors import ConfigError
from yaie.base.tenants import BATCHES, tenant_digest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{16}")  # the name of a tenant without one
_FILE = "api_key_file"


def split_keys(text: str | None) -> tuple[str, ...]:
    """Return the keys of the setting `api_key`."""
    return tuple(key.strip() for key in (text or "").split(",") if key.strip())


def tenants_by_key(listed: str | None, file: str | None) -> dict[str, str]:
    """Return the tenant of each key in the settings `api_key` and `api_key_file`.

    Raises `ConfigError`, without a key in its message.
    """
    found = {key: tenant_digest(key.encode()) for key in split_keys(listed)}
    return found | (_read_file(file) if file is not None else {})


def _read_file(file: str) -> dict[str, str]:
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _wrong(f"{file} cannot be read ({reason}); name a readable file") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        *names, key = words
        tenant = names[0] if names else tenant_digest(key.encode())
        if len(names) > 1:
            raise _wrong(f"line {number} of {file} must be KEY, or NAME KEY")
        if names and (not _NAME.fullmatch(tenant) or _DIGEST.fullmatch(tenant)):
            raise _wrong(
                f"line {number} of {file} names its key by other characters than letters, digits, "
                "'.', '_' and '-', by more than 64, or by 16 hexadecimal digits; choose a name"
            )
        if tenant == BATCHES or key in found:
            fact = f"names its key {BATCHES!r}" if tenant == BATCHES else "repeats a key"
            raise _wrong(f"line {number} of {file} {fact}; choose a different one")
        found[key] = tenant
    if not found:
        raise _wrong(f"{file} contains no key; give one key a line")
    return found


def _wrong(reason: str) -> ConfigError:
    return ConfigError(f"{_FILE}: {reason}", param=_FILE)
