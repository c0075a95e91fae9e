"""The support table matches the code, and each of its models has a case."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
import transformers

from tests.conformance.popular import POPULAR, Popular
from tests.conformance.recurrent import RECURRENT, RECURRENT_WRAPPED
from tests.conformance.table import PAGE, page_with, render
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.architectures import REFUSED, SUPPORTED
from yaie.models.architecture.quantization_config import read_quantization
from yaie.models.architecture.support import check_supported
from yaie.models.architecture.text_backbones import WRAPPERS, text_config, wrapper_of
from yaie.models.load.hf_model import read_hf_config


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(render()), (
        "run: python -m tests.conformance.table"
    )


def test_supported_architectures_are_those_with_a_case() -> None:
    cases = {case.architecture for case in (*CASES, *RECURRENT)}
    assert cases == {entry.architecture for entry in SUPPORTED}


def test_wrappers_are_those_with_a_case() -> None:
    cases = {case.architecture for case in (*WRAPPED, *RECURRENT_WRAPPED)}
    assert cases == {entry.architecture for entry in WRAPPERS}


def test_model_types_are_those_of_transformers() -> None:
    for entry in (*SUPPORTED, *(each for each in WRAPPERS if each.is_in_transformers)):
        model_class = getattr(transformers, entry.architecture)
        assert model_class.config_class.model_type == entry.model_type


@pytest.mark.parametrize("popular", POPULAR, ids=lambda popular: popular.name)
def test_a_popular_checkpoint_is_served_or_refused_for_a_capability(
    popular: Popular, tmp_path: Path
) -> None:
    """Also with the defaults of its class, which transformers fills in."""
    if popular.refusal:
        assert popular.refusal.isprintable()
        assert re.search(r"attention|running state|\bnot served\b", popular.refusal)
        return
    (tmp_path / "config.json").write_text(json.dumps(popular.config))
    config = read_hf_config(tmp_path, wrapper_of(popular.config))
    assert check_supported(config.to_dict()) == check_supported(popular.config)
    for quantization in popular.others:
        others = popular.config | {"quantization_config": quantization}
        assert read_quantization(text_config(others)) is not None
        check_supported(others)


def test_fifty_popular_checkpoints() -> None:
    assert len({popular.name for popular in POPULAR}) == 50
    assert sum(not popular.refusal for popular in POPULAR) >= 35


def test_refusals_name_the_capability_in_a_line() -> None:
    for model_type, reason in REFUSED.items():
        with pytest.raises(ModelUnsupported) as refused:
            check_supported({"model_type": model_type, "architectures": ["Other"]})
        assert refused.value.message == f"Other cannot be served: {reason}"
        assert reason.isprintable()


def test_configs_of_cases_leave_shared_settings_alone() -> None:
    before = copy.deepcopy([case.settings for case in (*CASES, *RECURRENT, *WRAPPED)])
    for case in (*CASES, *RECURRENT, *WRAPPED):
        case.config()
    assert [case.settings for case in (*CASES, *RECURRENT, *WRAPPED)] == before
