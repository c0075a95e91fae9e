"""Calibration of int4: each layer's weights are rounded by the inputs that a text gives them.

The text passes the decoder layer by layer. A layer runs twice: with its original weights, to
collect the inputs of its linear layers, and with the rounded ones, for the next layer's inputs.
Called by the loader, before the remaining linear layers are rounded to nearest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from yaie.attention.reference import ReferenceBackend
from yaie.errors import ModelUnsupported, StartupError, first_line
from yaie.models.attention_hook import STEP_KEYWORD, LayerArguments
from yaie.models.geometry import spec_of, whole_sequence_plan
from yaie.models.quantization.calibration_text import MOST_SEQUENCE, MOST_TOKENS
from yaie.models.quantization.gptq import (
    FACTOR_BYTES,
    WEIGHT_BYTES,
    factorize,
    round_by_inputs,
)
from yaie.models.quantization.quantize import is_calibrated
from yaie.models.quantization.weights import QuantizedLinear, QuantizedWeight

log = logging.getLogger(__name__)

_CHECKED_TOKENS = 16
_TOLERANCE = 0.01  # of the largest hidden value; the same operations run in the same order
_PROGRESS_LINES = 10
_FLOAT_BYTES = 4


def calibrate_model(model: Any, sequences: Sequence[Sequence[int]]) -> int:
    """Replace the layers that int4 rounds to 4 bits by calibrated ones; return their number.

    sequences: token ids of a text. Computes on the CPU, in the model's dtype. Raises
    `ModelUnsupported` for a decoder that cannot be run layer by layer.
    """
    started = time.monotonic()
    layers = _decoder_layers(model)
    log.info("calibrating int4 on %d tokens", sum(map(len, sequences)))
    number = 0
    with torch.no_grad(), _refusing(model):
        _check(model, layers, sequences[0][:_CHECKED_TOKENS])
        runs = [_record(model, layers, tokens) for tokens in sequences]
        for index, (name, layer) in enumerate(layers.items()):
            number += _calibrate_layer(name, layer, runs, index)
            done = index + 1
            if done * _PROGRESS_LINES // len(layers) > index * _PROGRESS_LINES // len(layers):
                seconds = time.monotonic() - started
                log.info("calibrated %d of %d layers in %.0f s", done, len(layers), seconds)
    return number


def calibrating_nbytes(model: Any, wide: int) -> int:
    """Return the bytes that calibration takes besides the model, at most.

    wide: bytes of a value in the model's dtype. The model may be on the meta device.
    """
    largest = 0
    for name, layer in _decoder_layers(model).items():
        shapes = [linear.weight.shape for linear in _rounded(name, layer).values()]
        squares = [inputs * inputs for _, inputs in shapes]
        grams = _FLOAT_BYTES * sum(squares) + FACTOR_BYTES * max(squares, default=0)
        weights = (WEIGHT_BYTES + wide) * sum(outputs * inputs for outputs, inputs in shapes)
        widths = _FLOAT_BYTES * MOST_SEQUENCE * 2 * sum(outputs for outputs, _ in shapes)
        largest = max(largest, grams + weights + widths)
    return largest + 2 * MOST_TOKENS * int(model.config.hidden_size) * wide


@dataclass(slots=True)
class _Run:
    """A sequence on its way through the decoder."""

    hidden: Any = None  # [1, tokens, hidden]: the input of the next layer
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def next(self, layer: nn.Module, index: int) -> Any:
        """Return the output of a layer."""
        arguments, keywords = self.calls[index]
        return layer(self.hidden, *arguments, **keywords)


class _CausalAttention:
    """A `LayerExecutor` for one whole sequence."""

    def __init__(self, num_tokens: int) -> None:
        plan = whole_sequence_plan(num_tokens)
        self._step = ReferenceBackend().prepare(plan, torch.device("cpu"))

    def attend(
        self,
        module: nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        spec = spec_of(0, queries, keys, values, arguments)
        rows, keys, values = (each[0].transpose(0, 1) for each in (queries, keys, values))
        return self._step.attend(spec, rows, keys, values, arguments.sinks)[None]


@dataclass(slots=True)
class _Inputs:
    """The inputs of linear layers that read the same tensor."""

    names: list[str]
    gram: torch.Tensor  # sum of x^T x, float32 [inputs, inputs]


class _Collector:
    """Hooks that add up the products of the inputs of linear layers."""

    def __init__(self, linears: Mapping[str, nn.Linear]) -> None:
        self.found: list[_Inputs] = []
        self._owner: dict[str, _Inputs] = {}
        self._seen: list[tuple[torch.Tensor, _Inputs]] = []  # of the sequence that runs
        self._hooks = [
            linear.register_forward_pre_hook(self._hook(name)) for name, linear in linears.items()
        ]

    def finish_sequence(self) -> None:
        self._seen.clear()

    def remove_hooks(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _hook(self, name: str) -> Any:
        def add(_: nn.Module, arguments: tuple[Any, ...]) -> None:
            x = arguments[0]
            owner = self._owner.get(name)
            if owner is None:
                owner = self._owner[name] = self._owner_of(x)
                owner.names.append(name)
            if owner.names[0] == name:
                rows = x.reshape(-1, x.shape[-1]).float()
                owner.gram.addmm_(rows.T, rows)

        return add

    def _owner_of(self, x: torch.Tensor) -> _Inputs:
        for seen, owner in self._seen:
            if seen.data_ptr() == x.data_ptr() and seen.shape == x.shape:
                return owner
        owner = _Inputs([], torch.zeros(x.shape[-1], x.shape[-1]))
        self.found.append(owner)
        self._seen.append((x, owner))  # held, so that no other tensor takes its address
        return owner


def _calibrate_layer(name: str, layer: nn.Module, runs: list[_Run], index: int) -> int:
    linears = _rounded(name, layer)
    collector = _Collector(linears)
    for run in runs if linears else []:
        run.next(layer, index)
        collector.finish_sequence()
    collector.remove_hooks()
    rounded = _round_layer(linears, collector)
    for each, weight in rounded.items():
        linears[each].weight.data = weight.dequantize(linears[each].weight.dtype)
    for run in runs:
        run.hidden = run.next(layer, index)
        run.calls[index] = ((), {})  # frees tensors that belong to this layer
    for each, weight in rounded.items():
        linear = linears[each]
        layer.set_submodule(
            each.removeprefix(f"{name}."),
            QuantizedLinear(weight, None if linear.bias is None else linear.bias.detach()),
        )
    return len(rounded)


def _round_layer(
    linears: Mapping[str, nn.Linear], collector: _Collector
) -> dict[str, QuantizedWeight]:
    """Return the rounded weights of linear layers by name; those with equal inputs together."""
    rounded: dict[str, QuantizedWeight] = {}
    while collector.found:
        inputs = collector.found.pop()
        if not bool(torch.isfinite(inputs.gram).all()):
            log.warning("%s is rounded to nearest: its inputs overflow", " and ".join(inputs.names))
            continue
        statistics = factorize(inputs.gram)
        weights = [linears[each].weight for each in inputs.names]
        joined = round_by_inputs(torch.cat(list(weights)), statistics)
        sizes = [len(weight) for weight in weights]
        assert joined.zero_points is not None
        parts = zip(
            *(
                torch.split(tensor, sizes)
                for tensor in (joined.values, joined.scales, joined.zero_points)
            ),
            strict=True,
        )
        for each, (values, scales, points) in zip(inputs.names, parts, strict=True):
            rounded[each] = QuantizedWeight(4, values, scales, points)
    return rounded


def _decoder_layers(model: Any) -> dict[str, nn.Module]:
    """Return the decoder's layers by name, in order. Raises `ModelUnsupported`."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == model.config.num_hidden_layers:
            return {f"{name}.{index}": layer for index, layer in enumerate(module)}
    raise _refused(model, "it has no list of decoder layers")


def _rounded(name: str, layer: nn.Module) -> dict[str, nn.Linear]:
    """Return the linear layers that int4 rounds to 4 bits, by their name in the model."""
    named = ((f"{name}.{inner}", module) for inner, module in layer.named_modules())
    return {
        each: module
        for each, module in named
        if isinstance(module, nn.Linear) and is_calibrated(each, module)
    }


def _forward(model: Any, tokens: Sequence[int]) -> None:
    """Run the decoder, without the head, on one sequence."""
    ids = torch.tensor([list(tokens)])
    model.base_model(
        input_ids=ids,
        position_ids=torch.arange(ids.shape[1])[None],
        attention_mask=None,
        use_cache=False,
        **{STEP_KEYWORD: _CausalAttention(ids.shape[1])},
    )


def _record(model: Any, layers: Mapping[str, nn.Module], tokens: Sequence[int]) -> _Run:
    """Return a run before the first layer; layers are skipped while the model calls them."""
    run = _Run()

    def skip(hidden: Any, *arguments: Any, **keywords: Any) -> Any:
        if run.hidden is None:
            run.hidden = hidden
        run.calls.append((arguments, keywords))
        return hidden

    def skip_named(*arguments: Any, hidden_states: Any = None, **keywords: Any) -> Any:
        if hidden_states is None:
            return skip(*arguments, **keywords)
        return skip(hidden_states, *arguments, **keywords)

    for layer in layers.values():
        layer.__dict__["forward"] = skip_named
    try:
        _forward(model, tokens)
    finally:
        for layer in layers.values():
            del layer.__dict__["forward"]
    return run


def _check(model: Any, layers: Mapping[str, nn.Module], tokens: Sequence[int]) -> None:
    """Raise `ModelUnsupported` unless the layers, one after another, compute the decoder."""
    outputs: list[Any] = []
    last = list(layers.values())[-1]
    hook = last.register_forward_hook(lambda _, __, output: outputs.append(output))
    try:
        _forward(model, tokens)
    finally:
        hook.remove()
    run = _record(model, layers, tokens)
    for index, layer in enumerate(layers.values()):
        run.hidden = run.next(layer, index)
    if len(outputs) != 1 or not isinstance(outputs[0], torch.Tensor):
        raise _refused(model, "its layers return more than hidden states")
    expected = outputs[0].float()
    if not bool(torch.isfinite(expected).all()):
        raise _refused(model, "it computes non-finite numbers from the text")
    bound = _TOLERANCE * float(expected.abs().max())
    if run.hidden.shape != expected.shape or bool(((run.hidden - expected).abs() > bound).any()):
        raise _refused(model, "it computes more than its layers, one after another")


@contextmanager
def _refusing(model: Any) -> Iterator[None]:
    """Turn errors of the model's own code into a refusal."""
    try:
        yield
    except StartupError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _refused(model, f"its layers cannot be run alone: {first_line(error)}") from error
    except RuntimeError as error:  # of torch: shapes, or memory
        raise _refused(model, f"its layers fail when run alone: {first_line(error)}") from error


def _refused(model: Any, why: str) -> ModelUnsupported:
    return ModelUnsupported(
        f"{type(model).__name__} cannot be calibrated: {why}; leave --calibrate out",
        param="calibrate",
    )
