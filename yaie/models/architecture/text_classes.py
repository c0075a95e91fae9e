"""Text-only classes for wrappers that lack one in transformers.

Each consists of the wrapper's own text model and its head. Imports transformers.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.models.muse_glimmer.configuration_muse_glimmer import MuseGlimmerTextConfig
from transformers.models.muse_glimmer.modeling_muse_glimmer import (
    MuseGlimmerPreTrainedModel,
    MuseGlimmerTextModel,
)


class MuseGlimmerForCausalLM(MuseGlimmerPreTrainedModel):  # type: ignore[misc]
    """Muse Glimmer's text model."""

    config_class = MuseGlimmerTextConfig
    base_model_prefix = "model"
    _tied_weights_keys: ClassVar[dict[str, str]] = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = MuseGlimmerTextModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self, input_ids: torch.Tensor, logits_to_keep: int | torch.Tensor = 0, **keywords: Any
    ) -> CausalLMOutputWithPast:
        """Return logits for some rows, or for all (0), scaled and capped as in the wrapper."""
        hidden = self.model(input_ids=input_ids, **keywords).last_hidden_state
        is_count = isinstance(logits_to_keep, int)
        rows = slice(-logits_to_keep, None) if is_count else logits_to_keep
        cap = self.config.final_logit_softcapping
        logits = self.lm_head(hidden[:, rows]) * self.config.output_multiplier
        return CausalLMOutputWithPast(logits=torch.tanh(logits / cap) * cap)
