"""Families with experts. Torch-free."""

from __future__ import annotations

from yaie.models.files.gguf.family import (
    ATTENTION,
    EXPERT_FIELDS,
    EXPERTS,
    FIELDS,
    NORMS,
    PERMUTED,
    QK_NORMS,
    Family,
)

_SILU = {"hidden_act": "silu"}
_ROUTED = {"mlp.router": "ffn_gate_inp", **{k: v for k, v in EXPERTS.items() if k != "mlp.gate"}}

MIXTRAL = Family(
    architecture="MixtralForCausalLM",
    model_type="mixtral",
    tensors={**NORMS, **PERMUTED, **EXPERTS},
    fields={
        **FIELDS,
        "num_local_experts": "expert_count",
        "num_experts_per_tok": "expert_used_count",
    },
    constants={**_SILU, "sliding_window": None},
    applies=lambda settings: settings.get("expert_count"),
)
QWEN2_MOE = Family(
    architecture="Qwen2MoeForCausalLM",
    model_type="qwen2_moe",
    tensors={
        **NORMS,
        **ATTENTION,
        **EXPERTS,
        "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
        "mlp.shared_expert.up_proj": "ffn_up_shexp",
        "mlp.shared_expert.down_proj": "ffn_down_shexp",
        "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    },
    fields={
        **FIELDS,
        **EXPERT_FIELDS,
        "num_experts": "expert_count",
        "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    },
    constants={**_SILU, "norm_topk_prob": False},
)
QWEN3_MOE = Family(
    architecture="Qwen3MoeForCausalLM",
    model_type="qwen3_moe",
    tensors={**NORMS, **ATTENTION, **QK_NORMS, **EXPERTS},
    fields={**FIELDS, **EXPERT_FIELDS, "num_experts": "expert_count"},
    constants={**_SILU, "norm_topk_prob": True},
)
