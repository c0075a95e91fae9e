"""Packed linear layers inside a model that transformers runs.

Linear layers are most of a decoder's bytes and operations. In a decoder of unknown structure each
is packed for the kernel library and called by address; transformers runs the rest. The executor
compares the model's logits before and after.
"""

from __future__ import annotations

import torch
from torch import nn

from yaie.device.available_memory import trim_heap
from yaie.kernels.decoder_structures import SET, Linear
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import KINDS, Packer
from yaie.models.quantization.quantized_weights import ROUTERS, QuantizedLinear
from yaie.process.progress import report_each

# Number of freed weights at which the heap is trimmed.
_TRIM_AFTER = 32_000_000


class PackedLinear(nn.Module):
    """y = x W^T (+ bias) by the kernel library, in float32."""

    def __init__(self, library: Library, linear: Linear, order: torch.Tensor | None = None) -> None:
        """`order`: the input of each column; None: as they are."""
        super().__init__()
        self.in_features, self.out_features = linear.num_inputs, linear.num_outputs
        self._library = library
        self._linear = linear
        self._order = order

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., inputs] to [..., outputs], in x's dtype."""
        rows = x.reshape(-1, self.in_features).float().contiguous()
        if self._order is not None:
            rows = rows.index_select(1, self._order)
        y = torch.empty(rows.shape[0], self.out_features)
        self._library.linear(self._linear, rows.data_ptr(), rows.shape[0], y.data_ptr(), SET, 0.0)
        return y.to(x.dtype).view(*x.shape[:-1], self.out_features)

    def unpack(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the weights [..., inputs] of some outputs [...], in float32."""
        outputs = outputs.contiguous()
        rows = torch.empty(*outputs.shape, self.in_features)
        self._library.unpack(self._linear, outputs.data_ptr(), outputs.numel(), rows.data_ptr())
        return rows if self._order is None else rows[..., self._order.argsort()]


def packable_linears(
    model: nn.Module, dtype: torch.dtype
) -> dict[str, nn.Linear | QuantizedLinear]:
    """Return the plain and quantized linear layers that the library can compute, by name.

    A head tied to the embedding is excluded: the embedding needs its weights unpacked.
    """
    if dtype not in KINDS:
        return {}
    table = getattr(model.get_input_embeddings(), "weight", None)  # type: ignore[operator]
    found: dict[str, nn.Linear | QuantizedLinear] = {}
    for name, module in model.named_modules():
        if isinstance(module, QuantizedLinear):
            found[name] = module
            continue
        if not isinstance(module, nn.Linear) or type(module) is not nn.Linear:
            continue
        if name.endswith(ROUTERS):
            continue
        if table is None or module.weight.data_ptr() != table.data_ptr():
            found[name] = module
    return found


def pack_linears(
    model: nn.Module,
    linears: dict[str, nn.Linear | QuantizedLinear],
    library: Library,
    packer: Packer,
) -> None:
    """Replace a model's linear layers by packed ones, freeing each original immediately.

    The packer owns their memory and must live as long as the model.
    """
    freed = 0
    for name, module in report_each(linears.items(), "packing weights", len(linears)):
        freed += module.out_features * module.in_features
        if freed > _TRIM_AFTER:
            trim_heap()
            freed = 0
        packed = PackedLinear(library, *packer.pack_reordered(LinearParts((module,))))
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, packed)
    packer.warn_of_dequantized()
