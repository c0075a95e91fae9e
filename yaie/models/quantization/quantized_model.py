"""Quantized model: builds a model whose linear layers keep their checkpoint's quantized weights.

transformers creates the model's plain modules on the meta device; `QuantizedLinear` replaces the
quantized ones before it loads. It then loads plain tensors, and layers without a quantized kernel,
dequantized one by one as transformers reads them. Quantized weights are read last, so each weight
is in memory in one format at a time. Called by the loader.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from yaie.base.errors import ModelUnsupported, StartupError, first_line
from yaie.models.quantization.quantized_layers import QuantizedLayer, QuantizedLayout
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight
from yaie.models.quantization.readers import TensorFiles, read_dequantized, read_kept
from yaie.models.quantization.tensor_shapes import damage_error

log = logging.getLogger(__name__)


def build_quantized(
    model_class: Any, layout: QuantizedLayout, dtype: torch.dtype, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Return the model, and transformers' loading report.

    options: passed to transformers' `from_pretrained`.

    Raises `ModelUnsupported` if the model lacks a quantized layer, or its weights are damaged.
    """
    if layout.stored.has_kv_scales:
        log.info("the checkpoint's scales for quantized keys and values are not used")
    for reason, count in layout.dequantized.items():
        log.info("%d quantized layers are dequantized to %s: %s", count, dtype, reason)
    with TensorFiles() as files:
        tensors: dict[str, Any] = {each.name: files.unread(each) for each in layout.plain}
        wide = [
            _Dequantized(each, files, dtype)
            for each in layout.layers
            if each.dequantized_because is not None
        ]
        tensors |= {each.layer.weight_name: each for each in wide}
        places = _Places(layout, wide)
        model, report = places.prepare_class(model_class).from_pretrained(
            None, state_dict=tensors, dtype=dtype, **options
        )
        model.__class__ = model_class
        for layer, place in places.pair_layers(model):
            place.quantized = read_kept(layer, files)
    return model, report


class _Dequantized:
    """A tensor that is read and dequantized when transformers indexes it."""

    def __init__(self, layer: QuantizedLayer, files: TensorFiles, dtype: torch.dtype) -> None:
        self.layer = layer
        self.is_transposed = False  # [inputs, outputs], as GPT-2 has it
        self._files = files
        self._dtype = dtype

    def __getitem__(self, _: object) -> torch.Tensor:
        try:
            weight = read_dequantized(self.layer, self._files, self._dtype)
        except StartupError:
            raise
        except Exception as error:  # transformers would report a file that it failed to close
            raise damage_error(
                self.layer.name, f"it cannot be read: {first_line(error)}"
            ) from error
        return weight.T.contiguous() if self.is_transposed else weight


class _Places:
    """A checkpoint's quantized layers and their modules."""

    def __init__(self, layout: QuantizedLayout, wide: list[_Dequantized]) -> None:
        self._kept = layout.kept
        self._wide = wide
        self._names: list[str] = []  # module names of the kept layers

    def prepare_class(self, model_class: Any) -> Any:
        """Return a class whose model has `QuantizedLinear` instead of its quantized layers."""

        def make(model: Any, *arguments: Any, **settings: Any) -> None:
            model_class.__init__(model, *arguments, **settings)
            self._prepare(model)

        names = {"__init__": make, "__module__": model_class.__module__}
        return type(model_class.__name__, (model_class,), names)

    def pair_layers(self, model: nn.Module) -> Iterator[tuple[QuantizedLayer, QuantizedLinear]]:
        for layer, name in zip(self._kept, self._names, strict=True):
            place = model.get_submodule(name)
            if not isinstance(place, QuantizedLinear):
                raise TypeError(f"{name} was replaced while the model was loaded")
            del place.weight
            yield layer, place

    def _prepare(self, model: Any) -> None:
        modules = dict(model.named_modules())
        prefix = model.base_model_prefix
        tied_head = model.get_output_embeddings() if model.config.tie_word_embeddings else None
        for layer in self._kept:
            name = _name_in(modules, prefix, layer.name)
            linear = modules.get(name)
            if not _is_linear(linear):
                raise ModelUnsupported(
                    f"the checkpoint holds quantized weights of {layer.name}, which is not a "
                    f"linear layer of {type(model).__name__}; download the model again",
                    code="model_damaged",
                )
            _check_shape(layer, linear)
            model.set_submodule(name, _place(layer, linear, is_tied=linear is tied_head))
            self._names.append(name)
        for wide in self._wide:
            module = modules.get(_name_in(modules, prefix, wide.layer.name))
            wide.is_transposed = isinstance(module, Conv1D)


def _name_in(modules: Mapping[str, nn.Module], prefix: str, name: str) -> str:
    """Return a module's name in the model; checkpoints of the inner model lack its prefix."""
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
            f"{layer.num_inputs} inputs, but config.json has {shape[0]} and {shape[1]}; download "
            f"the model again",
            code="model_damaged",
        )


def _place(layer: QuantizedLayer, linear: Any, *, is_tied: bool) -> QuantizedLinear:
    """Return a layer on the meta device, except for its bias, which transformers will load."""
    with torch.device("meta"):
        scales = torch.empty(layer.num_outputs, layer.num_groups)
        values = torch.empty(layer.num_outputs, layer.num_inputs, dtype=torch.int8)
    weight = QuantizedWeight(layer.format.bits, values, scales, None)
    place = QuantizedLinear(weight, linear.bias, is_tied=is_tied)
    # GPT-2 initialises `weight` by name; a plain attribute is not loaded.
    place.weight = torch.empty_like(linear.weight, device="meta")
    if is_tied:  # transformers ties parameters
        place.weight = nn.Parameter(place.weight, requires_grad=False)
    return place
