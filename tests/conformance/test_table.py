"""The support table says what the code does, and everything it names is tested."""

from __future__ import annotations

import transformers

from tests.conformance.table import PAGE, page_with, render
from tests.conformance.zoo import CASES
from yaie.models.support import SUPPORTED


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(render()), (
        "run: python -m tests.conformance.table"
    )


def test_every_supported_architecture_has_a_case_and_every_case_is_supported() -> None:
    assert {case.architecture for case in CASES} == {entry.architecture for entry in SUPPORTED}


def test_model_types_are_those_of_transformers() -> None:
    for entry in SUPPORTED:
        model_class = getattr(transformers, entry.architecture)
        assert model_class.config_class.model_type == entry.model_type
