"""Rope tables of GGUF files, as transformers' `rope_parameters`. Torch-free."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yaie.models.files.gguf.gguf_settings import GgufSettings

FREQUENCIES = "rope_freqs.weight"
FACTORS = ("rope_factors_long.weight", "rope_factors_short.weight")
# The constants of Llama 3's rope that published models share. The file holds the outcome.
_LOW, _HIGH, _ORIGINAL = 1.0, 4.0, 8192
_YARN = {  # field -> key
    "attention_factor": "rope.scaling.yarn_attn_factor",
    "beta_fast": "rope.scaling.yarn_beta_fast",
    "beta_slow": "rope.scaling.yarn_beta_slow",
}
_EXTRAPOLATION = "rope.scaling.yarn_ext_factor"
_LOG_MULTIPLIER = "rope.scaling.yarn_log_multiplier"


def rope_table(
    settings: GgufSettings,
    *,
    width: int | None = None,
    base: str = "rope.freq_base",
    theta: float = 10_000.0,
    is_partial: bool = False,
    is_scaled: bool = True,
    log_unit: float | None = None,
    constants: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a rope table.

    width: of the heads. base, theta: the key of the base, and its default. is_partial: rope may
    cover a part of a head. is_scaled: the table has the file's scaling. log_unit: the number that
    stands for 1 in the multiplier of yarn's attention factor; None: the family has none.
    """
    width = settings.head_dim() if width is None else width
    table: dict[str, Any] = {"rope_type": "default", "rope_theta": settings.number(base, theta)}
    covered = settings.size("rope.dimension_count", width)
    if covered != width and (not is_partial or covered > width):
        settings.refuse("rope.dimension_count", f"{covered} with heads of {width}")
    if is_partial:  # also for whole heads: classes have other defaults, such as a half
        table["partial_rotary_factor"] = covered / width
    if is_scaled:
        table |= _scaling(settings, covered, table["rope_theta"], log_unit, constants or {})
    return table


def _scaling(
    settings: GgufSettings,
    width: int,
    theta: float,
    log_unit: float | None,
    constants: Mapping[str, Any],
) -> dict[str, Any]:
    kind = settings.get("rope.scaling.type", "none")
    if FREQUENCIES in settings.tensors:
        if kind != "none":
            settings.refuse("rope.scaling.type", f"{kind} with {FREQUENCIES}")
        return _llama3(settings, width, theta)
    if kind == "none":
        return {}
    if kind not in ("linear", "yarn"):
        settings.refuse("rope.scaling.type", str(kind))
    table: dict[str, Any] = {
        "rope_type": kind,
        "factor": settings.number("rope.scaling.factor"),
    }
    if kind == "linear":
        return table
    table["original_max_position_embeddings"] = settings.size(
        "rope.scaling.original_context_length"
    )
    for field, key in _YARN.items():
        if settings.get(key) is not None:
            table[field] = settings.number(key)
    if settings.get(_EXTRAPOLATION) not in (None, 1.0):
        settings.refuse(_EXTRAPOLATION, str(settings.get(_EXTRAPOLATION)))
    if log_unit is not None and settings.get(_LOG_MULTIPLIER) is not None:
        scale = round(settings.number(_LOG_MULTIPLIER) / log_unit, 6)
        table |= {"mscale": scale, "mscale_all_dim": scale}
    return {**table, **constants}


def read_vector(settings: GgufSettings, name: str, width: int) -> NDArray[np.float32]:
    """Return a small tensor of float32. Raises `ModelUnsupported` for another kind or shape."""
    tensor = settings.tensors[name]
    if tensor.kind != "F32" or tensor.shape != (width,):
        settings.refuse(name, f"{tensor.kind} of shape {tensor.shape}")
    return np.fromfile(tensor.path, "<f4", width, offset=tensor.first_byte)


def _llama3(settings: GgufSettings, width: int, theta: float) -> dict[str, Any]:
    """Return Llama 3's settings, if they give the divisors of the frequencies in the file."""
    stored = read_vector(settings, FREQUENCIES, width // 2)
    factor = float(stored.max())
    is_known = math.isfinite(factor) and factor > 1 and stored.min() > 0
    waves = 2 * np.pi * theta ** (np.arange(0, width, 2) / width)
    # Between the slow and the fast frequencies, a divisor says the original length.
    lengths: set[int] = set()
    if is_known:
        share = (1 / stored - 1 / factor) / (1 - 1 / factor)
        found = waves * (share * (_HIGH - _LOW) + _LOW)
        lengths = {round(float(each)) for each in found[(share > 0.01) & (share < 0.99)]}
    for original in (_ORIGINAL, *sorted(lengths)) if is_known else ():
        smooth = ((original / waves - _LOW) / (_HIGH - _LOW)).clip(0, 1)
        if np.allclose(stored, 1 / ((1 - smooth) / factor + smooth), rtol=1e-3):
            return {
                "rope_type": "llama3",
                "factor": float(str(np.float32(factor))),
                "low_freq_factor": _LOW,
                "high_freq_factor": _HIGH,
                "original_max_position_embeddings": original,
            }
    return settings.refuse(FREQUENCIES, "divisors that differ from Llama 3")
