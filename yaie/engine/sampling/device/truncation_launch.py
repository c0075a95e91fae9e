"""Truncation by the Triton kernel: its block size, arguments and launch."""

from __future__ import annotations

from torch import Tensor

from yaie.engine.sampling.device.device_truncation import Limits
from yaie.engine.sampling.device.truncation_kernel import truncate_rows

_BLOCK = 2048  # smaller ones in fewer warps spill registers
_LANES_OF_A_WARP = 128  # elements of a block: four for each thread, and so 16 bytes


class TritonTruncation:
    """Truncation by one launch, a program for each row. Implements `RowTruncation`."""

    name = "triton"
    skips_rows = True

    def truncate(self, scaled: Tensor, spare: Tensor, limits: Limits) -> None:
        """See `RowTruncation.truncate`."""
        num_rows, vocab_size = scaled.shape
        truncate_rows[(num_rows,)](
            scaled,
            spare,
            limits.least,
            limits.num_kept,
            limits.shares,
            vocab_size,
            BLOCK=_BLOCK,
            HAS_TOP_K=limits.has_top_k,
            HAS_TOP_P=limits.has_top_p,
            num_warps=_BLOCK // _LANES_OF_A_WARP,
            enable_fp_fusion=True,
        )
