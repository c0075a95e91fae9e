"""The protocol that every attention implementation follows, and the choice between them.

A backend is fed by the step plan alone: `prepare` once a step, then for each layer `write`, which
puts the step's new keys and values into the pool, and `attend`.
"""

from __future__ import annotations

import functools
import logging
from typing import Protocol

import torch

from yaie.attention.cpu import CpuBackend
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.config import AttentionBackendName
from yaie.errors import ConfigError
from yaie.kernels import loader
from yaie.kvcache.quantized import StoredRows
from yaie.process import cgroups

log = logging.getLogger(__name__)


def use_threads(wanted: int | None) -> None:
    """Have torch, and so the backends, use so many threads; None: as many as help.

    torch counts the processors that this process may run on, and a container's quota of their time
    leaves it all of them. Threads beyond it are stopped in the middle of a step, and the others
    wait for them.
    """
    if wanted is None:
        allowed = cgroups.allowed_processors()
        wanted = min(torch.get_num_threads(), allowed or torch.get_num_threads())
    if wanted != torch.get_num_threads():
        torch.set_num_threads(wanted)


class PreparedStep(Protocol):
    """A step plan made ready for one backend: index tensors on the device."""

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """Put the new keys and values of the plan's `written_rows` into their slots, rounded.

        keys: [num_slots, num_kv_heads, key_width], the layer's pool; values alike.
        new_keys: [rows, num_kv_heads, key_width], of all rows of the step; new_values alike.
        """

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """Attention of every row of the step over its whole path, in one layer.

        queries: [rows, num_heads, key_width], unscaled.
        keys: [num_slots, num_kv_heads, key_width], the layer's pool; values alike.
        sinks: [num_heads] extra logits that take part in the softmax but have no value.
        Returns [rows, num_heads, value_width] in the dtype of `queries`.
        """


class AttentionBackend(Protocol):
    """One implementation of attention over segments."""

    @property
    def name(self) -> str:
        """What `EngineInfo.attention_backend` reports."""

    def prepare(self, plan: StepPlan, device: torch.device) -> PreparedStep:
        """Everything about the step that is the same in all layers."""


def choose_backend(
    device: torch.device, wish: AttentionBackendName = "auto", *, exact: bool = False
) -> AttentionBackend:
    """The backend for a device: the one wished for, or the best that there is.

    With `exact` a row's output depends on its path alone, to the last bit. Raises ConfigError if
    the one wished for cannot serve here, or not exactly.
    """
    if exact:
        return _exact_backend(device, wish)
    if wish == "reference" or (wish == "auto" and device.type != "cpu"):
        return ReferenceBackend()
    kernels = loader.load() if device.type == "cpu" else None
    if kernels is not None:
        return CpuBackend(kernels, torch.get_num_threads())
    if wish == "auto":
        status = loader.status()
        if not status.switched_off:
            warn_of_torch(status.reason)
        return ReferenceBackend()
    reason = loader.status().reason if device.type == "cpu" else f"the device is {device.type}"
    raise ConfigError(
        f"attention_backend is 'cpu', but its kernels cannot serve: {reason}; use 'auto'",
        param="attention_backend",
    )


@functools.cache  # a backend is chosen several times while a model is loaded
def warn_of_torch(reason: str) -> None:
    """Say once that the slow way is taken, which nobody asked for."""
    log.warning(
        "there is no kernel library, so torch computes instead, several times slower: %s "
        "(`yaie doctor` shows it too; with %s=%s this is not said)",
        reason,
        loader.VARIABLE,
        loader.OFF,
    )


def _exact_backend(device: torch.device, wish: AttentionBackendName) -> CpuBackend:
    kernels = loader.load() if device.type == "cpu" and wish != "reference" else None
    if kernels is not None:
        return CpuBackend(kernels, torch.get_num_threads(), exact=True)
    if device.type != "cpu":
        reason = f"the device is {device.type}"
    elif wish == "reference":
        reason = "attention_backend is 'reference'"
    else:
        reason = loader.status().reason
    raise ConfigError(
        f"exact is set, but only the CPU's kernel library computes exactly, and {reason}; leave "
        f"exact out",
        param="exact",
    )
