"""The oracle: greedy answers of transformers' `generate` to single prompts, in float32.

Answers are cached by prompt, since thousands of schedules share a few hundred prompts. Used by
the tests of the engine over real models.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

Prompt = tuple[int, ...]


@dataclass(frozen=True)
class Said:
    """A greedy continuation."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]  # of the tokens, natural
    margins: tuple[float, ...]  # distance to the executor-up, in logits


class Oracle:
    """transformers' own model with its own attention and cache."""

    def __init__(self, folder: Path, max_new: int) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager"
        )
        self.model.eval()
        # The engine ignores end tokens too; without this, generate pads after them.
        self.model.generation_config.eos_token_id = None
        self.model.generation_config.pad_token_id = 0
        self.vocab_size: int = self.model.config.vocab_size
        self.max_new = max_new
        self._said: dict[Prompt, Said] = {}

    @torch.inference_mode()
    def says(self, prompt: Prompt) -> Said:
        """Return the greedy continuation of `max_new` tokens."""
        if prompt not in self._said:
            ids = torch.tensor([prompt])
            output = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=self.max_new,
                output_logits=True,
                return_dict_in_generate=True,
            )
            logits = torch.cat(output.logits).float()
            tokens = output.sequences[0, len(prompt) :]
            assert torch.equal(tokens, logits.argmax(-1))
            best = logits.topk(2, dim=-1).values
            chosen = logits.log_softmax(-1).gather(1, tokens[:, None])[:, 0]
            self._said[prompt] = Said(
                tuple(tokens.tolist()),
                tuple(chosen.tolist()),
                tuple((best[:, 0] - best[:, 1]).tolist()),
            )
        return self._said[prompt]

    @torch.inference_mode()
    def logprobs(self, tokens: Prompt) -> torch.Tensor:
        """Return log-probabilities [tokens, vocab] after each token of one sequence."""
        ids = torch.tensor([tokens])
        logits: torch.Tensor = self.model(ids, use_cache=False).logits[0].float()
        return logits.log_softmax(-1).cpu()
