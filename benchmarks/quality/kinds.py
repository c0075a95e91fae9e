"""Kinds of numbers that are compared: names, and the engine settings behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from yaie.cli.failures import usage_error

PARTS: dict[str, dict[str, Any]] = {
    "none": {},
    "int8": {"quantization": "int8"},
    "int4": {"quantization": "int4"},
    "int4-nearest": {"quantization": "int4", "calibrate": "none"},
    "kv-int8": {"kv_dtype": "int8"},
}
CALIBRATED = "int4-calibrated"
DEFAULT_KINDS = "none,int8,int4,kv-int8"


def settings_of(kind: str, calibrate: Path | None = None) -> dict[str, Any]:
    """Return the engine settings of a kind; `int4+kv-int8` joins those of two.

    `calibrate` is the text of the calibrated kind. Raises a usage error for an unknown name, or
    for a calibrated kind without a text.
    """
    settings: dict[str, Any] = {}
    for part in kind.split("+"):
        if part == CALIBRATED:
            if calibrate is None:
                raise usage_error(f"--kinds: {CALIBRATED} needs a text", advice="--calibrate FILE")
            settings |= {"quantization": "int4", "calibrate": str(calibrate)}
            continue
        if part not in PARTS:
            known = ", ".join((*PARTS, CALIBRATED))
            raise usage_error(f"--kinds: unknown {part!r}; choose from {known}, joined by +")
        settings |= PARTS[part]
    return settings
