"""The choice of a truncation for a device, which a first launch of the kernel has to pass."""

from __future__ import annotations

import logging
import math

import torch

from yaie.attention.tree_decode.installed import obstacle
from yaie.engine.device_sampling.truncation import Limits, PlainTruncation, Truncation

log = logging.getLogger(__name__)

_VOCAB_SIZE = 5000  # of the first launch: several blocks


def choose_truncation(device: torch.device) -> Truncation:
    """Return Triton's truncation on a CUDA device where it works, else that of torch."""
    if device.type != "cuda":
        return PlainTruncation()
    reason = obstacle()
    if reason is None:
        try:
            from yaie.engine.device_sampling.truncation_launch import TritonTruncation

            return checked(TritonTruncation(), device)
        except Exception as error:  # Triton's: no compiler, an unknown device
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
    log.warning("torch truncates distributions, slower: %s", reason)
    return PlainTruncation()


def checked(truncation: Truncation, device: torch.device) -> Truncation:
    """Return a truncation that keeps the tokens that torch keeps, of rows with ties.

    Raises `ValueError` if it keeps others, and whatever the launch raises.
    """
    scaled, limits = _first_rows(device)
    expected, found = scaled.clone(), scaled.clone()
    PlainTruncation().truncate(expected, torch.empty_like(scaled), limits)
    truncation.truncate(found, torch.empty_like(scaled), limits)
    if not torch.equal(found, expected):
        raise ValueError(f"the {truncation.name} kernel keeps other tokens than torch")
    return truncation


def _first_rows(device: torch.device) -> tuple[torch.Tensor, Limits]:
    """Return rows [4, vocab], each under limits of its own."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, _VOCAB_SIZE, generator=generator).mul_(30).round_().div_(8)
    scaled = (logits - logits.amax(dim=-1, keepdim=True)).to(device)

    def column(values: list[float], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype, device=device)

    limits = Limits(
        column([-math.inf, -math.inf, -6.0, -math.inf], torch.float32),
        column([50, _VOCAB_SIZE, 2000, _VOCAB_SIZE], torch.int64),
        column([math.inf, 0.9, 0.7, math.inf], torch.float64),
        has_min_p=True,
        has_top_k=True,
        has_top_p=True,
    )
    return scaled, limits
