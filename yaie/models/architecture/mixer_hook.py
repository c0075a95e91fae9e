"""Mixer hook: recurrent layers of a loaded model, called once for each run of rows.

A mixer (gated delta net, Mamba, short convolution) reads its state from transformers' cache and
leaves the new one there. The hook passes the mixer to the step, which calls it for each chain of
rows with a cache of that chain only: `MixerCache`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch

from yaie.base.errors import ModelUnsupported
from yaie.kvcache.state_pool import StateKey, States
from yaie.models.architecture.attention_hook import STEP_KEYWORD, current_step

# Classes of transformers, by the end of their names.
_MIXERS = ("DeltaAttention", "GatedDeltaNet", "MambaLayer", "Mixer", "ShortConv")
_CACHE_NAMES = ("cache", "cache_params", "past_key_values")
_CONV, _RECURRENT = "conv", "recurrent"

_MIXER = "yaie_mixer"  # mixer attribute: its index

Run = Callable[[torch.Tensor, "MixerCache"], torch.Tensor]
Compute = Callable[[torch.Tensor, "ChainedStates"], torch.Tensor]  # rows [1, rows, hidden]


class ChainedStates(NamedTuple):
    """A step's chains, and the states [slots, ...] of a layer that they start from and leave."""

    chains: torch.Tensor  # int64 [chains, 4]: first row, end row, source and target state
    states: States
    num_spare: int  # numbered after the slots


class MixerExecutor(Protocol):
    """One mixer's rows: computed by a step, or by the geometry probe."""

    def mix(self, mixer: int, hidden: torch.Tensor, run: Run) -> torch.Tensor:
        """Compute rows [1, rows, hidden] by calls `run([batch, rows, hidden], cache)`."""

    def chained_states(self, mixer: int) -> ChainedStates:
        """Return the step's chains and one mixer's states."""


class MixerCache:
    """One layer's states [batch, ...], as a mixer asks transformers' cache for them.

    Made without states it is the cache of paths that begin.
    """

    def __init__(self, states: States | None = None) -> None:
        self.states: States = {} if states is None else states

    def get_conv_state(self, layer_idx: int | None = None, state_idx: int = 0) -> Any:
        """Return the last inputs of a convolution [batch, channels, width]; None at the start."""
        return self.states.get((_CONV, state_idx))

    def get_recurrent_state(self, layer_idx: int | None = None, state_idx: int = 0) -> Any:
        """Return a recurrent state; None at the start."""
        return self.states.get((_RECURRENT, state_idx))

    def has_previous_state(
        self, layer_idx: int | None = None, state_idx: int | None = None
    ) -> bool:
        """Return True unless the paths begin."""
        return (_CONV, state_idx or 0) in self.states

    def is_recording_past(self, layer_idx: int | None = None) -> bool:
        """Return False: nothing is taken back."""
        return False

    def update_conv_state(
        self,
        conv_states: torch.Tensor,
        layer_idx: int | None = None,
        state_idx: int = 0,
        conv_kernel_size: int | None = None,
        **_: Any,
    ) -> torch.Tensor:
        """Take new inputs; return them after the earlier ones, or after zeros at the start."""
        key: StateKey = (_CONV, state_idx)
        earlier = self.states.get(key)
        if earlier is None:
            width = conv_states.shape[-1] if conv_kernel_size is None else conv_kernel_size
            missing = max(0, width - conv_states.shape[-1])
            inputs = torch.nn.functional.pad(conv_states, (missing, 0))
        else:
            width = earlier.shape[-1]
            inputs = torch.cat([earlier.to(conv_states.dtype), conv_states], dim=-1)
        self.states[key] = inputs[..., -width:].clone()
        return inputs

    def update_recurrent_state(
        self,
        recurrent_states: torch.Tensor,
        layer_idx: int | None = None,
        state_idx: int = 0,
        **_: Any,
    ) -> torch.Tensor:
        """Take a new state."""
        self.states[(_RECURRENT, state_idx)] = recurrent_states
        return recurrent_states


def hook_mixers(model: torch.nn.Module, count: int) -> None:
    """Have each of a model's `count` mixers computed by the step.

    Raises `ModelUnsupported` if the model has another number of mixers.
    """
    found = [each for each in model.modules() if type(each).__name__.endswith(_MIXERS)]
    if len(found) != count:
        raise ModelUnsupported(
            f"{type(model).__name__} has {len(found)} known mixers, and its config lists {count} "
            f"recurrent layers"
        )
    for index, module in enumerate(found):
        setattr(module, _MIXER, index)
        _hook(module, index)


def hooked_mixers(model: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the model's hooked mixers, in the order of their indices."""
    return [each for each in model.modules() if hasattr(each, _MIXER)]


def replace_mixer(module: torch.nn.Module, compute: Compute) -> None:
    """Have a hooked mixer's rows computed by this function from now on."""
    index: int = getattr(module, _MIXER)

    def forward(hidden_states: torch.Tensor, *_: Any, **keywords: Any) -> torch.Tensor:
        step = _step_of(module, keywords)
        return compute(hidden_states, step.chained_states(index))

    module.forward = forward


def _hook(module: torch.nn.Module, index: int) -> None:
    original = module.forward
    names = inspect.signature(original).parameters
    keyword = next((name for name in _CACHE_NAMES if name in names), None)
    if keyword is None:
        raise ModelUnsupported(f"{type(module).__name__} takes no cache")

    def run(hidden: torch.Tensor, cache: MixerCache) -> torch.Tensor:
        return original(hidden, **{keyword: cache})  # type: ignore[no-any-return]

    def forward(hidden_states: torch.Tensor, *_: Any, **keywords: Any) -> torch.Tensor:
        return _step_of(module, keywords).mix(index, hidden_states, run)

    module.forward = forward


def _step_of(module: torch.nn.Module, keywords: dict[str, Any]) -> MixerExecutor:
    step: Any = keywords.get(STEP_KEYWORD) or current_step()
    if step is None:
        raise ModelUnsupported(f"{type(module).__name__} runs outside a step")
    return step  # type: ignore[no-any-return]
