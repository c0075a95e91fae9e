"""Recurrent limits: what a model with recurrent layers cannot do, and its number of states."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch

from yaie.base.errors import ConfigError, ModelUnsupported, NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.kvcache.state_pool import LayerStates, bytes_per_state
from yaie.models.load.memory_plan import format_size

log = logging.getLogger(__name__)

_STATES_PER_SEQUENCE = 2  # its present one, and one that a later prompt may resume from
_MOST_STATES_PER_SEQUENCE = 16


def check_recurrent(architecture: str, config: EngineConfig, device: torch.device) -> None:
    """Refuse settings that a model with recurrent layers cannot keep."""
    if config.exact:
        raise ConfigError(
            f"{architecture} has recurrent layers, whose rounding depends on where a prompt is "
            "resumed, so its logits cannot be batch-invariant; omit --exact",
            param="exact",
        )
    if config.lora:
        raise ConfigError(
            f"{architecture} has recurrent layers, which take no LoRA adapters; omit --lora, or "
            "merge the adapter into the model",
            param="lora",
        )
    if device.type != "cpu":
        raise ModelUnsupported(
            f"{architecture} has recurrent layers, which are served on a CPU only; add --device cpu"
        )


def most_state_bytes(config: EngineConfig, layers: Sequence[LayerStates]) -> int:
    """Return the bytes of the states that may be of use; 0 without recurrent layers."""
    return _MOST_STATES_PER_SEQUENCE * config.max_running * bytes_per_state(layers)


def spare_state_bytes(config: EngineConfig, layers: Sequence[LayerStates], nbytes: int) -> int:
    """Return the bytes of a step's spare states, if `nbytes` are for states.

    A step has one for each running sequence at most, and one more: for paths that branch between
    its rows, and for states that are overwritten and read later. Layers of one shape take turns.
    """
    if not layers:
        return 0
    of_one_layer = sum(each.nbytes for each in {each for layer in layers for each in layer})
    running = min(config.max_running, nbytes // bytes_per_state(layers) // _STATES_PER_SEQUENCE)
    return (running + 1) * of_one_layer


def count_states(config: EngineConfig, layers: Sequence[LayerStates], nbytes: int) -> int:
    """Return the number of states that `nbytes` hold; 0 without recurrent layers.

    Raises `NotEnoughMemory` if one sequence could not run.
    """
    if not layers:
        return 0
    each = bytes_per_state(layers)
    count = min(nbytes, most_state_bytes(config, layers)) // each
    if count < _STATES_PER_SEQUENCE:
        raise NotEnoughMemory(
            f"the states of recurrent layers do not fit: one takes {format_size(each)}, "
            f"and a running sequence needs {_STATES_PER_SEQUENCE}; use at least "
            f"--state-bytes {_STATES_PER_SEQUENCE * each}",
            param="state_bytes",
        )
    return count


def limit_running(config: EngineConfig, num_states: int) -> int:
    """Return the running sequences for which there are states, at most `max_running`."""
    if not num_states:
        return config.max_running
    most = max(1, num_states // _STATES_PER_SEQUENCE)
    if most < config.max_running:
        log.info("max_running is %d: there are %d states", most, num_states)
    return min(config.max_running, most)
