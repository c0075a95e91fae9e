"""The support table matches the code, and each of its models has a case."""

from __future__ import annotations

import copy

import transformers

from tests.conformance.table import PAGE, page_with, render
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from yaie.models.architectures import SUPPORTED
from yaie.models.wrappers import WRAPPERS


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(render()), (
        "run: python -m tests.conformance.table"
    )


def test_supported_architectures_are_those_with_a_case() -> None:
    assert {case.architecture for case in CASES} == {entry.architecture for entry in SUPPORTED}


def test_wrappers_are_those_with_a_case() -> None:
    assert {case.architecture for case in WRAPPED} == {entry.architecture for entry in WRAPPERS}


def test_model_types_are_those_of_transformers() -> None:
    for entry in (*SUPPORTED, *WRAPPERS):
        model_class = getattr(transformers, entry.architecture)
        assert model_class.config_class.model_type == entry.model_type


def test_configs_of_cases_leave_shared_settings_alone() -> None:
    before = copy.deepcopy([case.settings for case in (*CASES, *WRAPPED)])
    for case in (*CASES, *WRAPPED):
        case.config()
    assert [case.settings for case in (*CASES, *WRAPPED)] == before
