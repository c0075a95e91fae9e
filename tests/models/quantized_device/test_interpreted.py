"""The product kernels' source on a CPU: Triton interprets them in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton_process import needs_triton, run_interpreted

HERE = Path(__file__).parent
pytestmark = needs_triton


@pytest.mark.slow
def test_products() -> None:
    run_interpreted(HERE / "interpreted_products.py", PRODUCTS_SET="small")


@pytest.mark.slow
def test_models() -> None:
    run_interpreted(HERE / "interpreted_models.py")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_models_of_every_kind() -> None:
    run_interpreted(
        HERE / "interpreted_models.py",
        PRODUCTS_KINDS="int4,int8,int8 in groups,fp8",
        PRODUCTS_DTYPES="float32,bfloat16",
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_products_of_many_shapes() -> None:
    run_interpreted(HERE / "interpreted_products.py", PRODUCTS_SET="large")
