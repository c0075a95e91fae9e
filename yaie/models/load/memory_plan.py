"""Memory plan: a model's weights, activations and number of slots. Sizes in bytes.

Made from the config and the weight headers, so that a model too large for the machine is refused
before its weights are read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from yaie.base.errors import ConfigError, NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.base.types import MIN_PROMPT_LOGITS
from yaie.models.adapters.adapter_folders import estimate_adapters
from yaie.models.architecture.loaded_model import ModelSizes

log = logging.getLogger(__name__)

GIB = 1024**3
_MIB = 1024**2

# Share of the memory left by weights and activations that an automatic pool takes.
_POOL_SHARE = {"cpu": 0.5, "cuda": 0.9}
_STATE_SHARE = 0.125  # of the same rest, for states of recurrent layers
_MOST_STATE_BYTES = 4 * GIB
_MOST_POOL_BYTES_ON_CPU = 8 * GIB  # a CPU's memory is shared with other programs
_MOST_CONTEXTS = 64  # full-length sequences in an automatic pool of more than 64 Ki slots
_LEAST_AUTOMATIC_SLOTS = 64 * 1024

# Keys of which batch-invariant attention keeps separate sums; as in csrc/batch_invariant_split.h.
KEYS_IN_SPAN = 4096


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The memory that a model will take, as logs and errors show it."""

    free: int
    weights: int
    activations: int
    kv_bytes_per_token: int
    num_slots: int
    device: str
    adapters: int = 0
    states: int = 0  # of recurrent layers
    spare_states: int = 0  # a step's, between its rows

    @property
    def nbytes(self) -> int:
        """The sum: weights, adapters, activations, states and pool."""
        pool = self.num_slots * self.kv_bytes_per_token
        states = self.states + self.spare_states
        return self.weights + self.adapters + self.activations + states + pool

    def __str__(self) -> str:
        pool = self.num_slots * self.kv_bytes_per_token
        adapters = f"adapters {format_size(self.adapters)} + " if self.adapters else ""
        states = f"states {format_size(self.states)} + " if self.states else ""
        if self.spare_states:
            states += f"spare states {format_size(self.spare_states)} + "
        return (
            f"weights {format_size(self.weights)} + {adapters}"
            f"activations {format_size(self.activations)} + {states}"
            f"KV cache {format_size(pool)} ({self.num_slots:,} slots of "
            f"{self.kv_bytes_per_token:,} bytes) = {format_size(self.nbytes)} of "
            f"{format_size(self.free)} free on {self.device}"
        )


def format_size(nbytes: int) -> str:
    """Return a size in GiB, MiB, KiB or bytes, as text."""
    if nbytes >= GIB:
        return f"{nbytes / GIB:.2f} GiB"
    for unit, size in (("MiB", _MIB), ("KiB", 1024)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"


def activation_bytes(sizes: ModelSizes, *, max_step_rows: int, max_logit_rows: int) -> int:
    """Estimate a step's float32 memory generously, apart from weights and pool."""
    per_row = 4 * (8 * sizes.hidden + 3 * sizes.inner)
    attention = 256 * _MIB  # scores and upcast keys of a tile
    return max_step_rows * per_row + 3 * 4 * max_logit_rows * sizes.vocab + attention


def exact_bytes(sizes: ModelSizes, *, max_step_rows: int, max_model_len: int) -> int:
    """Return a step's memory for batch-invariant attention.

    Each key span has accumulators, a maximum and a total in float32.
    """
    spans = -(-max_model_len // KEYS_IN_SPAN)
    return max_step_rows * spans * sizes.num_heads * (sizes.head + 2) * 4


def plan_for(
    config: EngineConfig,
    sizes: ModelSizes,
    *,
    free: int,
    weights: int,
    kv_bytes_per_token: int,
    context_len: int,
    device: str,
    dequantized: int = 0,
    most_state_bytes: int = 0,
    spare_state_bytes: Callable[[int], int] = lambda _: 0,
) -> MemoryPlan:
    """Plan a model's memory under the settings. Raises `NotEnoughMemory`.

    `dequantized`: the largest copy that a step makes from quantized weights. `most_state_bytes`:
    the bytes that the states of recurrent layers can use. `spare_state_bytes` returns the bytes of
    a step's spare states for the bytes of the states.
    """
    activations = dequantized + activation_bytes(
        sizes,
        max_step_rows=config.max_step_rows,
        max_logit_rows=min(config.max_running + MIN_PROMPT_LOGITS, config.max_step_rows),
    )
    if config.exact:
        activations += exact_bytes(
            sizes,
            max_step_rows=config.max_step_rows,
            max_model_len=min(context_len, config.num_slots or context_len),
        )
    states = 0
    if most_state_bytes:
        room = max(0, free - weights - activations)
        states = config.state_bytes or min(int(_STATE_SHARE * room), _MOST_STATE_BYTES)
        states = min(states, most_state_bytes)
    return plan_memory(
        free=free,
        weights=weights,
        activations=activations,
        kv_bytes_per_token=kv_bytes_per_token,
        context_len=context_len,
        num_slots=config.num_slots,
        device=device,
        adapters=estimate_adapters(config.lora),
        states=states,
        spare_states=spare_state_bytes(states),
    )


def plan_memory(
    *,
    free: int,
    weights: int,
    activations: int,
    kv_bytes_per_token: int,
    context_len: int,
    num_slots: int | None,
    device: str,
    adapters: int = 0,
    states: int = 0,
    spare_states: int = 0,
) -> MemoryPlan:
    """Choose the number of slots, or check the configured one.

    Raises `NotEnoughMemory` with the sizes and, if there is one, a value that fits.
    """
    left = free - weights - adapters - activations - states - spare_states
    slots_that_fit = max(0, left // kv_bytes_per_token)
    chosen = num_slots
    if chosen is None:
        share = int(left * _POOL_SHARE[device])
        if device == "cpu":
            share = min(share, _MOST_POOL_BYTES_ON_CPU)
        most = max(_MOST_CONTEXTS * context_len, _LEAST_AUTOMATIC_SLOTS)
        chosen = min(max(0, share // kv_bytes_per_token), most)
    plan = MemoryPlan(
        free,
        weights,
        activations,
        kv_bytes_per_token,
        max(chosen, 1),
        device,
        adapters,
        states,
        spare_states,
    )
    if left <= 0 or chosen < 1:
        raise NotEnoughMemory(f"the model does not fit: {plan}; use a smaller model or free memory")
    if chosen > slots_that_fit:
        raise NotEnoughMemory(
            f"the KV cache does not fit: {plan}; at most --num-slots {slots_that_fit} would fit",
            param="num_slots",
        )
    return plan


def fit_to_pool(config: EngineConfig, context_len: int, plan: MemoryPlan) -> int:
    """Return the longest sequence that both the context and the pool have room for.

    Raises `ConfigError` or `NotEnoughMemory` if `max_model_len` is set to more.
    """
    if context_len <= plan.num_slots:
        return context_len
    if config.max_model_len is None:
        log.info("max_model_len is %d, the KV cache size", plan.num_slots)
        return plan.num_slots
    if config.num_slots is not None:
        raise ConfigError(
            f"max_model_len is {context_len}, but num_slots is {plan.num_slots}; raise "
            f"num_slots or lower max_model_len",
            param="max_model_len",
        )
    raise NotEnoughMemory(
        f"a sequence of max_model_len {context_len} does not fit: {plan}; use at most "
        f"--max-model-len {plan.num_slots}",
        param="max_model_len",
    )
