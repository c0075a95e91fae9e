"""Recognition of decoders by their modules, independent of the model's name.

Norms may come before or after attention and MLP, projections may be together or apart, and layers
may be recurrent. A detail overlooked here shows in the comparison of logits with the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from yaie.models.native.decoder_structure import (
    DROPOUTS,
    LINEAR,
    DecoderParts,
    GatedMlp,
    LayerFactors,
    LayerNorms,
    LayerParts,
    LinearParts,
    Norm,
    NotRecognised,
    OtherMlps,
    RecurrentLayerParts,
    gated_mlp_of,
    linears_of,
    norm_of,
)

_HEAD_NORMS = (("q_norm", "k_norm"), ("q_layernorm", "k_layernorm"))
_OUTPUTS = ("o_proj", "out_proj")
_ATTENTION = {
    "q_proj",
    "k_proj",
    "v_proj",
    "qkv_proj",
    "g_proj",
    *_OUTPUTS,
    *_HEAD_NORMS[0],
    *_HEAD_NORMS[1],
}
_ROTARY = {"rotary_emb", "pos_emb"}
_LAST_NORMS = {"norm", "embedding_norm", "final_layernorm"}
_MIXERS = ("linear_attn", "conv", "mamba")  # recurrent layers
_MLPS = (
    "mlp",
    "block_sparse_moe",
    "shared_mlp",
    "feed_forward",
)  # a layer with several adds their outputs


class _Places(NamedTuple):
    """The names of a layer's norms, by their places."""

    before_attention: str | None
    after_attention: str | None
    before_mlp: str | None
    after_mlp: str | None


# With a single norm, attention and MLP are parallel: both read it.
_PLACES = (
    _Places("input_layernorm", None, None, None),
    _Places("input_layernorm", None, "post_attention_layernorm", None),
    _Places("attention_layernorm", None, "feedforward_layernorm", None),
    _Places("input_layernorm", None, "pre_ff_layernorm", None),
    _Places("operator_norm", None, "ffn_norm", None),
    _Places("operator_norm", "post_operator_norm", "ffn_norm", "post_ffn_norm"),
    _Places(None, "post_attention_layernorm", None, "post_feedforward_layernorm"),
    _Places(
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
    _Places(
        "input_layernorm",
        "post_self_attn_layernorm",
        "post_attention_layernorm",
        "post_mlp_layernorm",
    ),
)


def recognise(model: Any) -> DecoderParts:
    """Return the parts of a decoder. Raises `NotRecognised` at the first unknown module."""
    base, head = getattr(model, "model", None), getattr(model, "lm_head", None)
    layers = getattr(base, "layers", None)
    if base is None or not isinstance(layers, nn.ModuleList) or not isinstance(head, LINEAR):
        raise NotRecognised("not a stack of layers below a linear head")
    names = {name for name, _ in base.named_children()}
    last = next(iter(names & _LAST_NORMS), "norm")
    rotary = next(iter(names & _ROTARY), None)
    if odd := names ^ {"embed_tokens", "layers", last, rotary or "layers"}:
        raise NotRecognised(
            f"the decoder ({type(base).__name__}) differs in {', '.join(sorted(odd))}"
        )
    config = getattr(model, "config", None)
    require_positions_in_tables_only(config)
    if getattr(config, "clip_qkv", None) is not None:
        raise NotRecognised("queries, keys and values are clipped (clip_qkv)")
    # Families have one of the two.
    factor = float(getattr(config, "logit_scale", None) or 1.0)
    factor *= float(getattr(base, "lm_head_multiplier", 1.0))
    return DecoderParts(
        embedding=base.embed_tokens,
        embedding_factor=_embedding_factor_of(base),
        layers=tuple(map(_layer, layers)),
        final_norm=norm_of(getattr(base, last)),
        rotary=None if rotary is None else getattr(base, rotary),
        head=head,
        logit_factor=factor / float(getattr(config, "logits_scaling", None) or 1.0),
        logit_softcap=getattr(config, "final_logit_softcapping", None),
    )


def _layer(layer: Any) -> LayerParts | RecurrentLayerParts:
    names = {name for name, _ in layer.named_children()} - DROPOUTS
    mixers = [getattr(layer, name) for name in _MIXERS if name in names]
    attention = getattr(layer, "self_attn", None)
    if (attention is None and not mixers) or len(mixers) > 1:
        raise NotRecognised(f"{type(layer).__name__} has no self_attn")
    mlps = tuple(getattr(layer, name) for name in _MLPS if name in names)
    found = names - {*_MLPS, *_MIXERS, "self_attn"}
    places = next((each for each in _PLACES if set(each) - {None} == found), None)
    if places is None or not mlps:
        raise NotRecognised(f"{type(layer).__name__} has {', '.join(sorted(names))}")
    _require_no_tensors(layer)
    norms = LayerNorms(
        *(None if name is None else norm_of(getattr(layer, name)) for name in places)
    )
    factor = float(getattr(layer, "residual_multiplier", 1.0))
    is_parallel = len(found) == 1
    if attention is None:
        return RecurrentLayerParts(mixers[0], norms, is_parallel, _mlp(mlps), factor)
    odd = sorted({name for name, _ in attention.named_children()} - _ATTENTION)
    if odd:
        raise NotRecognised(f"{type(attention).__name__} has {', '.join(odd)} besides projections")
    _require_no_tensors(attention, but="sinks")
    query_norm, key_norm = _head_norms(attention)
    qkv = linears_of(attention, ("qkv_proj",), ("q_proj", "k_proj", "v_proj"))
    gates = getattr(attention, "g_proj", None)
    if gates is not None:
        qkv = LinearParts((*qkv.modules, *linears_of(attention, ("g_proj",)).modules))
    return LayerParts(
        attention=attention,
        norms=norms,
        is_parallel=is_parallel,
        query_norm=query_norm,
        key_norm=key_norm,
        qkv=qkv,
        output=linears_of(attention, *((name,) for name in _OUTPUTS)),
        sinks=getattr(attention, "sinks", None),
        mlp=_mlp(mlps),
        residual_factor=factor,
        has_head_gates=gates is not None,
        mixer=mixers[0] if mixers else None,
        factors=_factors_of(layer, attention, mlps[0]),
    )


def _factors_of(layer: Any, attention: Any, mlp: Any) -> LayerFactors:
    places = (
        (layer, "attention_in_multiplier"),
        (attention, "key_multiplier"),
        (layer, "attn_out_multiplier"),
        (layer, "ssm_out_multiplier"),
        (mlp, "gate_multiplier"),
        (mlp, "down_multiplier"),
        (attention, "v_scale"),
    )
    return LayerFactors(*(float(getattr(module, name, 1.0)) for module, name in places))


def require_positions_in_tables_only(config: Any) -> None:
    """Require queries that are scaled alike at all positions.

    Ministral 3 scales those beyond its original length. The comparison at the end of the context
    would refuse the packed model, after the work of packing it.
    """
    table = getattr(config, "rope_parameters", None)
    if isinstance(table, dict) and table.get("llama_4_scaling_beta"):
        raise NotRecognised("queries are scaled by their position (llama_4_scaling_beta)")


def _require_no_tensors(module: nn.Module, but: str | None = None) -> None:
    for name, _ in _own_tensors(module):
        if name != but:
            raise NotRecognised(f"{type(module).__name__} has {name}")


def _own_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)


def _embedding_factor_of(base: Any) -> float:
    """Return the factor of embeddings: of the decoder, or of a scaled embedding, as rounded."""
    embedding = base.embed_tokens
    factor = float(getattr(base, "embedding_multiplier", 1.0))
    scale = getattr(embedding, "embed_scale", None)
    return factor if scale is None else factor * float(scale.to(embedding.weight.dtype))


def _head_norms(attention: nn.Module) -> list[Norm | None]:
    """Return the norms of queries and of keys."""
    found: list[Norm | None] = []
    for names in zip(*_HEAD_NORMS, strict=True):
        modules = [getattr(attention, name, None) for name in names]
        norms = [norm_of(each) for each in modules if each and not isinstance(each, nn.Identity)]
        found.append(norms[0] if norms else None)
    return found


def _mlp(modules: tuple[nn.Module, ...]) -> GatedMlp | OtherMlps:
    """Return a gated MLP in parts, and others as they are."""
    found = gated_mlp_of(modules[0]) if len(modules) == 1 else None
    return OtherMlps(modules) if found is None else found
