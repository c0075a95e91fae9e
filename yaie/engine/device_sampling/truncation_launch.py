"""Truncation by the Triton kernel: its block size, arguments and launch."""

from __future__ import annotations

import triton
from torch import Tensor

from yaie.engine.device_sampling.truncation import Limits
from yaie.engine.device_sampling.truncation_kernel import truncate_rows

_MOST_BLOCK = 2048
_LEAST_BLOCK = 512
_LANES_OF_A_WARP = 128  # elements of a block: four for each thread, and so 16 bytes


class TritonTruncation:
    """Truncation by one launch, a program for each row. Implements `Truncation`."""

    name = "triton"

    def truncate(self, scaled: Tensor, spare: Tensor, limits: Limits) -> None:
        """See `Truncation.truncate`."""
        num_rows, vocab_size = scaled.shape
        block = max(_LEAST_BLOCK, min(_MOST_BLOCK, triton.next_power_of_2(vocab_size)))
        truncate_rows[(num_rows,)](
            scaled,
            spare,
            limits.least,
            limits.num_kept,
            limits.shares,
            vocab_size,
            BLOCK=block,
            HAS_TOP_K=limits.has_top_k,
            HAS_TOP_P=limits.has_top_p,
            num_warps=block // _LANES_OF_A_WARP,
            enable_fp_fusion=True,
        )
