"""Metadata survives JSON unchanged; other fields are an error."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.models.test_geometry import probed
from yaie.kvcache.state_pool import StateShape
from yaie.models.architecture.loaded_model import ModelMetadata, ModelSizes

METADATA = ModelMetadata(
    architecture="Gemma2ForCausalLM",
    dtype="bfloat16",
    kv_dtype="int8",
    quantization=None,
    sizes=ModelSizes(hidden=64, inner=128, head=16, num_heads=4, vocab=512),
    specs=(),
    context_len=4096,
    kv_bytes_per_token=1024,
    planned_weight_bytes=10_000,
    weight_bytes=10_240,
    num_parameters=5_120,
    eos_token_ids=(1, 106),
    default_sampling={"temperature": 0.6, "top_k": 20},
)


def test_metadata_survives_json() -> None:
    states = ((StateShape("conv", 0, (64, 4), "float32"),),)
    metadata = dataclasses.replace(METADATA, specs=probed("gemma2")[1], states=states)
    assert ModelMetadata.from_json(json.loads(json.dumps(metadata.to_json()))) == metadata


def test_missing_and_unknown_fields_are_errors() -> None:
    for change in ({"unknown": 1}, {"sizes": {"hidden": 1}}):
        with pytest.raises(TypeError):
            ModelMetadata.from_json(METADATA.to_json() | change)
    with pytest.raises(KeyError):
        ModelMetadata.from_json({})
