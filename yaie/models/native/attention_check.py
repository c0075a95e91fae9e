"""Attention check: compares the original's attention for a first token with its parts.

A first token sees itself alone, so its weight is 1, and attention returns its value: gated, scaled
and projected. That shows a factor or a function of gates that is in no module, layer by layer,
where the logits of a mixture in 16 bits show large faults only. Scores are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.kernels.decoder_structures import OUTPUT_GATES
from yaie.models.native.decoder_structure import DecoderParts, LayerParts, NotRecognised
from yaie.models.native.native_structure import output_gates

# Of the norm of a result. Modules in 16 bits, and values in a pool of 8 bits, are off by less.
_TOLERANCE = 0.15


@contextmanager
def attention_check(parts: DecoderParts, specs: Sequence[AttentionSpec]) -> Iterator[None]:
    """Compare what attention computes in the first step inside, by one layer of each kind.

    The step's first row is a text's first token. Raises `NotRecognised` at the end.
    """
    seen: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    watched = _one_of_each_kind(parts, specs)
    hooks = [
        layer.attention.register_forward_hook(_keep_first_row(seen, number), with_kwargs=True)
        for number, (layer, _) in enumerate(watched)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
    for number, (x, found) in seen.items():
        layer, spec = watched[number]
        with torch.inference_mode():
            expected = _attend_alone(layer, spec, x)
        if not float((found - expected).norm()) <= _TOLERANCE * float(found.norm()):
            raise NotRecognised(f"{type(layer.attention).__name__} computes more than its parts")


def _one_of_each_kind(
    parts: DecoderParts, specs: Sequence[AttentionSpec]
) -> list[tuple[LayerParts, AttentionSpec]]:
    kinds: dict[object, tuple[LayerParts, AttentionSpec]] = {}
    for layer, spec in zip(parts.attention_layers, specs, strict=True):
        if layer.sinks is None:  # a sink takes a part of the weight
            kind = (
                type(layer.attention),
                output_gates(layer, spec),
                spec.sliding_window,
                spec.num_heads,
            )
            kinds.setdefault(kind, (layer, spec))
    return list(kinds.values())


def _keep_first_row(
    seen: dict[int, tuple[torch.Tensor, torch.Tensor]], number: int
) -> Callable[..., None]:
    def keep(
        module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], output: Any
    ) -> None:
        x = named["hidden_states"] if "hidden_states" in named else inputs[0]
        found = output[0] if isinstance(output, tuple) else output
        rows = [each.reshape(-1, each.shape[-1])[:1].clone() for each in (x, found)]
        seen.setdefault(number, (rows[0], rows[1].float()))

    return keep


def _attend_alone(layer: LayerParts, spec: AttentionSpec, x: torch.Tensor) -> torch.Tensor:
    """Return attention's result [1, hidden] for a first token's inputs."""
    columns = torch.cat([module(x) for module in layer.qkv.modules], dim=-1)[0].float()
    gates, queries = output_gates(layer, spec), spec.num_heads * spec.key_width
    if gates == OUTPUT_GATES["wide"]:
        queries *= 2
    first = queries + spec.num_kv_heads * spec.key_width
    values = columns[first : first + spec.num_kv_heads * spec.value_width]
    heads = values.view(spec.num_kv_heads, -1)
    heads = heads.repeat_interleave(spec.num_heads // spec.num_kv_heads, dim=0)
    if gates == OUTPUT_GATES["wide"]:
        heads = heads * columns[:queries].view(spec.num_heads, 2, -1)[:, 1].sigmoid()
    elif gates == OUTPUT_GATES["head"]:
        heads = heads * columns[-spec.num_heads :, None].sigmoid()
    results: torch.Tensor = layer.output.modules[0](heads.reshape(1, -1).to(x.dtype))
    return results.float() * layer.factors.values
