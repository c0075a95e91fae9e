"""transformers' names of the tensors of a GGUF file. Torch-free."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf.header import GgufFile, GgufTensor
from yaie.models.files.gguf.hf_config import ROPE_FREQUENCIES, GgufSettings

_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_INSIDE = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_IN_BLOCK = re.compile(r"blk\.(0|[1-9]\d*)\.(\w+)\.(weight|bias)")


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """A tensor of the file, as transformers names it."""

    name: str
    stored: GgufTensor
    num_heads: int | None  # heads whose rows are in llama.cpp's order; None: in ours


def name_tensors(file: GgufFile, config: Mapping[str, Any]) -> dict[str, NamedTensor]:
    """Return the tensors of a file by transformers' names; `config` is the file's.

    Raises `ModelUnsupported` for a tensor without a meaning in the model.
    """
    permutes = GgufSettings(file).family().permutes
    heads = {
        "attn_q": config["num_attention_heads"] if permutes else None,
        "attn_k": config["num_key_value_heads"] if permutes else None,
    }
    named = {}
    for tensor in file.tensors.values():
        if tensor.name == ROPE_FREQUENCIES:
            continue
        name, part = _OUTSIDE.get(tensor.name), ""
        found = _IN_BLOCK.fullmatch(tensor.name)
        if found is not None and int(found[1]) < config["num_hidden_layers"]:
            part = found[2]
            if part in _INSIDE:
                name = f"model.layers.{found[1]}.{_INSIDE[part]}.{found[3]}"
        if name is None:
            raise ModelUnsupported(
                f"{file.path} holds {tensor.name[:80]!r}, a tensor that models of its architecture "
                f"lack; use the model's safetensors folder instead"
            )
        named[name] = NamedTensor(name, tensor, heads.get(part))
        _check_heads(file, named[name])
    return named


def _check_heads(file: GgufFile, tensor: NamedTensor) -> None:
    rows = tensor.stored.shape[0]
    if tensor.num_heads and (rows % tensor.num_heads or rows // tensor.num_heads % 2):
        raise ModelUnsupported(
            f"{file.path} is damaged: {tensor.stored.name} has {rows} rows for "
            f"{tensor.num_heads} heads; download it again",
            code="model_damaged",
        )
