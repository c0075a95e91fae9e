"""Tiny models with recurrent layers, and random schedules that compare their answers.

A state that is lost, stale or another request's changes the answers of these models: their layers
forget slowly.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from tests.conformance.case import LAYERS, VOCAB_SIZE, Case, rope, save
from tests.conformance.wrapped import WrapperCase
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.engine.core import EngineCore
from yaie.kvcache.state_pool import bytes_per_state

TOLERANCE = 2e-3  # of a log-probability; the scan's sums depend on where a prompt is resumed
TIE = 1e-5  # of a log-probability, by rounding
LONGEST = 150

_EXPERTS = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
_LINEAR = ["linear_attention"] * (LAYERS - 1) + ["full_attention"]
_DELTA_NET = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "layer_types": _LINEAR,
}
_CONVOLUTIONS = {"layer_types": ["conv", "full_attention"] * (LAYERS // 2)}
_MAMBA = {
    "mamba_n_heads": 8,
    "mamba_d_head": 16,
    "mamba_d_state": 16,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 16,
}
_FALCON_H1 = {**_MAMBA, "mamba_d_ssm": 64, "mamba_n_heads": 4}
_GROUP_NORMS = {"mamba_n_groups": 2, "mamba_rms_norm": True}

_FALCON_FACTORS = {
    "mlp_multipliers": [0.9, 0.96],
    "attention_in_multiplier": 0.9,
    "attention_out_multiplier": 1.1,
    "key_multiplier": 0.8,
    "ssm_in_multiplier": 1.2,
    "ssm_out_multiplier": 0.9,
    "embedding_multiplier": 2.0,
    "lm_head_multiplier": 0.5,
}
_GRANITE = {
    **_MAMBA,
    "mamba_expand": 2,
    "layer_types": ["mamba"] * (LAYERS - 1) + ["attention"],
}
_GRANITE_DENSE = _GRANITE | {
    "num_local_experts": 0,
    "num_experts_per_tok": 0,
    "shared_intermediate_size": 64,
}


class _Slow(Case):
    """A case whose recurrent layers forget slowly."""

    def build(self) -> torch.nn.Module:
        """Build the oracle."""
        model = super().build()
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("A_log"):
                    parameter.uniform_(-4.0, -2.0, generator=generator)
        return model


class RecurrentCase(_Slow):
    """A text-only model."""


class RecurrentWrapper(_Slow, WrapperCase):
    """A wrapper, whose text is served."""


RECURRENT: tuple[RecurrentCase, ...] = (
    RecurrentCase("qwen3.5", "Qwen3_5ForCausalLM", "gated delta net", _DELTA_NET),
    RecurrentCase(
        "qwen3.5-moe", "Qwen3_5MoeForCausalLM", "gated delta net, experts", _DELTA_NET | _EXPERTS
    ),
    RecurrentCase(
        "qwen3-next", "Qwen3NextForCausalLM", "gated delta net, experts", _DELTA_NET | _EXPERTS
    ),
    RecurrentCase(
        "qwen3-next-heads",
        "Qwen3NextForCausalLM",
        "as many key heads as value heads",
        _DELTA_NET | _EXPERTS | {"linear_num_key_heads": 4},
    ),
    RecurrentCase(
        "olmo-hybrid", "OlmoHybridForCausalLM", "gated delta net", {"layer_types": _LINEAR}
    ),
    RecurrentCase(
        "kimi-linear",
        "KimiLinearForCausalLM",
        "Kimi delta attention, latent attention without positions, experts",
        {
            "layer_types": _LINEAR,
            "linear_head_dim": 16,
            "linear_num_heads": 4,
            "num_key_value_heads": 4,
            "kv_lora_rank": 32,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 16,
            "v_head_dim": 24,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "mlp_layer_types": ["dense"] + ["sparse"] * (LAYERS - 1),
        },
    ),
    RecurrentCase("lfm2", "Lfm2ForCausalLM", "short convolutions", _CONVOLUTIONS),
    RecurrentCase(
        "lfm2-moe",
        "Lfm2MoeForCausalLM",
        "short convolutions, experts",
        _CONVOLUTIONS | _EXPERTS | {"num_dense_layers": 1},
    ),
    RecurrentCase("lfm3", "Lfm3ForCausalLM", "short convolutions", _CONVOLUTIONS),
    RecurrentCase(
        "falcon-h1",
        "FalconH1ForCausalLM",
        "Mamba 2 and attention in each layer",
        _FALCON_H1,
    ),
    RecurrentCase(
        "falcon-h1-norm",
        "FalconH1ForCausalLM",
        "norms of two groups before gates",
        _FALCON_H1 | _GROUP_NORMS | {"mamba_norm_before_gate": True},
    ),
    RecurrentCase(
        "falcon-h1-gate",
        "FalconH1ForCausalLM",
        "and after gates, with factors",
        _FALCON_H1 | _GROUP_NORMS | {"mamba_norm_before_gate": False} | _FALCON_FACTORS,
    ),
    RecurrentCase(
        "granite-hybrid-mamba",
        "GraniteMoeHybridForCausalLM",
        "Mamba 2, experts",
        _GRANITE
        | {"num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 32},
    ),
    RecurrentCase(
        "granite-hybrid-dense",
        "GraniteMoeHybridForCausalLM",
        "without experts",
        _GRANITE_DENSE,
    ),
    RecurrentCase(
        "granite-hybrid-rope",
        "GraniteMoeHybridForCausalLM",
        "rotary positions",
        _GRANITE_DENSE | {"position_embedding_type": "rope"},
    ),
    RecurrentCase(
        "nemotron-h",
        "NemotronHForCausalLM",
        "Mamba 2, experts",
        {
            "hybrid_override_pattern": "ME*M-",
            "num_hidden_layers": 5,
            "n_routed_experts": 4,
            "moe_intermediate_size": 32,
            "moe_shared_expert_intermediate_size": 32,
            "mamba_num_heads": 4,
            "mamba_head_dim": 16,
            "ssm_state_size": 16,
            "n_groups": 1,
            "chunk_size": 16,
        },
    ),
    RecurrentCase(
        "bamba",
        "BambaForCausalLM",
        "Mamba 2",
        {**_MAMBA, "mamba_expand": 2, "attn_layer_indices": [LAYERS - 1]},
    ),
)

_TURNS = rope("default", mrope_section=[1, 1, 0], partial_rotary_factor=0.25)
RECURRENT_WRAPPED: tuple[RecurrentWrapper, ...] = (
    RecurrentWrapper("qwen3.5-vision", "Qwen3_5ForConditionalGeneration", "", _DELTA_NET | _TURNS),
    RecurrentWrapper(
        "qwen3.5-moe-vision",
        "Qwen3_5MoeForConditionalGeneration",
        "",
        _DELTA_NET | _EXPERTS | _TURNS,
    ),
)


@dataclass
class RecurrentSubject:
    """A recurrent model under test, beside transformers' own."""

    case: Case
    folder: Path

    @cached_property
    def oracle(self) -> torch.nn.Module:
        """transformers' own model, saved to the folder."""
        model = self.case.build()
        save(self.case, model, self.folder)
        return model

    def core(self, **settings: object) -> EngineCore:
        """Load an engine that audits each step."""
        assert self.oracle is not None
        defaults = {"num_slots": 600, "device": "cpu", "audit": True, "threads": 1}
        defaults |= {"max_step_rows": 64, "max_running": 5, "weights_cache": "off"}
        return EngineCore(EngineConfig(model=str(self.folder), **(defaults | settings)))  # type: ignore[arg-type]

    @cached_property
    def state_bytes(self) -> int:
        """Bytes of one state."""
        core = self.core()
        found = bytes_per_state(core.executor.loaded.metadata.states)
        core.close()
        return found

    @torch.inference_mode()
    def logprobs(self, tokens: list[int]) -> torch.Tensor:
        """Return the oracle's log-probabilities [tokens, vocab]."""
        logits = self.oracle(torch.tensor([tokens]), use_cache=False).logits[0].float()
        return torch.log_softmax(logits, dim=-1)


@dataclass
class Schedule:
    """Requests with shared prefixes that arrive, end and are aborted at random."""

    subject: RecurrentSubject
    core: EngineCore
    seed: int
    prompts: dict[str, list[int]] = field(default_factory=dict)
    answers: dict[tuple[str, int], list[TokenDelta]] = field(default_factory=dict)
    temperatures: tuple[float, ...] = (0.0, 1.0)
    requests: dict[str, GenerationRequest] = field(default_factory=dict)

    def run(self, num_requests: int) -> None:
        """Run the requests."""
        rng = random.Random(self.seed)
        waiting = list(self._requests(rng, num_requests))
        while waiting or self.core.has_work:
            while waiting and rng.random() < 0.5:
                self.core.add(waiting.pop(0))
            if rng.random() < 0.03:
                self.core.abort(rng.choice(list(self.prompts)))
            for delta in self.core.step():
                assert delta.error is None, delta.error
                self.answers.setdefault((delta.request_id, delta.index), []).append(delta)

    def _requests(self, rng: random.Random, count: int) -> Iterator[GenerationRequest]:
        made: list[list[int]] = []
        for number in range(count):
            base = rng.choice(made) if made and rng.random() < 0.7 else []
            own = [rng.randrange(3, VOCAB_SIZE) for _ in range(rng.choice((0, 1, 5, 30, 90)))]
            tokens = [*base[: rng.randint(1, LONGEST)], *own][:LONGEST] or [7]
            made.append(tokens)
            request_id = f"{self.seed}-{number}"
            self.prompts[request_id] = tokens
            self.requests[request_id] = GenerationRequest(
                request_id=request_id,
                prompt_token_ids=tuple(tokens),
                sampling=SamplingParams(
                    max_tokens=rng.randint(1, 12),
                    n=rng.choice((1, 1, 1, 3)),
                    temperature=rng.choice(self.temperatures),
                    seed=number,
                    logprobs=0,
                    prompt_logprobs=rng.choice((None, None, None, 0)),
                    ignore_eos=True,
                ),
            )
            yield self.requests[request_id]

    def count_ties(self, cold: EngineCore) -> tuple[int, int]:
        """Compare each greedy answer with the one of an engine without a cache, token by token.

        Return the number of answers, and the number of answers that differ after a tie: two tokens
        whose log-probabilities differ by rounding alone.
        """
        num_ties = 0
        for request_id, request in self.requests.items():
            cold.add(request)
            deltas: list[TokenDelta] = []
            while cold.has_work:
                deltas += [delta for delta in cold.step() if delta.index == 0]
            expected = [each for delta in deltas for each in delta.logprobs]
            for index in range(request.sampling.n):
                answer = self.answers.get((request_id, index), [])
                found = [each for delta in answer for each in delta.logprobs]
                for one, other in zip(found, expected, strict=False):
                    if one.token_id != other.token_id:
                        assert abs(one.logprob - other.logprob) < TIE, "another token, warm"
                        num_ties += 1
                        break
        return len(self.answers), num_ties

    def check(self) -> None:
        """Compare the log-probability of each token with the oracle's."""
        for (request_id, _), deltas in self.answers.items():
            prompt = self.prompts[request_id]
            found = [each for delta in deltas for each in delta.logprobs]
            tokens = [*prompt, *(each.token_id for each in found)]
            expected = self.subject.logprobs(tokens)
            for index, each in enumerate(found, len(prompt) - 1):
                assert abs(float(expected[index, each.token_id]) - each.logprob) < TOLERANCE
            for index, known in enumerate(deltas[0].prompt_logprobs or ()):
                if known is not None:
                    assert (
                        abs(float(expected[index - 1, known.token_id]) - known.logprob) < TOLERANCE
                    )
