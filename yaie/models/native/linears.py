"""Linear layers in the kernel library inside a model that transformers runs.

Where a decoder is not recognised as a whole, its linear layers are still most of its bytes and
operations: each is packed and called by address, the rest runs as transformers wrote it. Called by
the executor, which compares the model's logits before and after.
"""

from __future__ import annotations

import torch
from torch import nn

from yaie.kernels.decoder import SET, Linear
from yaie.kernels.library import Library
from yaie.models.memory import trim_heap
from yaie.models.native.packing import KINDS, Packer
from yaie.models.native.structure import LinearParts
from yaie.models.quantization.weights import QuantizedLinear

# Weights that may have been freed before the C library is asked to give their memory back.
_TRIM_AFTER = 32_000_000


class PackedLinear(nn.Module):
    """y = x W^T (+ bias) by the kernel library, computed in float32."""

    def __init__(self, library: Library, linear: Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.num_inputs, linear.num_outputs
        self._library = library
        self._linear = linear

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., inputs] to [..., outputs], in x's dtype."""
        rows = x.reshape(-1, self.in_features).float().contiguous()
        y = torch.empty(rows.shape[0], self.out_features)
        self._library.linear(self._linear, rows.data_ptr(), rows.shape[0], y.data_ptr(), SET, 0.0)
        return y.to(x.dtype).view(*x.shape[:-1], self.out_features)


def packable_linears(
    model: nn.Module, dtype: torch.dtype
) -> dict[str, nn.Linear | QuantizedLinear]:
    """The plain and the quantized linear layers that the library can compute, by name.

    A head whose weights are the embedding's is none of them: they are needed as they are.
    """
    if dtype not in KINDS:
        return {}
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    found: dict[str, nn.Linear | QuantizedLinear] = {}
    for name, module in model.named_modules():
        if isinstance(module, QuantizedLinear):
            found[name] = module
            continue
        if not isinstance(module, nn.Linear) or type(module) is not nn.Linear:
            continue
        if module.weight.data_ptr() != embedding.weight.data_ptr():
            found[name] = module
    return found


def pack_linears(
    model: nn.Module,
    linears: dict[str, nn.Linear | QuantizedLinear],
    library: Library,
    dtype: torch.dtype,
) -> Packer:
    """Replace these linear layers of a model, each original freed at once.

    Returns the packer, which must live as long as the model runs.
    """
    packer = Packer(library, dtype)
    freed = 0
    for name, module in linears.items():
        freed += module.out_features * module.in_features
        if freed > _TRIM_AFTER:
            trim_heap()
            freed = 0
        packed = PackedLinear(library, packer.pack(LinearParts((module,))))
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, packed)
    packer.tell_of_widened()
    return packer
