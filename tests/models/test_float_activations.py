"""Tied heads that are packed, and rows that stay float32."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from yaie.kernels.library import Library
from yaie.models.native.float_activations import (
    PackedEmbedding,
    pack_tied_head,
    widen_activations,
)
from yaie.models.native.packed_linears import PackedLinear, packable_linears
from yaie.models.native.packing import Packer

VOCAB, WIDTH = 131, 48


class _Tied(nn.Module):
    """An embedding, a norm and a head with the embedding's weights."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH, dtype=dtype)
        self.norm = nn.RMSNorm(WIDTH, dtype=dtype)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False, dtype=dtype)
        self.head.weight = self.embedding.weight
        self.requires_grad_(False)

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def set_input_embeddings(self, module: nn.Module) -> None:
        self.embedding = module  # type: ignore[assignment]

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def set_output_embeddings(self, module: nn.Module) -> None:
        self.head = module  # type: ignore[assignment]

    def forward(self, token_ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.norm(self.embedding(token_ids)))
        return logits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_packed_tied_head_serves_the_embedding(library: Library, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model, token_ids = _Tied(dtype), torch.tensor([[0, 130, 7, 64, 7]])
    rows, logits = model.embedding(token_ids), model(token_ids).float()
    packer = Packer(library, dtype)
    pack_tied_head(model, library, packer, dtype)
    assert isinstance(model.head, PackedLinear)
    assert isinstance(model.embedding, PackedEmbedding)
    assert packable_linears(model, dtype) == {}
    assert torch.equal(model.embedding(token_ids), rows)
    torch.testing.assert_close(model(token_ids).float(), logits, rtol=0.02, atol=0.02)
    assert widen_activations(model)
    assert model.norm.weight.dtype is torch.float32
    assert model.embedding(token_ids).dtype is model(token_ids).dtype is torch.float32


def test_rows_of_an_embedding_of_its_own_are_widened() -> None:
    model = _Tied(torch.bfloat16)
    model.head.weight = nn.Parameter(torch.randn(VOCAB, WIDTH).bfloat16(), requires_grad=False)
    assert widen_activations(model)
    assert model.embedding.weight.dtype is torch.bfloat16
    assert model(torch.tensor([3])).dtype is torch.float32


def test_large_layers_that_are_not_packed_keep_the_rows_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("yaie.models.native.float_activations._MOST_WIDENED", 10)
    model = _Tied(torch.bfloat16)
    assert not widen_activations(model)
    assert model(torch.tensor([3])).dtype is torch.bfloat16
