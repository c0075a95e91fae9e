"""Tiny wrappers of the suite: models that take images or audio, whose text part is served."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import transformers

from tests.conformance.case import COMMON, Case

_VISION = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "depth": 1,
    "num_heads": 2,
    "out_hidden_size": 64,
}
_SECTIONS = {
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": [4, 2, 2],
    }
}


@dataclass(frozen=True)
class WrapperCase(Case):
    """A wrapper; `settings` are those of its text part."""

    parts: dict[str, Any] = field(default_factory=lambda: {"vision_config": _VISION})

    def config(self) -> Any:
        """Build the transformers config."""
        text = {**COMMON, **self.settings}
        config_class = getattr(transformers, self.architecture).config_class
        return config_class(**copy.deepcopy({"text_config": text, **self.parts}))


WRAPPED: tuple[WrapperCase, ...] = (
    WrapperCase("qwen2-vl", "Qwen2VLForConditionalGeneration", "", _SECTIONS),
    WrapperCase("qwen2.5-vl", "Qwen2_5_VLForConditionalGeneration", "", _SECTIONS),
)
