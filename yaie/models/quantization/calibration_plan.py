"""Calibration plan: the method, the tokens and the memory of calibrating a model.

The choice depends on the model and the text alone, so that every machine computes the same weights.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from yaie.models.quantization.calibration_text import (
    LEAST_TOKENS,
    MOST_SEQUENCE,
    MOST_TOKENS,
    CalibrationText,
)
from yaie.models.quantization.gptq import FACTOR_BYTES, WEIGHT_BYTES
from yaie.models.quantization.quantize import is_calibrated

log = logging.getLogger(__name__)

Method = Literal["products", "squares"]

_MOST_OPERATIONS = 40e12  # limit for the default calibration: some minutes on two cores
_SQUARES_TOKENS = 1024  # enough for the mean square of each input
_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """A calibration that will run at load."""

    sequences: tuple[tuple[int, ...], ...]  # token ids
    method: Method  # "products": all pairs of inputs, for GPTQ; "squares": each input
    is_default: bool  # a model that refuses is rounded to nearest
    nbytes: int  # that it takes besides the model, at most

    @property
    def num_tokens(self) -> int:
        """Number of tokens."""
        return sum(map(len, self.sequences))


def plan_calibration(
    model: Any, text: CalibrationText, context_len: int, wide: int
) -> CalibrationPlan | None:
    """Choose method and tokens; return None for a model without layers to calibrate.

    A text that the user names is used whole. The default text is cut, or provides squares only,
    where it would take too long. model: may be on the meta device. wide: bytes per value in the
    model's dtype. Raises `ModelUnsupported` for a model without decoder layers, if the user names a
    text.
    """
    layers = decoder_layers(model)
    if layers is None and text.is_default:
        log.warning("int4 is not calibrated: %s has no decoder layers", type(model).__name__)
        return None
    found = [
        [tuple(linear.weight.shape) for linear in select_linears(name, layer).values()]
        for name, layer in (layers or {}).items()
    ]
    shapes = [shape for each in found for shape in each]
    num_tokens, method = len(text.tokens), "products"
    if text.is_default:
        num_tokens, method = _choose(shapes, num_tokens)
    sequences = text.sequences(context_len, num_tokens)
    return CalibrationPlan(
        tuple(map(tuple, sequences)),
        "squares" if method == "squares" else "products",
        text.is_default,
        max((_nbytes(each, method, wide) for each in found), default=0)
        + 2 * MOST_TOKENS * int(model.config.hidden_size) * wide,
    )


def _choose(shapes: list[tuple[int, ...]], num_tokens: int) -> tuple[int, Method]:
    fewer = (max(num_tokens // 2, LEAST_TOKENS), LEAST_TOKENS)
    for number in (num_tokens, *(min(each, num_tokens) for each in fewer)):
        if _operations(shapes, number) <= _MOST_OPERATIONS:
            return number, "products"
    log.info(
        "int4 weighs errors by the squares of inputs only: products would take minutes; "
        "--calibrate FILE uses them"
    )
    return min(_SQUARES_TOKENS, num_tokens), "squares"


def _operations(shapes: Iterable[tuple[int, ...]], num_tokens: int) -> float:
    """Estimate GPTQ's floating-point operations for layers [outputs, inputs]."""
    return sum(
        4.0 * num_tokens * outputs * inputs  # two forwards
        + float(inputs * inputs) * (num_tokens + outputs + 2 * inputs)
        for outputs, inputs in shapes
    )


def _nbytes(shapes: list[tuple[int, ...]], method: str, wide: int) -> int:
    """Return the bytes to calibrate one decoder layer's linear layers."""
    squares = [inputs * inputs for _, inputs in shapes]
    grams = _FLOAT_BYTES * sum(squares) + FACTOR_BYTES * max(squares, default=0)
    weights = (WEIGHT_BYTES + wide) * sum(outputs * inputs for outputs, inputs in shapes)
    widths = _FLOAT_BYTES * MOST_SEQUENCE * 2 * sum(outputs for outputs, _ in shapes)
    return (grams if method == "products" else 0) + weights + widths


def decoder_layers(model: Any) -> dict[str, nn.Module] | None:
    """Return the decoder's layers by name, in order; None for a model without such a list."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == model.config.num_hidden_layers:
            return {f"{name}.{index}": layer for index, layer in enumerate(module)}
    return None


def select_linears(name: str, layer: nn.Module) -> dict[str, nn.Linear]:
    """Return the linear layers that int4 rounds to 4 bits, by their name in the model."""
    named = ((f"{name}.{inner}", module) for inner, module in layer.named_modules())
    return {
        each: module
        for each, module in named
        if isinstance(module, nn.Linear) and is_calibrated(each, module)
    }
