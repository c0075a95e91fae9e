"""The attention function that transformers calls in every layer of a model loaded by YAIE.

It checks that each keyword means something to us and hands the layer to the step (or, at load, to
the geometry probe) that came down through the model as the keyword `yaie_step`. transformers
builds masks for the implementations it knows; for this one it passes None, and a model that brings
a mask of its own is refused, since a mask can say what no other argument does.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch

from yaie.errors import ModelUnsupported

IMPLEMENTATION = "yaie"
STEP_KEYWORD = "yaie_step"

# Keywords that models hand through and that change nothing here: the plan holds the positions,
# nothing is cached by transformers, and no weights or router logits are returned.
IGNORED_KEYWORDS = frozenset(
    {
        "cache_position",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "position_embeddings",
        "position_ids",
        "return_dict",
        "use_cache",
    }
)


class LayerArguments(NamedTuple):
    """What the model asks of one attention layer, beside queries, keys and values."""

    scale: float
    sliding_window: int | None
    softcap: float | None
    sinks: torch.Tensor | None  # [num_heads]


class LayerExecutor(Protocol):
    """Computes the attention of one layer: a step, or the probe that learns the geometry."""

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        """Queries, keys and values are [1, heads, rows, width]; returns [1, rows, heads, width]."""


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    yaie_step: LayerExecutor | None = None,
    **others: object,
) -> tuple[torch.Tensor, None]:
    """transformers' attention signature; shapes as in `LayerExecutor.attend`.

    Raises `ModelUnsupported` naming whatever would silently change the result.
    """
    if yaie_step is None:
        raise ModelUnsupported(
            f"{type(module).__name__} does not hand keywords through to its attention function, "
            f"so it cannot be told where keys and values lie"
        )
    if attention_mask is not None:
        raise ModelUnsupported(f"{type(module).__name__} brings an attention mask of its own")
    if dropout:
        raise ModelUnsupported(f"{type(module).__name__} asks for dropout ({dropout}) in inference")
    if others:
        _check_keywords(module, others)
    if getattr(module, "is_causal", True) is False:
        raise ModelUnsupported(f"{type(module).__name__} is not causal: tokens see later ones")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    arguments = LayerArguments(scale, sliding_window, softcap, s_aux)
    return yaie_step.attend(module, query, key, value, arguments), None


def _check_keywords(module: torch.nn.Module, others: dict[str, object]) -> None:
    for name, value in others.items():
        if value is None or name in IGNORED_KEYWORDS:
            continue
        if name == "is_causal" and value is True:
            continue
        raise ModelUnsupported(
            f"{type(module).__name__} passes {name}={_shown(value)} to its attention function, "
            f"and YAIE does not know what that does to the result"
        )


def _shown(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor of shape {list(value.shape)}"
    return repr(value)[:60]


def register() -> None:
    """Make the function known to transformers; importing that takes seconds, so not before."""
    from transformers import AttentionInterface

    AttentionInterface.register(IMPLEMENTATION, attend)
