"""Truncation choice: selects a device's truncation after a test launch of the kernel."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

import torch

from yaie.device.gpu_packages import check_triton
from yaie.engine.sampling.device.device_truncation import (
    Limits,
    PlainTruncation,
    RowTruncation,
)
from yaie.engine.sampling.device.truncation_check import find_fault

log = logging.getLogger(__name__)


def choose_truncation(device: torch.device, vocab_size: int) -> RowTruncation:
    """Return Triton's truncation on a CUDA device where it works, else torch's."""
    if device.type != "cuda":
        return PlainTruncation()
    reason = check_triton()
    if reason is None:
        try:
            from yaie.engine.sampling.device.truncation_kernel import TritonTruncation

            return check_truncation(TritonTruncation(), device, vocab_size)
        except Exception as error:  # Triton's: no compiler, an unknown device
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
    log.warning("torch truncates distributions, slower: %s", reason)
    return PlainTruncation()


def check_truncation(
    truncation: RowTruncation, device: torch.device, vocab_size: int
) -> RowTruncation:
    """Check that a truncation keeps the right tokens in rows with ties, and return it.

    Every variant of the kernel is launched, so that requests wait for no compiler. Raises
    `ValueError` if a variant keeps other tokens, and the errors of launches.
    """
    scaled, limits = _first_rows(device, vocab_size)
    for has_top_k, has_top_p in ((True, True), (True, False), (False, True), (False, False)):
        used = replace(limits, has_top_k=has_top_k, has_top_p=has_top_p)
        found = scaled.clone()
        truncation.truncate(found, torch.empty_like(scaled), used)
        fault = find_fault(scaled, found, used)
        if fault is not None:
            raise ValueError(f"the {truncation.name} kernel keeps other tokens: {fault}")
    return truncation


def _first_rows(device: torch.device, vocab_size: int) -> tuple[torch.Tensor, Limits]:
    """Return rows [4, vocab], each with different limits."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, vocab_size, generator=generator).mul_(30).round_().div_(8)
    scaled = (logits - logits.amax(dim=-1, keepdim=True)).to(device)

    def column(values: list[float], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype, device=device)

    limits = Limits(
        column([-math.inf, -math.inf, -6.0, -math.inf], torch.float32),
        column([50, vocab_size, 2000, vocab_size], torch.int64),
        column([math.inf, 0.9, 0.7, math.inf], torch.float64),
        has_min_p=True,
        has_top_k=True,
        has_top_p=True,
    )
    return scaled, limits
