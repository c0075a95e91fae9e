"""Attention hook: the attention function that transformers calls in every layer of a loaded model.

It checks every keyword and passes the layer to the step (at load: to the geometry probe), which
came down through the model as the keyword `yaie_step`. A few models drop keywords on the way: a
context variable passes the step to them. transformers passes no mask to a custom implementation. A
model that passes a mask is refused: its mask may hide any key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import torch

from yaie.base.errors import ModelUnsupported
from yaie.process.heartbeat import beat

IMPLEMENTATION = "yaie"
STEP_KEYWORD = "yaie_step"

# Model keywords without an effect here: the plan has the positions, transformers caches nothing,
# and neither attention weights nor router logits are returned.
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
    """One attention layer's arguments except queries, keys and values."""

    scale: float
    sliding_window: int | None
    softcap: float | None
    sinks: torch.Tensor | None  # [num_heads]


class LayerExecutor(Protocol):
    """One layer's attention: computed by a step, or by the geometry probe."""

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        """Attend with [1, heads, rows, width] tensors; return [1, rows, heads, width]."""


_CURRENT: ContextVar[LayerExecutor | None] = ContextVar("yaie_step", default=None)


def current_step() -> LayerExecutor | None:
    """Return the step that the running forward computes."""
    return _CURRENT.get()


@contextmanager
def passing(step: LayerExecutor) -> Iterator[dict[str, Any]]:
    """Yield the keyword that hands a step to a model called inside."""
    token = _CURRENT.set(step)
    try:
        yield {STEP_KEYWORD: step}
    finally:
        _CURRENT.reset(token)


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
    """Attend in one layer, with transformers' signature and `LayerExecutor.attend`'s shapes.

    Raises `ModelUnsupported` for an argument that would silently change the result.
    """
    step = _CURRENT.get() if yaie_step is None else yaie_step
    if step is None:
        raise ModelUnsupported(
            f"{type(module).__name__} runs attention outside a step, so its keys and values are "
            f"not in the KV cache"
        )
    if attention_mask is not None:
        raise ModelUnsupported(f"{type(module).__name__} passes its own attention mask")
    if dropout:
        raise ModelUnsupported(f"{type(module).__name__} applies dropout ({dropout}) in inference")
    if others:
        _check_keywords(module, others)
    if getattr(module, "is_causal", True) is False:
        raise ModelUnsupported(
            f"{type(module).__name__} is not causal: tokens attend to later tokens"
        )
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    arguments = LayerArguments(scale, sliding_window, softcap, s_aux)
    beat()
    return step.attend(module, query, key, value, arguments), None


def _check_keywords(module: torch.nn.Module, others: dict[str, object]) -> None:
    for name, value in others.items():
        if value is None or name in IGNORED_KEYWORDS:
            continue
        if name == "is_causal" and value is True:
            continue
        raise ModelUnsupported(
            f"{type(module).__name__} passes {name}={_describe(value)} to its attention function, "
            f"and its effect on the result is unknown"
        )


def _describe(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor of shape {list(value.shape)}"
    return repr(value)[:60]


def register() -> None:
    """Register the function with transformers, whose import takes seconds."""
    from transformers import AttentionInterface

    AttentionInterface.register(IMPLEMENTATION, attend)
