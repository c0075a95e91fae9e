"""Builds a model whose linear layers hold the integers of its checkpoint.

transformers makes the model with its plain modules, without memory behind them; before it loads,
the quantized ones give way to `QuantizedLinear`. It then loads what is plain, and layers that no
kernel holds as integers, widened one by one as they are asked for. The integers are read last.
Nothing is ever held in two forms. Called by the loader.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from yaie.errors import ModelUnsupported, StartupError, first_line
from yaie.models.quantization.layout import QuantizedLayer, QuantizedLayout
from yaie.models.quantization.reading import TensorFiles, read_quantized, read_widened
from yaie.models.quantization.shapes import damaged
from yaie.models.quantization.weights import QuantizedLinear, QuantizedWeight

log = logging.getLogger(__name__)


def build_quantized(
    model_class: Any, layout: QuantizedLayout, dtype: torch.dtype, **how: Any
) -> tuple[Any, dict[str, Any]]:
    """The model, and transformers' report of the loading.

    `how` goes to transformers' `from_pretrained`. Raises `ModelUnsupported` if a quantized layer
    has no place in the model or damaged weights.
    """
    if layout.stored.has_kv_scales:
        log.info("the checkpoint's scales for quantized keys and values are not used")
    for reason, count in layout.widened.items():
        log.info("%d quantized layers are widened to %s: %s", count, dtype, reason)
    with TensorFiles() as files:
        tensors: dict[str, Any] = {each.name: files.unread(each) for each in layout.plain}
        wide = [
            _Widened(each, files, dtype)
            for each in layout.layers
            if each.widened_because is not None
        ]
        tensors |= {f"{each.layer.name}.weight": each for each in wide}
        places = _Places(layout, wide)
        model, report = places.prepared(model_class).from_pretrained(
            None, state_dict=tensors, dtype=dtype, **how
        )
        model.__class__ = model_class
        for layer, place in places.filled_later(model):
            place.quantized = read_quantized(layer, files)
    return model, report


class _Widened:
    """A tensor that is read and widened when transformers indexes it."""

    def __init__(self, layer: QuantizedLayer, files: TensorFiles, dtype: torch.dtype) -> None:
        self.layer = layer
        self.is_transposed = False  # [inputs, outputs], as GPT-2 has it
        self._files = files
        self._dtype = dtype

    def __getitem__(self, _: object) -> torch.Tensor:
        try:
            weight = read_widened(self.layer, self._files, self._dtype)
        except StartupError:
            raise
        except Exception as error:  # transformers would tell of a file that it could not close
            raise damaged(self.layer.name, f"it cannot be read: {first_line(error)}") from error
        return weight.T.contiguous() if self.is_transposed else weight


class _Places:
    """Where the layers of a checkpoint are in the model."""

    def __init__(self, layout: QuantizedLayout, wide: list[_Widened]) -> None:
        self._kept = layout.kept
        self._wide = wide
        self._names: list[str] = []  # in the model, of the kept layers

    def prepared(self, model_class: Any) -> Any:
        """A class that makes the model with places for integers instead of its linear layers."""

        def make(model: Any, *arguments: Any, **settings: Any) -> None:
            model_class.__init__(model, *arguments, **settings)
            self._prepare(model)

        names = {"__init__": make, "__module__": model_class.__module__}
        return type(model_class.__name__, (model_class,), names)

    def filled_later(self, model: nn.Module) -> Iterator[tuple[QuantizedLayer, QuantizedLinear]]:
        for layer, name in zip(self._kept, self._names, strict=True):
            place = model.get_submodule(name)
            if not isinstance(place, QuantizedLinear):
                raise TypeError(f"{name} was replaced while the model was loaded")
            del place.weight
            yield layer, place

    def _prepare(self, model: Any) -> None:
        modules = dict(model.named_modules())
        prefix = model.base_model_prefix
        for layer in self._kept:
            name = _name_in(modules, prefix, layer.name)
            linear = modules.get(name)
            if not _is_linear(linear):
                raise ModelUnsupported(
                    f"the checkpoint holds quantized weights of {layer.name}, which is no linear "
                    f"layer of {type(model).__name__}",
                    code="model_damaged",
                )
            _check_shape(layer, linear)
            model.set_submodule(name, _place(layer, linear))
            self._names.append(name)
        for wide in self._wide:
            module = modules.get(_name_in(modules, prefix, wide.layer.name))
            wide.is_transposed = isinstance(module, Conv1D)


def _name_in(modules: Mapping[str, nn.Module], prefix: str, name: str) -> str:
    """A module's name in the model; checkpoints of the inner model lack its prefix."""
    return name if name in modules else f"{prefix}.{name}"


def _is_linear(module: nn.Module | None) -> bool:
    return isinstance(module, nn.Linear | Conv1D)


def _check_shape(layer: QuantizedLayer, linear: Any) -> None:
    shape = tuple(linear.weight.shape)
    if isinstance(linear, Conv1D):
        shape = (shape[1], shape[0])
    if shape != (layer.num_outputs, layer.num_inputs):
        raise ModelUnsupported(
            f"the quantized weights of {layer.name} have {layer.num_outputs} outputs and "
            f"{layer.num_inputs} inputs, but the config makes it {shape[0]} and {shape[1]}",
            code="model_damaged",
        )


def _place(layer: QuantizedLayer, linear: Any) -> QuantizedLinear:
    """A layer without numbers, but for its bias, which transformers will load."""
    with torch.device("meta"):
        scales = torch.empty(layer.num_outputs, layer.num_groups)
        values = torch.empty(layer.num_outputs, layer.num_inputs, dtype=torch.int8)
    place = QuantizedLinear(QuantizedWeight(layer.format.bits, values, scales, None), linear.bias)
    # GPT-2 initialises this one by name; as a plain attribute it is nothing that is to be loaded.
    place.weight = torch.empty_like(linear.weight, device="meta")
    return place
