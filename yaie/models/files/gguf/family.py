"""A family: what one architecture of GGUF files is in transformers. Torch-free.

Families are tables: the model's tensors by their names in the file, the fields of its `config.json`
by the keys of the metadata. The pieces that most of them share are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.rope_tables import rope_table
from yaie.models.files.gguf.tensor_forms import Source

Read = Callable[[GgufSettings], Any]
Tensors = Mapping[str, "str | Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An architecture of GGUF files, and the class that computes it.

    `tensors`: the model's name in a layer -> the file's name in a block, or a `Source`; `by_kind`
    has further tensors for each kind of layer, which the field `kinds` lists.
    `fields`: field of `config.json` -> key of the metadata, which has to be there, or a reader.
    """

    architecture: str  # transformers' class
    model_type: str
    tensors: Tensors
    fields: Mapping[str, str | Read]
    outside: Tensors = field(default_factory=lambda: OUTSIDE)  # of the layers
    constants: Mapping[str, Any] = field(default_factory=dict)  # of every published model
    expected: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # key -> its values
    by_kind: Mapping[str, Tensors] = field(default_factory=dict)
    kinds: str = "layer_types"
    applies: Read | None = None  # False: another family of this architecture; None: always


def optional(key: str, default: Any = None) -> Read:
    """Return a reader of a key that may be absent."""
    return lambda settings: default if settings.get(key) is None else settings.value(key)


def holds(tensor: str) -> Read:
    """Return a reader of whether the file has a tensor."""
    return lambda settings: tensor in settings.tensors


def holds_any(tensor: str) -> Read:
    """Return a reader of whether any block has a tensor."""
    return lambda settings: any(name.endswith(f".{tensor}") for name in settings.tensors)


def largest(key: str, least: int = 0) -> Read:
    """Return a reader of the largest of the layers' counts; some layers have none of the things."""

    def read(settings: GgufSettings) -> int:
        found = int(max(settings.list_of(key)))
        if found < least:
            raise settings.damaged(key, "not a size")
        return found

    return read


def one_more(name: str) -> Source:
    """Return a norm whose weights the model takes from one; files hold the sum."""
    return Source((f"{name}.weight",), "one more")


def width_of_head(settings: GgufSettings) -> int:
    """Return the width of a recurrent head's values."""
    inner, heads = settings.size("ssm.inner_size"), settings.size(HEADS)
    if inner % heads:
        raise settings.damaged("ssm.inner_size", f"not a multiple of {heads} heads")
    return inner // heads


def layers_by_heads(recurrent: str) -> Read:
    """Return a reader of the layers' kinds: `recurrent` layers have no KV heads."""
    return lambda settings: [
        FULL if count else recurrent for count in settings.list_of("attention.head_count_kv")
    ]


def rope(**options: Any) -> Read:
    """Return a reader of the rope table."""
    return lambda settings: rope_table(settings, **options)


def two_ropes(windowed: float | None = 10_000.0, **full: Any) -> Read:
    """Return a reader of the rope tables of full and of windowed layers.

    windowed: the latter's base if the file has none; None: the full layers' base.
    """

    def read(settings: GgufSettings) -> dict[str, Any]:
        table = rope_table(settings, **full)
        theta = table["rope_theta"] if windowed is None else windowed
        swa = rope_table(settings, base="rope.freq_base_swa", theta=theta, is_scaled=False)
        return {"full_attention": table, "sliding_attention": swa}

    return read


def layer_types(period: int, *, always: bool = False) -> Read:
    """Return a reader of the layers' types: each last layer of a period is full.

    A file may state another period or a pattern. always: without a stated window too.
    """

    def read(settings: GgufSettings) -> list[str]:
        pattern = settings.per_layer("attention.sliding_window_pattern")
        if pattern is None or type(pattern) is int:
            each = period if pattern is None else pattern
            count = settings.num_layers()
            pattern = [each == 0 or index % each < each - 1 for index in range(count)]
        has_window = always or bool(window(settings))
        kinds = ("full_attention", "sliding_attention")
        return [kinds[bool(windowed) and has_window] for windowed in pattern]

    return read


def window(settings: GgufSettings) -> int | None:
    """Return the sliding window; None without one."""
    return settings.count("attention.sliding_window") or None


def _num_attention_heads(settings: GgufSettings) -> int:
    return settings.size("attention.head_count")


def _num_key_value_heads(settings: GgufSettings) -> int:
    return settings.size("attention.head_count_kv", settings.size("attention.head_count"))


OUTSIDE: Tensors = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
OUTSIDE_SUMMED: Tensors = {
    "model.embed_tokens": "token_embd",
    "model.norm.weight": one_more("output_norm"),
    "lm_head": "output",
}
ATTENTION: Tensors = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
}
PERMUTED: Tensors = {
    **ATTENTION,
    "self_attn.q_proj": Source(("attn_q",), "permuted"),
    "self_attn.k_proj": Source(("attn_k",), "permuted"),
}
QK_NORMS: Tensors = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
NORMS: Tensors = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
NORMS_AFTER: Tensors = {
    "post_attention_layernorm": "post_attention_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
UNGATED: Tensors = {"mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
MLP: Tensors = {**UNGATED, "mlp.gate_proj": "ffn_gate"}
JOINED_QKV = Source(("attn_q", "attn_k", "attn_v"), "joined", "attn_qkv")
JOINED_MLP = Source(("ffn_gate", "ffn_up"), "joined", "ffn_up")
GATE_UP = Source(
    ("ffn_gate_exps.weight", "ffn_up_exps.weight"), "joined experts", "ffn_gate_up_exps.weight"
)
EXPERTS: Tensors = {
    "mlp.experts.gate_up_proj": GATE_UP,
    "mlp.experts.down_proj": "ffn_down_exps.weight",
    "mlp.gate": "ffn_gate_inp",
}
SHARED_EXPERTS: Tensors = {
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
    "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
}
SHARED_EXPERT: Tensors = {
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
}
ROUTING_BIAS = Source(("exp_probs_b.bias",), whole="exp_probs_b")
EXPERT_BIAS: Tensors = {"mlp.gate.e_score_correction_bias": ROUTING_BIAS}

# Fields of nearly all families.
FIELDS: Mapping[str, str | Read] = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": GgufSettings.num_layers,
    "num_attention_heads": _num_attention_heads,
    "num_key_value_heads": _num_key_value_heads,
    "max_position_embeddings": "context_length",
    "head_dim": GgufSettings.head_dim,
    "rope_parameters": rope(),
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
}
EXPERT_FIELDS: Mapping[str, str | Read] = {
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
}
FULL, LINEAR = "full_attention", "linear_attention"  # kinds of layers
HEADS, KEY_HEADS = "ssm.time_step_rank", "ssm.group_count"  # of recurrent layers
SOFTMAX, SIGMOID = 1, 2  # expert_gating_func
