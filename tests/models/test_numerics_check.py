"""The comparison at load: rounding passes it, and a fault does not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.models.numerics_faults import FAULTS
from tests.models.test_native_decoder import needs_library
from tests.models.zoo_models import load_case
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.native.numerics_check import DecoderDiffers, check_agreement, comparison_plans


@needs_library
@pytest.mark.parametrize("name", ["llama", "qwen3"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(
    fault: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_case(name, tmp_path)
    FAULTS[fault](monkeypatch)
    with pytest.raises(DecoderDiffers, match="off by"):
        choose_executor(loaded)


def test_one_ill_conditioned_row_is_no_fault(tmp_path: Path) -> None:
    """Rounding alone changes the logits of a few rows completely, each in one text."""
    loaded = load_case("llama", tmp_path, dtype="bfloat16")
    plans = comparison_plans(loaded, with_gap=True)
    expected = [torch.randn(len(plan.logit_rows), loaded.vocab_size) for plan in plans]
    found = [each * 1.02 for each in expected]
    for rows, row in zip(found, (0, 17, 20), strict=True):
        rows[row] = torch.randn(loaded.vocab_size)
    assert check_agreement(loaded, plans, found, expected) == pytest.approx(0.02, rel=0.1)
    found[1][0] = torch.randn(loaded.vocab_size)  # the same row in both texts
    with pytest.raises(DecoderDiffers, match="off by"):
        check_agreement(loaded, plans, found, expected)


@pytest.mark.parametrize("rows", [slice(0, 9), slice(9, 16), slice(16, 23)], ids=str)
def test_one_wrong_path_is_a_fault(tmp_path: Path, rows: slice) -> None:
    loaded = load_case("llama", tmp_path, dtype="bfloat16")
    plans = comparison_plans(loaded, with_gap=False)
    expected = [torch.randn(len(plan.logit_rows), loaded.vocab_size) for plan in plans]
    found = [each.clone() for each in expected]
    found[0][rows] *= 1.2
    with pytest.raises(DecoderDiffers, match=r"off by 20\.00%"):
        check_agreement(loaded, plans, found, expected)


def test_a_nan_is_a_fault(tmp_path: Path) -> None:
    loaded = load_case("llama", tmp_path)
    plans = comparison_plans(loaded, with_gap=False)
    expected = [torch.randn(len(plan.logit_rows), loaded.vocab_size) for plan in plans]
    found = [each.clone() for each in expected]
    for each in found:
        each[3, 0] = torch.nan
    with pytest.raises(DecoderDiffers, match="off by inf"):
        check_agreement(loaded, plans, found, expected)
