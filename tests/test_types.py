"""What callers may ask: every field of a wrong type or size is refused by name, whoever asks."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from yaie.config import EngineConfig
from yaie.errors import ConfigError, InvalidRequest
from yaie.types import SamplingParams


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 0),
        ("n", True),
        ("max_tokens", 1.5),
        ("max_tokens", 2**63),
        ("min_tokens", 2**63),
        ("top_k", 2**70),
        ("temperature", float("nan")),
        ("temperature", "hot"),
        ("top_p", 0),
        ("logit_bias", {"5": 1.0}),
        ("logit_bias", {5: "x"}),
        ("logit_bias", {5: 101}),
        ("logit_bias", [5]),
        ("stop", (1,)),
        ("stop", 5),
        ("stop", [""]),
        ("stop_token_ids", ["1"]),
        ("stop_token_ids", 7),
    ],
)
def test_sampling_params_name_the_field_that_is_wrong(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=name) as refusal:
        SamplingParams(**{name: value})
    assert refusal.value.param == name


def test_none_is_the_default_unless_it_has_a_meaning_of_its_own() -> None:
    names = [field.name for field in dataclasses.fields(SamplingParams)]
    given = SamplingParams(**dict.fromkeys(names))
    assert given == SamplingParams(max_tokens=None)  # as many as there is room for


def test_lists_are_taken_where_tuples_are_kept() -> None:
    params = SamplingParams(stop=["a", "b"], stop_token_ids=[1, 2])  # type: ignore[arg-type]
    assert params.stop == ("a", "b")
    assert params.stop_token_ids == (1, 2)
    assert SamplingParams(stop="a").stop == ("a",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["num_slots", "max_model_len", "max_step_rows", "max_running", "max_waiting", "threads"],
)
def test_counts_of_the_engine_begin_at_one(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        EngineConfig(**{name: 0})  # type: ignore[arg-type]
