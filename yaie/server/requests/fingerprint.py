"""Fingerprint of everything besides the request that an answer depends on."""

from __future__ import annotations

import hashlib

import msgspec

from yaie.base.own_version import read_version
from yaie.base.types import EngineInfo

_SETTINGS = (
    "architecture", "attention_backend", "device", "dtype", "exact", "execution", "kv_dtype",
    "max_model_len", "model", "model_path", "num_parameters", "quantization", "vocab_size",
)  # fmt: skip


def fingerprint(info: EngineInfo) -> str:
    """Return `system_fingerprint`: equal for equal model, version and settings."""
    facts = [read_version(), *(getattr(info, name) for name in _SETTINGS)]
    return "fp_" + hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:12]
