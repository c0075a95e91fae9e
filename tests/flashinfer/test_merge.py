"""The merge of partial results, against one softmax over all keys."""

from __future__ import annotations

import pytest
import torch

from yaie.attention.flashinfer.merge import Partial, merge, with_sinks


def attention(scores: torch.Tensor, values: torch.Tensor) -> Partial:
    """scores [queries, heads, keys], values [keys, heads, width]; no keys give 0 and -inf."""
    weights = torch.nan_to_num(scores.softmax(-1))
    return Partial(torch.einsum("qhk,khw->qhw", weights, values), scores.logsumexp(-1))


def together(parts: list[Partial], dtype: torch.dtype) -> Partial:
    output = torch.cat([part.output for part in parts]).to(dtype)
    return Partial(output, torch.cat([part.lse for part in parts]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_merged_levels_equal_one_softmax(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    rows, heads, width = 6, 3, 8
    scores = torch.randn(rows, heads, 12) * 5
    values = torch.randn(12, heads, width)
    # Rows 0-3 share keys 0-4, rows 1-2 keys 5-7; the others are a row's own.
    own_first = [5, 8, 8, 5, 0, 0]
    own = [attention(scores[[r], :, first:], values[first:]) for r, first in enumerate(own_first)]
    shared = [
        attention(scores[0:4, :, :5], values[:5]),
        attention(scores[1:3, :, 5:8], values[5:8]),
    ]
    result = merge(
        together(own, dtype),
        together(shared, dtype),
        torch.tensor([0, 1, 2, 3, 1, 2]),
        (0, 4, 6),
    )
    expected = attention(scores, values)
    tolerance = 1e-5 if dtype is torch.float32 else 0.02
    torch.testing.assert_close(result.output, expected.output, atol=tolerance, rtol=0)
    torch.testing.assert_close(result.lse, expected.lse)
    assert result.output.dtype == torch.float32


def test_a_shared_part_without_keys_changes_nothing() -> None:
    own = Partial(torch.randn(2, 1, 4), torch.randn(2, 1))
    empty = Partial(torch.zeros(2, 1, 4), torch.full((2, 1), -torch.inf))
    result = merge(own, empty, torch.tensor([0, 1]), (0, 2))
    assert torch.equal(result.output, own.output)
    assert torch.equal(result.lse, own.lse)


def test_sinks_join_the_denominator_once() -> None:
    torch.manual_seed(0)
    scores, values, sinks = torch.randn(5, 3, 7), torch.randn(7, 3, 4), torch.randn(3) * 3
    with_column = torch.cat([scores, sinks.expand(5, 3)[..., None]], -1)
    expected = attention(with_column, torch.cat([values, torch.zeros(1, 3, 4)]))
    torch.testing.assert_close(with_sinks(attention(scores, values), sinks), expected.output)
