"""The check of a truncation: what may differ by rounding, and what may not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings

from tests.engine.device_truncation.rows import Rows, rows
from yaie.engine.sampling.device.device_truncation import Limits, PlainTruncation
from yaie.engine.sampling.device.truncation_check import find_fault

NUM_EQUAL = 10


def limits(*, share: float = math.inf, top_k: int = 1000, least: float = -math.inf) -> Limits:
    return Limits(
        torch.tensor([least]),
        torch.tensor([top_k]),
        torch.tensor([share], dtype=torch.float64),
        has_min_p=True,
        has_top_k=True,
        has_top_p=True,
    )


def kept(scaled: torch.Tensor, *ids: int) -> torch.Tensor:
    """Return the row after a truncation that keeps these tokens."""
    found = torch.full_like(scaled, -math.inf)
    found[0, list(ids)] = scaled[0, list(ids)]
    return found


def equal_tokens() -> torch.Tensor:
    """Return a row whose first tokens are equal; the rest weighs nothing."""
    return torch.tensor([[0.0] * NUM_EQUAL + [-200.0] * 3])


@settings(max_examples=60)
@given(rows(most=300))
def test_torchs_truncation_is_right(batch: Rows) -> None:
    is_good = ~batch.scaled.isnan().any(dim=-1)
    params = [each for each, good in zip(batch.params, is_good.tolist(), strict=True) if good]
    good = Rows(batch.scaled[is_good], params)
    if params:
        assert find_fault(good.scaled, good.truncated(PlainTruncation()), good.limits()) is None


@pytest.mark.parametrize(("count", "is_right"), [(4, False), (5, True), (6, True), (7, False)])
def test_a_sum_that_equals_the_share_may_end_before_or_behind_the_next_token(
    count: int, is_right: bool
) -> None:
    """Five of ten equal tokens are exactly half; with rounding, half may begin behind the fifth."""
    scaled = equal_tokens()
    fault = find_fault(scaled, kept(scaled, *range(count)), limits(share=0.5))
    assert (fault is None) is is_right
    assert is_right or f"keeps {count} tokens instead of 5 to 6" in str(fault)


@pytest.mark.parametrize(("error", "is_right"), [(5e-7, True), (5e-6, False)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_tolerance_is_a_share_of_the_weights(error: float, is_right: bool, sign: int) -> None:
    """Half plus or minus an error, and the count of tokens that is right on the other side."""
    scaled = equal_tokens()
    count = 5 if sign > 0 else 6
    fault = find_fault(scaled, kept(scaled, *range(count)), limits(share=0.5 + sign * error))
    assert (fault is None) is is_right


@pytest.mark.parametrize("count", [5, 7])
def test_away_from_a_border_one_token_more_or_less_is_wrong(count: int) -> None:
    scaled = equal_tokens()
    assert find_fault(scaled, kept(scaled, *range(6)), limits(share=0.55)) is None
    fault = find_fault(scaled, kept(scaled, *range(count)), limits(share=0.55))
    assert fault == f"it keeps {count} tokens instead of 6 to 6"


@pytest.mark.parametrize(
    "used", [limits(top_k=5), limits(share=0.5), limits(top_k=5, share=0.5), limits(least=-1.0)]
)
def test_equal_tokens_are_kept_from_the_lowest_id_on(used: Limits) -> None:
    scaled = equal_tokens()
    count = int((truncated_by_torch(scaled, used) > -math.inf).sum())
    ids = [*range(count - 1), count]
    fault = find_fault(scaled, kept(scaled, *ids), used)
    assert fault == "it keeps a token and drops a more likely one"


def truncated_by_torch(scaled: torch.Tensor, used: Limits) -> torch.Tensor:
    found = scaled.clone()
    PlainTruncation().truncate(found, torch.empty_like(found), used)
    return found


@pytest.mark.parametrize("count", [4, 6])
def test_a_number_of_tokens_is_exact(count: int) -> None:
    scaled = equal_tokens()
    fault = find_fault(scaled, kept(scaled, *range(count)), limits(top_k=5))
    assert fault == f"it keeps {count} tokens instead of 5"


def test_the_share_is_one_of_what_top_k_leaves() -> None:
    """Two of the four tokens that are left, and not five of all ten."""
    scaled, used = equal_tokens(), limits(top_k=4, share=0.5)
    assert find_fault(scaled, kept(scaled, 0, 1), used) is None
    assert find_fault(scaled, kept(scaled, *range(5)), used) is not None
    every = replace(used, has_top_k=False)
    assert find_fault(scaled, kept(scaled, *range(5)), every) is None


def test_kept_logits_stay_as_they_are() -> None:
    scaled = equal_tokens()
    found = kept(scaled, *range(5))
    found[0, 2] = -0.5
    assert find_fault(scaled, found, limits(top_k=5)) == "it changes logits that it keeps"
    found[0, 2] = math.nan
    assert find_fault(scaled, found, limits(top_k=5)) == "it changes logits that it keeps"


def test_each_row_is_checked_under_its_own_limits() -> None:
    first, second = limits(top_k=5), limits(top_k=2)
    both = Limits(
        torch.cat([first.least, second.least]),
        torch.cat([first.num_kept, second.num_kept]),
        torch.cat([first.shares, second.shares]),
        has_min_p=True,
        has_top_k=True,
        has_top_p=True,
    )
    scaled = equal_tokens()
    found = torch.cat([kept(scaled, *range(5)), kept(scaled, 0, 1, 2)])
    assert find_fault(scaled.repeat(2, 1), found, both) == "it keeps 3 tokens instead of 2"
