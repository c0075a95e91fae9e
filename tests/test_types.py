"""Sampling fields: a wrong type or size is an error that names the field."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest

from yaie.base.errors import ConfigError, InvalidRequest
from yaie.base.settings import ENGINE_SETTINGS, LEAST_CONTEXT, EngineConfig
from yaie.base.types import SAMPLING_FIELDS, SamplingParams


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
        ("allowed_token_ids", []),
        ("bad_words_token_ids", [[]]),
        ("bad_words_token_ids", [5]),
        ("allowed_token_ids", ["1"]),
        ("stop_token_ids", [10**5000]),
        ("logit_bias", {10**5000: 1.0}),
        pytest.param("seed", 10**5000, id="a seed too long to show"),
        pytest.param("temperature", -(10**5000), id="a temperature too long to show"),
        ("stop", {10**5000}),
        ("seed", np.float32(1.0)),
        ("ignore_eos", "no"),
        ("skip_special_tokens", 0),
        ("include_stop_str_in_output", "false"),
    ],
)
def test_errors_name_the_wrong_field(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=name) as refusal:
        SamplingParams(**{name: value})
    assert refusal.value.param == name


def test_none_is_the_default_of_fields_that_need_a_value() -> None:
    nothing: dict[str, Any] = {field.name: None for field in dataclasses.fields(SamplingParams)}
    # For max_tokens it is the rest of the context.
    assert SamplingParams(**nothing) == SamplingParams(max_tokens=None)


def test_numbers_of_array_libraries_become_plain_ones() -> None:
    given: dict[str, Any] = {
        "seed": np.int64(3),
        "max_tokens": np.uint8(7),
        "temperature": np.float32(0.5),
        "top_p": np.float64(0.25),
        "stop_token_ids": [np.int32(4)],
        "logit_bias": {np.int64(5): np.float16(1.5)},
    }
    params = SamplingParams(**given)
    assert params == SamplingParams(
        seed=3,
        max_tokens=7,
        temperature=0.5,
        top_p=0.25,
        stop_token_ids=(4,),
        logit_bias={5: 1.5},
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(params), type=SamplingParams) == params


def test_lists_become_tuples() -> None:
    params = SamplingParams(stop=["a", "b"], stop_token_ids=[1, 2])  # type: ignore[arg-type]
    assert params.stop == ("a", "b")
    assert params.stop_token_ids == (1, 2)
    assert SamplingParams(stop="a").stop == ("a",)  # type: ignore[arg-type]


def test_models_may_recommend_temperature_and_truncation() -> None:
    recommended = {name for name, each in SAMPLING_FIELDS.items() if each.is_recommended}
    assert recommended == {"temperature", "top_p", "top_k", "min_p", "repetition_penalty"}


@pytest.mark.parametrize("value", [-0.1, 0, 1.1])
def test_top_p_is_a_share(value: float) -> None:
    with pytest.raises(InvalidRequest, match="greater than 0 and at most 1"):
        SamplingParams(top_p=value)


@pytest.mark.parametrize(
    "name", [name for name, each in ENGINE_SETTINGS.items() if each.kind is int]
)
def test_whole_settings_of_the_engine_have_bounds(name: str) -> None:
    zero = ("seed", "max_waiting_tokens", "priority_aging")
    least = LEAST_CONTEXT if name in ("num_slots", "max_model_len") else int(name not in zero)
    for too_small in {min(0, least - 1), least - 1}:
        said = f"{name} is {too_small}; it must be at least {least}"
        with pytest.raises(ConfigError, match=said):
            EngineConfig(**{name: too_small})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=rf"{name} is \d+; it must be at most \d+") as refusal:
        EngineConfig(**{name: 2**64})  # type: ignore[arg-type]
    largest = int(refusal.value.message.split()[-1])
    config = EngineConfig(**{name: largest})  # type: ignore[arg-type]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(config), type=EngineConfig) == config
    with pytest.raises(ConfigError, match=name):
        EngineConfig(**{name: largest + 1})  # type: ignore[arg-type]
