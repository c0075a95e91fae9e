"""The choice of the fused operations for a device."""

from __future__ import annotations

import logging
from importlib.util import find_spec

import torch

from yaie.models.fused.operations import FusedOperations
from yaie.models.fused.plain import PlainOperations

log = logging.getLogger(__name__)


def choose_operations(device: torch.device) -> FusedOperations:
    """Return Triton's operations on a CUDA device with Triton, else those of torch."""
    if device.type == "cuda" and find_spec("triton") is not None:
        from yaie.models.fused.launch import TritonOperations

        return TritonOperations()
    if device.type == "cuda":
        log.warning("torch computes norms, rotations and gates, slower: triton is not installed")
    return PlainOperations()
