"""Draft settings: `speculate`, and vLLM's JSON for it."""

from __future__ import annotations

import json

import pytest

from yaie.api.local_engine import engine_config
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}, "5"),
        ({"method": "suffix", "suffix_decoding_max_spec_factor": 2.0}, "auto"),
    ],
)
def test_methods_without_a_draft_model_are_taken(given: dict[str, object], wanted: str) -> None:
    config = EngineConfig(speculative_config=json.dumps(given))
    assert config.speculate == wanted
    assert EngineConfig(speculative_config=json.dumps(given), speculate=wanted) == config
    assert engine_config("builtin", None, {"speculative_config": given}) == config


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('{"method": "eagle3", "num_speculative_tokens": 5}', "'eagle3'; give speculate=auto"),
        ('{"model": "some/draft"}', "a draft model; speculate=auto"),
        ('{"num_speculative_tokens": 5}', "has no method"),
        ('{"methd": "ngram"}', "methd; did you mean"),
        ('{"method": "ngram", "num_speculative_tokens": 0}', "0; 1 to 64"),
        ('{"method": "ngram", "num_speculative_tokens": true}', "whole number"),
        ('{"method": "ngram", "prompt_lookup_maximum": 3}', "prompt_lookup_maximum; _max"),
        ("[]", "JSON object"),
        ("ngram", "not valid JSON"),
    ],
)
def test_anything_else_is_refused_with_the_fix(given: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        EngineConfig(speculative_config=given)
    assert refused.value.param == "speculative_config"
    for each in words.split("; "):
        assert each.removeprefix("give ") in str(refused.value), str(refused.value)


def test_two_different_values_are_refused() -> None:
    config = '{"method": "ngram", "num_speculative_tokens": 5}'
    with pytest.raises(ConfigError, match="differ"):
        EngineConfig(speculative_config=config, speculate="auto")


@pytest.mark.parametrize("value", ["0", "65", "on", "-1", "1.5"])
def test_a_wrong_number_of_tokens_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="auto, off or 1 to 64"):
        EngineConfig(speculate=value)
