"""`AdapterFiles`: the two files of an adapter, each read once.

A later change to the files changes nothing in memory: no page of them is mapped.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from yaie.base.errors import ModelUnsupported, NotEnoughMemory
from yaie.base.json_reader import MAX_BYTES, parse_json
from yaie.device.available_memory import free_bytes
from yaie.models.adapters.adapter_folders import WEIGHTS
from yaie.models.files.checkpoint import ADAPTER_CONFIG, read_header

_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """Contents of an adapter's files."""

    config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    digest: str  # SHA-256 of both files, as hexadecimal text


def read_files(name: str, folder: Path, dtype: torch.dtype, device: torch.device) -> AdapterFiles:
    """Read an adapter's files, if its weights fit into memory.

    `dtype` and `device`: of the loaded weights. Raises `ModelUnsupported` for missing and damaged
    files, `NotEnoughMemory`.
    """
    try:
        return _read(name, folder, dtype, device)
    except OSError as error:
        raise ModelUnsupported(
            f"the folder {str(folder)[:200]!r} cannot be read: {error.strerror}; give the readable "
            "folder of an adapter"
        ) from None


def _read(name: str, folder: Path, dtype: torch.dtype, device: torch.device) -> AdapterFiles:
    path = folder / ADAPTER_CONFIG
    if not folder.exists():
        raise ModelUnsupported(
            f"the folder {str(folder)[:200]!r} does not exist; give the folder of an adapter"
        )
    if not path.is_file():
        raise ModelUnsupported(
            f"{str(folder)[:200]} has no {ADAPTER_CONFIG}; give the folder of an adapter"
        )
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    try:
        config = parse_json(text)
    except ValueError as error:
        raise ModelUnsupported(
            f"{path} is damaged: it is not readable JSON ({error}); copy the adapter again",
            code="model_damaged",
        ) from None
    if not isinstance(config, dict):
        raise ModelUnsupported(
            f"{path} is damaged: it is not a JSON object; copy the adapter again",
            code="model_damaged",
        )
    weights = _read_weights(name, folder, dtype, device)
    digest = hashlib.sha256(hashlib.sha256(text).digest() + hashlib.sha256(weights).digest())
    try:
        return AdapterFiles(config, load(weights), digest.hexdigest())
    except SafetensorError as error:
        raise _unreadable(folder / WEIGHTS, error) from None


def _read_weights(name: str, folder: Path, dtype: torch.dtype, device: torch.device) -> bytes:
    path = folder / WEIGHTS
    if not path.is_file():
        raise ModelUnsupported(
            f"the adapter {name!r} has no {WEIGHTS} in {folder}; save it as safetensors"
        )
    try:
        header = read_header(path)
    except ModelUnsupported as error:
        raise _unreadable(path, error.message) from None
    wanted = dtype.itemsize * sum(prod(tensor.shape) for tensor in header)
    in_transit = 2 * path.stat().st_size  # the bytes, and tensors made from them
    host = torch.device("cpu")
    for where, nbytes in ((device, wanted), (host, in_transit + wanted * (device == host))):
        if nbytes > (free := free_bytes(where)):
            raise NotEnoughMemory(
                f"the adapter {name!r} needs {nbytes / _MIB:,.1f} MiB of memory to load, but "
                f"{free / _MIB:,.1f} MiB are free on {where.type}; unload another adapter, or "
                "start with fewer --num-slots"
            )
    return path.read_bytes()


def _unreadable(path: Path, why: object) -> ModelUnsupported:
    return ModelUnsupported(
        f"{path} cannot be read: {why}; copy the adapter again", code="model_damaged"
    )
