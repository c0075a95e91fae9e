"""A model of transformers on the strict device, with captured decode steps."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from tests.device import strict
from tests.device.delayed_queue import DelayedQueue
from tests.device.padded_backend import PaddedBackend
from yaie.base.settings import EngineConfig
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model
from yaie.models.quantization.device.linear import DeviceLinear
from yaie.models.quantization.quantized_weights import QuantizedLinear

MAX_ROWS = 4
CONTEXT_LEN = 48


def on_device(loaded: LoadedModel) -> LoadedModel:
    """Move a model to the strict device."""
    assert loaded.model is not None
    for module in loaded.model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    moved = strict.to_device(tensor)
                    if isinstance(tensor, torch.nn.Parameter):
                        moved = torch.nn.Parameter(moved, requires_grad=False)  # type: ignore[assignment]
                    tensors[name] = moved
        if isinstance(module, DeviceLinear):
            module.packed = _fields_on_device(module.packed)
        elif isinstance(module, QuantizedLinear):
            module.quantized = _fields_on_device(module.quantized)
    return replace(loaded, device=torch.device(strict.NAME))


def _fields_on_device(weight: Any) -> Any:
    """Return a dataclass with its tensors on the device."""
    every = ((each.name, getattr(weight, each.name)) for each in fields(weight))
    tensors = {name: field for name, field in every if isinstance(field, torch.Tensor)}
    moved = {name: strict.to_device(tensor) for name, tensor in tensors.items()}
    return replace(weight, **moved)


def device_executor(
    config: EngineConfig, queue: DelayedQueue, *, max_rows: int = MAX_ROWS
) -> TransformersExecutor:
    """Return an executor on the strict device; without graphs if `max_rows` is 0."""
    loaded = on_device(load_model(config, may_pack=False))
    backend = PaddedBackend(queue, CONTEXT_LEN)
    executor = TransformersExecutor(loaded, backend, PoolMemory(loaded, None, "NHD"))
    if max_rows:
        executor.capture_decoding(queue, max_rows)
    return executor


def config_of(folder: Path, **settings: object) -> EngineConfig:
    settings = {"device": "cpu", "num_slots": 256, "audit": True, "max_step_rows": 64, **settings}
    return EngineConfig(
        model=str(folder),
        dtype="float32",
        max_model_len=CONTEXT_LEN,
        **settings,  # type: ignore[arg-type]
    )
