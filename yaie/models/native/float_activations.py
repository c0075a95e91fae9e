"""Float activations: a model of transformers whose rows stay float32 between packed layers.

Packed layers compute float32, so rows in 16 bits would be converted twice at each. With float32
rows every small operation of transformers is faster, too. Weights stay in their format; what is
not packed, such as norms and routers, is widened.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packed_linears import PackedLinear
from yaie.models.native.packing import Packer

_MOST_WIDENED = 64_000_000  # numbers


class PackedEmbedding(nn.Module):
    """The rows of a packed head, whose weights the embedding shares."""

    def __init__(self, head: PackedLinear, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.num_embeddings, self.embedding_dim = head.out_features, head.in_features
        self._head = head

    def forward(self, token_ids: torch.Tensor) -> torch.Tensor:
        """Return the rows [..., width] for token ids [...], in `dtype`."""
        return self._head.unpack(token_ids).to(self.dtype)


def pack_tied_head(model: Any, library: Library, packer: Packer, dtype: torch.dtype) -> None:
    """Pack a plain head that shares its weights with the embedding."""
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if type(head) is not nn.Linear or type(embedding) is not nn.Embedding:
        return
    if head.weight.data_ptr() != embedding.weight.data_ptr():
        return
    packed = PackedLinear(library, packer.pack(LinearParts((head,))))
    embedding.weight.data = torch.empty(0, dtype=dtype)
    model.set_output_embeddings(packed)
    model.set_input_embeddings(PackedEmbedding(packed, dtype))


def widen_activations(model: Any) -> bool:
    """Have the model compute in float32 from the embedding on, if all large layers are packed."""
    embedding = model.get_input_embeddings()
    table = {id(each) for each in embedding.parameters()}
    others = [each for each in model.parameters() if id(each) not in table]
    if sum(each.numel() for each in others) > _MOST_WIDENED:
        return False
    for each in others:
        each.data = each.data.float()
    if isinstance(embedding, PackedEmbedding):
        embedding.dtype = torch.float32
    else:
        embedding.register_forward_hook(lambda _module, _inputs, output: output.float())
    return True
