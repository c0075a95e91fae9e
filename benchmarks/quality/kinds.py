"""Kinds of numbers that are compared: names, and the engine settings behind them."""

from __future__ import annotations

from typing import Any

from yaie.cli.failures import usage_error

PARTS: dict[str, dict[str, Any]] = {
    "none": {},
    "int8": {"quantization": "int8"},
    "int4": {"quantization": "int4"},
    "kv-int8": {"kv_dtype": "int8"},
}
DEFAULT_KINDS = "none,int8,int4,kv-int8"


def settings_of(kind: str) -> dict[str, Any]:
    """Return the engine settings of a kind; `int4+kv-int8` joins those of two.

    Raises a usage error for an unknown name.
    """
    settings: dict[str, Any] = {}
    for part in kind.split("+"):
        if part not in PARTS:
            raise usage_error(
                f"--kinds: unknown {part!r}; choose from {', '.join(PARTS)}, joined by +"
            )
        settings |= PARTS[part]
    return settings
