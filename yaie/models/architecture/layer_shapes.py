"""Layer shapes: a model's attention layers, recorded in a forward of two tokens.

Config fields differ by family; the tensors that the layers pass do not. They show each layer's
widths, KV heads, window, softcap and sinks, and layers that reuse an earlier layer's keys and
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from yaie.attention.plan import Segment, StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.base.errors import ModelUnsupported, YaieError, first_line
from yaie.device.available_memory import is_out_of_memory
from yaie.kvcache.pool import LayerShape
from yaie.kvcache.state_pool import LayerStates, StateShape
from yaie.models.architecture.attention_hook import LayerArguments, passing
from yaie.models.architecture.loaded_model import ModelSizes
from yaie.models.architecture.mixer_hook import MixerCache, Run

_LAYER = "yaie_layer"  # attention module attribute: the index of its spec
_PROBE_TOKENS = 2
# Its values are narrower than its keys, and its layers with a window have twice the KV heads.
_NARROW_VALUES = "mimo_v2_flash"
WITHOUT_ATTENTION = frozenset({"linear_attention", "mamba", "conv", "mlp", "moe"})  # layer types


def layer_of(module: torch.nn.Module) -> int:
    """Return the index of the module's `AttentionSpec`, as set by `probe_geometry`."""
    layer: int = getattr(module, _LAYER)
    return layer


def pool_shapes(specs: Sequence[AttentionSpec]) -> list[LayerShape | None]:
    """Return each layer's stored shape; None for a layer that reads another's."""
    return [
        None
        if spec.kv_layer is not None
        else LayerShape(spec.num_kv_heads, spec.key_width, spec.value_width)
        for spec in specs
    ]


def layer_configs(config: Any) -> list[Any]:
    """Return each layer's config; the same object unless the layers differ."""
    num_layers = int(config.num_hidden_layers)
    if getattr(config, "is_heterogeneous", False):
        return [config.per_layer_config[layer] for layer in range(num_layers)]
    return [config] * num_layers


def read_sizes(config: Any) -> ModelSizes:
    """Return the widths that a model's activations are planned from, over all its layers.

    The few models whose values are wider than their keys are counted by their keys.
    """
    layers = layer_configs(config)
    usual_head = config.hidden_size // config.num_attention_heads
    usual_inner = 4 * config.hidden_size
    return ModelSizes(
        hidden=config.hidden_size,
        inner=max(_inner_width(layer) or usual_inner for layer in layers),
        head=max(int(getattr(layer, "head_dim", None) or usual_head) for layer in layers),
        num_heads=config.num_attention_heads,
        vocab=config.vocab_size,
    )


def _inner_width(config: Any) -> int | None:
    """Return the MLPs' inner width, the largest if layers differ."""
    width = getattr(config, "intermediate_size", None)
    return max(width, default=None) if isinstance(width, list | tuple) else width


def estimate_pool_shapes(config: Any) -> list[LayerShape | None]:
    """Return each layer's stored shape by the config, before a model exists.

    The conformance suite compares it with the probe's result.
    """
    layers = layer_configs(config)
    modes = getattr(config, "kv_sharing_modes", None) or _sharing_modes(config, len(layers))
    types = getattr(config, "layer_types", None) or [""] * len(layers)
    return [
        None if mode == "reuse" else _layer_shape(layer, layer_type)
        for layer, mode, layer_type in zip(layers, modes, types, strict=True)
        if layer_type not in WITHOUT_ATTENTION
    ]


def _sharing_modes(config: Any, num_layers: int) -> list[str | None]:
    """Return the sharing modes of a config whose transformers class lacks them, such as 5.20's."""
    num_reusing = getattr(config, "num_kv_shared_layers", None) or 0  # the last ones
    return [None] * (num_layers - num_reusing) + ["reuse"] * num_reusing


def _layer_shape(layer: Any, layer_type: str) -> LayerShape:
    heads = layer.num_attention_heads
    if getattr(layer, "kv_lora_rank", None):  # latent attention is stored expanded, per head
        key_width = layer.qk_nope_head_dim + layer.qk_rope_head_dim
        return LayerShape(int(heads), int(key_width), int(layer.v_head_dim))
    kv_heads = getattr(layer, "num_key_value_heads", None) or heads
    if getattr(layer, "multi_query", False):
        kv_heads = 1
    head_dim = getattr(layer, "head_dim", None) or layer.hidden_size // heads
    if layer.model_type == _NARROW_VALUES:
        doubled = 2 if layer_type == "sliding_attention" else 1
        return LayerShape(doubled * int(kv_heads), int(head_dim), int(layer.v_head_dim))
    return LayerShape(int(kv_heads), int(head_dim), int(head_dim))


def probe_geometry(model: Any, device: torch.device) -> tuple[AttentionSpec, ...]:
    """Return each attention layer's spec, in order; see `probe_layers`."""
    return probe_layers(model, device)[0]


def probe_layers(
    model: Any, device: torch.device
) -> tuple[tuple[AttentionSpec, ...], tuple[LayerStates, ...]]:
    """Run the model on two tokens; return its attention layers' specs and recurrent layers' states.

    Marks every attention module with its index. Raises `ModelUnsupported` if the attention hook
    refuses the model, if its code fails, or if its logits are non-finite.
    """
    probe = _GeometryProbe()
    positions = torch.arange(_PROBE_TOKENS, device=device)[None]
    try:
        with torch.inference_mode(), passing(probe) as step:
            output = model(
                input_ids=torch.zeros_like(positions),
                position_ids=positions,
                attention_mask=None,
                use_cache=False,
                **step,
            )
    except YaieError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise ModelUnsupported(
            f"{type(model).__name__} fails on two tokens, so a size in config.json is probably "
            f"wrong: {type(error).__name__}: {first_line(error)}",
            code="model_damaged",
        ) from error
    if not probe.specs:
        raise ModelUnsupported(f"{type(model).__name__} has no supported attention layer")
    if not bool(torch.isfinite(output.logits).all()):
        is_narrow = output.logits.dtype is torch.float16
        remedy = "; use --dtype bfloat16" if is_narrow else ""
        raise ModelUnsupported(
            f"{type(model).__name__} computes non-finite logits: its weights are damaged, or too "
            f"large for {output.logits.dtype}{remedy}",
            code="model_damaged",
        )
    vocab_size = model.config.vocab_size
    if output.logits.shape[-1] != vocab_size:
        raise ModelUnsupported(
            f"{type(model).__name__} returns {output.logits.shape[-1]} logits, but vocab_size in "
            f"its config is {vocab_size}",
            code="model_damaged",
        )
    return tuple(probe.specs), tuple(probe.states)


def check_layer_types(specs: Sequence[AttentionSpec], layer_types: Sequence[str] | None) -> None:
    """Compare the recorded windows with the config's layer types."""
    if layer_types is None:
        return
    layer_types = [each for each in layer_types if each not in WITHOUT_ATTENTION]
    if len(layer_types) != len(specs):
        raise ModelUnsupported(
            f"the config lists {len(layer_types)} layers, but {len(specs)} ran attention"
        )
    for spec, layer_type in zip(specs, layer_types, strict=True):
        if (layer_type == "sliding_attention") != (spec.sliding_window is not None):
            raise ModelUnsupported(
                f"layer {spec.layer} is {layer_type} in the config, but its window is "
                f"{spec.sliding_window} tokens"
            )


class _GeometryProbe:
    """A `LayerExecutor` that records each layer, and computes it for the next one."""

    def __init__(self) -> None:
        self.specs: list[AttentionSpec] = []
        self.states: list[LayerStates] = []
        self._keys: list[torch.Tensor] = []
        self._modules: list[torch.nn.Module] = []

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        if any(module is seen for seen in self._modules):
            raise ModelUnsupported(
                f"{type(module).__name__} is shared by several layers; each layer needs separate "
                f"keys and values"
            )
        if not _is_whole_group(queries.shape[1], keys.shape[1], values.shape[1]):
            raise ModelUnsupported(
                f"{type(module).__name__} has {queries.shape[1]} query, {keys.shape[1]} key and "
                f"{values.shape[1]} value heads, which do not divide"
            )
        producer = self._producer_of(keys)
        spec = spec_of(len(self.specs), queries, keys, values, arguments, kv_layer=producer)
        setattr(module, _LAYER, spec.layer)
        self.specs.append(spec)
        self._modules.append(module)
        self._keys.append(keys)
        step = ReferenceBackend().prepare(whole_sequence_plan(_PROBE_TOKENS), queries.device)
        rows = queries[0].transpose(0, 1)
        pool_keys, pool_values = keys[0].transpose(0, 1), values[0].transpose(0, 1)
        return step.attend(spec, rows, pool_keys, pool_values, arguments.sinks)[None]

    def mix(self, mixer: int, hidden: torch.Tensor, run: Run) -> torch.Tensor:
        cache = MixerCache()
        output = run(hidden, cache)
        self.states.append(
            tuple(
                # Kernels of the CPU compute in float32.
                StateShape(
                    kind,
                    index,
                    tuple(state.shape[1:]),
                    "float32"
                    if state.device.type == "cpu"
                    else str(state.dtype).removeprefix("torch."),
                )
                for (kind, index), state in cache.states.items()
            )
        )
        return output

    def _producer_of(self, keys: torch.Tensor) -> int | None:
        """Return the earlier layer that passed the same keys, if any."""
        for layer, earlier in enumerate(self._keys):
            if earlier.data_ptr() == keys.data_ptr() and earlier.shape == keys.shape:
                return layer
        return None


def _is_whole_group(num_heads: int, num_kv_heads: int, num_value_heads: int) -> bool:
    return num_kv_heads == num_value_heads and num_heads % num_kv_heads == 0


def spec_of(
    layer: int,
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    arguments: LayerArguments,
    *,
    kv_layer: int | None = None,
) -> AttentionSpec:
    """Return a layer's spec by its tensors [1, heads, rows, width]."""
    return AttentionSpec(
        layer=layer,
        num_heads=queries.shape[1],
        num_kv_heads=keys.shape[1],
        key_width=keys.shape[3],
        value_width=values.shape[3],
        scale=float(arguments.scale),
        sliding_window=arguments.sliding_window,
        softcap=arguments.softcap,
        has_sinks=arguments.sinks is not None,
        kv_layer=kv_layer,
    )


def whole_sequence_plan(num_tokens: int) -> StepPlan:
    """Return the plan for one sequence that is computed in a single step."""
    tokens = np.arange(num_tokens, dtype=np.int64)
    return StepPlan(
        token_ids=tokens,
        positions=tokens,
        slots=tokens,
        written_rows=tokens,
        logit_rows=tokens,
        segments=(Segment(tokens, 0, 0, num_tokens, level=0),),
        kv_tokens_read=num_tokens,
        kv_tokens_unshared=num_tokens,
    )
