"""Backend registry: the table of attention backends, and the choice by device and setting.

A new backend is one file in this package and one row in the table.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass

import torch

from yaie.attention.backend import AttentionBackend
from yaie.attention.cpu import CpuBackend
from yaie.attention.reference import ReferenceBackend
from yaie.base.errors import ConfigError
from yaie.base.settings import AttentionBackendName
from yaie.device import gpu_packages
from yaie.device.queue import make_queue
from yaie.kernels import library_search

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row in the backend table."""

    name: AttentionBackendName
    device: str | None  # the type of device that it serves; None: any
    obstacle: Callable[[], str | None]  # None: it can serve that device
    make: Callable[[torch.device, bool], AttentionBackend]  # the flag: batch-invariant or not
    can_be_exact: bool = False
    make_automatic: Callable[[torch.device], AttentionBackend] | None = None  # None: `make`

    def obstacle_on(self, device: torch.device) -> str | None:
        """Return why the backend cannot serve a device; None if it can."""
        if self.device not in (None, device.type):
            return f"the device is {device.type}"
        return self.obstacle()


def _obstacle_to_kernels() -> str | None:
    return library_search.status().reason if library_search.load() is None else None


def _make_cpu(device: torch.device, exact: bool) -> AttentionBackend:
    kernels = library_search.load()
    assert kernels is not None, "chosen without a kernel library"
    return CpuBackend(kernels, torch.get_num_threads(), exact=exact)


def _make_flashinfer(device: torch.device, exact: bool) -> AttentionBackend:
    from yaie.attention.flashinfer.backend import FlashInferBackend

    return FlashInferBackend(device)


def _make_triton(device: torch.device, exact: bool) -> AttentionBackend:
    from yaie.attention.tree_decode.backend import TreeDecodeBackend

    return TreeDecodeBackend(make_queue(device))


def _make_by_cost(device: torch.device) -> AttentionBackend:
    """Return FlashInfer combined with tree decode; FlashInfer alone where Triton is missing."""
    from yaie.attention.auto_backend import AutoBackend
    from yaie.attention.flashinfer.backend import FlashInferBackend

    reason = gpu_packages.check_triton()
    if reason is not None:
        _log_once(logging.INFO, f"FlashInfer computes attention without tree decode: {reason}")
        return FlashInferBackend(device)
    from yaie.attention.tree_decode.backend import TreeDecodeBackend

    cascade = FlashInferBackend(device)
    tree = TreeDecodeBackend(cascade.queue)
    return AutoBackend(
        {"cascade": cascade, "decode": cascade.make_unshared(), "tree": tree}, queue=cascade.queue
    )


# "auto" takes the first row that can serve.
_TABLE = (
    _Row("cpu", "cpu", _obstacle_to_kernels, _make_cpu, can_be_exact=True),
    _Row(
        "flashinfer",
        "cuda",
        gpu_packages.check_flashinfer,
        _make_flashinfer,
        make_automatic=_make_by_cost,
    ),
    _Row("triton", "cuda", gpu_packages.check_triton, _make_triton),
    _Row("reference", None, lambda: None, lambda device, exact: ReferenceBackend()),
)


def choose_backend(
    device: torch.device, wanted: AttentionBackendName = "auto", *, exact: bool = False
) -> AttentionBackend:
    """Return the backend that `wanted` names, or for "auto" the device's fastest one.

    `exact` asks for a batch-invariant backend. Raises `ConfigError` if the named backend cannot
    serve the device, or cannot be batch-invariant.
    """
    rows = [row for row in _TABLE if wanted in (row.name, "auto")]
    obstacles: list[str] = []
    for row in rows:
        if exact and not row.can_be_exact:
            continue
        obstacle = row.obstacle_on(device)
        if obstacle is None:
            if wanted != "auto":
                return row.make(device, exact)
            _log_missing(device, row)
            make = row.make_automatic
            return row.make(device, exact) if make is None else make(device)
        obstacles.append(obstacle)
    reason = obstacles[0] if obstacles else f"attention_backend is {wanted!r}"
    if exact:
        raise ConfigError(
            f"exact is set, but only the CPU kernel library is batch-invariant, and {reason}; "
            f"omit exact",
            param="exact",
        )
    raise ConfigError(
        f"attention_backend is {wanted!r}, but it is unavailable: {reason}; use 'auto'",
        param="attention_backend",
    )


def names_after(first: AttentionBackend, device: torch.device) -> list[AttentionBackendName]:
    """Return the backends that "auto" may fall back to, in order, if `first` refuses a model."""
    names = [row.name for row in _TABLE if row.obstacle_on(device) is None]
    return names[names.index(first.name.split("+")[0]) + 1 :]  # type: ignore[arg-type]


def _log_missing(device: torch.device, chosen: _Row) -> None:
    """Log why earlier rows for this device cannot serve it."""
    for row in _TABLE[: _TABLE.index(chosen)]:
        reason = row.obstacle() if row.device == device.type else None
        if reason is None:
            continue
        if chosen.device is not None:
            _log_once(logging.WARNING, f"{chosen.name} computes attention: {reason}")
        elif device.type != "cpu":
            _log_once(logging.WARNING, f"torch computes attention, several times slower: {reason}")
        elif not library_search.status().switched_off:
            warn_of_torch(reason)


@functools.cache  # a backend is chosen several times while a model is loaded
def _log_once(level: int, message: str) -> None:
    log.log(level, "%s (see `yaie doctor`)", message)


@functools.cache  # a backend is chosen several times while a model is loaded
def warn_of_torch(reason: str) -> None:
    """Warn once that torch computes because the kernel library is missing."""
    log.warning(
        "the kernel library is unavailable, so torch computes instead, several times slower: %s "
        "(see `yaie doctor`; %s=%s silences this warning)",
        reason,
        library_search.VARIABLE,
        library_search.OFF,
    )
