"""int4 calibration: rounds each layer's weights by the inputs that a text produces.

The text passes the decoder layer by layer. A layer runs twice: with its original weights, to
collect its linear layers' inputs, and with rounded weights, to compute the next layer's inputs.
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
from torch.nn import functional

from yaie.attention.reference import ReferenceBackend
from yaie.base.errors import ModelUnsupported, StartupError, first_line
from yaie.models.architecture.attention_hook import LayerArguments, passing
from yaie.models.architecture.layer_shapes import spec_of, whole_sequence_plan
from yaie.models.quantization.calibration_plan import (
    CalibrationPlan,
    Method,
    decoder_layers,
    select_linears,
)
from yaie.models.quantization.gptq import factorize, round_by_inputs, round_by_squares
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight
from yaie.process.progress import report

log = logging.getLogger(__name__)

_CHECKED_TOKENS = 16
_TOLERANCE = 0.01  # share of the largest hidden value; the same operations run in the same order
_PROGRESS_LINES = 10
_STAGE = "calibrating int4, once (--calibrate none skips it)"
_BLOCK = 256  # inputs per block of the product triangle


def calibrate_model(model: Any, calibration: CalibrationPlan) -> int:
    """Replace the layers that int4 rounds to 4 bits by calibrated ones; return their number.

    Computes on the CPU, in the model's dtype. Raises `ModelUnsupported` for a decoder that cannot
    be run layer by layer; for the default calibration that is a warning.
    """
    log.info(
        "calibrating int4 by the %s of inputs of %d tokens, once where packed weights are cached; "
        "--calibrate none rounds to nearest",
        calibration.method,
        calibration.num_tokens,
    )
    try:
        with torch.no_grad(), _refusing(model):
            return _calibrate(model, calibration)
    except ModelUnsupported as error:
        if not calibration.is_default:
            raise
        log.warning("layers are rounded to nearest: %s", error.message)
        return 0


def _calibrate(model: Any, calibration: CalibrationPlan) -> int:
    started, number = time.monotonic(), 0
    sequences = calibration.sequences
    layers = decoder_layers(model)
    if layers is None:
        raise _make_error(model, "it has no list of decoder layers")
    _check(model, layers, sequences[0][:_CHECKED_TOKENS])
    runs = [_record(model, layers, tokens) for tokens in sequences]
    for index, (name, layer) in enumerate(layers.items()):
        report(_STAGE, index, len(layers))
        number += _calibrate_layer(name, layer, runs, index, calibration.method)
        done = index + 1
        if done * _PROGRESS_LINES // len(layers) > index * _PROGRESS_LINES // len(layers):
            seconds = time.monotonic() - started
            log.info("calibrated %d of %d layers in %.0f s", done, len(layers), seconds)
    return number


@dataclass(slots=True)
class _Run:
    """A sequence on its way through the decoder."""

    attention: _CausalAttention
    hidden: Any = None  # [1, tokens, hidden]: the input of the next layer
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def next(self, layer: nn.Module, index: int) -> Any:
        """Return a layer's output."""
        arguments, keywords = self.calls[index]
        with passing(self.attention):
            return layer(self.hidden, *arguments, **keywords)

    def advance(self, output: Any, index: int) -> None:
        """Take a layer's output as the next layer's input."""
        self.hidden = output
        self.calls[index] = ((), {})  # frees this layer's tensors


class _CausalAttention:
    """A `LayerExecutor` for one whole sequence. torch's own attention takes half the time."""

    def __init__(self, num_tokens: int) -> None:
        self._num_tokens = num_tokens
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
        window = arguments.sliding_window or self._num_tokens
        if window >= self._num_tokens and arguments.softcap is None and arguments.sinks is None:
            output = functional.scaled_dot_product_attention(
                queries, keys, values, is_causal=True, scale=arguments.scale, enable_gqa=True
            )
            return output.transpose(1, 2)
        spec = spec_of(0, queries, keys, values, arguments)
        rows, keys, values = (each[0].transpose(0, 1) for each in (queries, keys, values))
        return self._step.attend(spec, rows, keys, values, arguments.sinks)[None]


@dataclass(slots=True)
class _Inputs:
    """The inputs for linear layers that read the same tensor."""

    names: list[str]
    sums: torch.Tensor  # x^T x, float32 [inputs, inputs], or squares, [inputs]


class _Collector:
    """Hooks that sum the products, or the squares, of linear layers' inputs."""

    def __init__(self, linears: Mapping[str, nn.Linear], method: Method) -> None:
        self._method = method
        self.found: list[_Inputs] = []
        self._owner: dict[str, _Inputs] = {}
        self._seen: list[tuple[torch.Tensor, _Inputs]] = []  # inputs of the running sequence
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
                if self._method == "squares":
                    owner.sums += rows.square().sum(0)
                else:
                    _add_products(owner.sums, rows)

        return add

    def _owner_of(self, x: torch.Tensor) -> _Inputs:
        for seen, owner in self._seen:
            if seen.data_ptr() == x.data_ptr() and seen.shape == x.shape:
                return owner
        dimensions = 1 if self._method == "squares" else 2
        owner = _Inputs([], torch.zeros((x.shape[-1],) * dimensions))
        self.found.append(owner)
        self._seen.append((x, owner))  # keep x alive, so that no other tensor takes its address
        return owner


def _add_products(sums: torch.Tensor, rows: torch.Tensor) -> None:
    """Add rows^T rows to the sums' upper triangle, in blocks; the rest is undefined."""
    for first in range(0, len(sums), _BLOCK):
        last = first + _BLOCK
        sums[first:last, first:].addmm_(rows[:, first:last].T, rows[:, first:])


def _calibrate_layer(
    name: str, layer: nn.Module, runs: list[_Run], index: int, method: Method
) -> int:
    linears = select_linears(name, layer)
    collector = _Collector(linears, method)
    is_run_again = method == "products"  # with rounded weights, for the next layer's inputs
    for run in runs if linears else []:
        output = run.next(layer, index)
        if not is_run_again:
            run.advance(output, index)
        collector.finish_sequence()
    collector.remove_hooks()
    rounded = _round_layer(linears, collector)
    if is_run_again or not linears:
        for each, weight in rounded.items():
            linears[each].weight.data = weight.dequantize(linears[each].weight.dtype)
        for run in runs:
            run.advance(run.next(layer, index), index)
    for each, weight in rounded.items():
        linear = linears[each]
        layer.set_submodule(
            each.removeprefix(f"{name}."),
            QuantizedLinear(weight, None if linear.bias is None else linear.bias.detach()),
        )
    return len(rounded)


def _mirror(sums: torch.Tensor) -> torch.Tensor:
    """Return the symmetric matrix for an upper triangle."""
    return sums.triu() + sums.triu(1).T


def _round_layer(
    linears: Mapping[str, nn.Linear], collector: _Collector
) -> dict[str, QuantizedWeight]:
    """Return linear layers' rounded weights by name; those with equal inputs together."""
    rounded: dict[str, QuantizedWeight] = {}
    while collector.found:
        inputs = collector.found.pop()
        if not bool(torch.isfinite(inputs.sums).all()):
            log.warning("%s is rounded to nearest: its inputs overflow", " and ".join(inputs.names))
            continue
        weights = [linears[each].weight for each in inputs.names]
        if inputs.sums.dim() == 1:
            joined = round_by_squares(torch.cat(list(weights)), inputs.sums)
        else:
            statistics = factorize(_mirror(inputs.sums))
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


def _forward(model: Any, tokens: Sequence[int]) -> None:
    """Run the decoder, without the head, on one sequence."""
    ids = torch.tensor([list(tokens)])
    with passing(_CausalAttention(ids.shape[1])) as step:
        model.base_model(
            input_ids=ids,
            position_ids=torch.arange(ids.shape[1])[None],
            attention_mask=None,
            use_cache=False,
            **step,
        )


def _record(model: Any, layers: Mapping[str, nn.Module], tokens: Sequence[int]) -> _Run:
    """Return a run before the first layer; layers are skipped while the model calls them."""
    run = _Run(_CausalAttention(len(tokens)))

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
        raise _make_error(model, "its layers return more than hidden states")
    expected = outputs[0].float()
    if not bool(torch.isfinite(expected).all()):
        raise _make_error(model, "it computes non-finite numbers from the text")
    bound = _TOLERANCE * float(expected.abs().max())
    if run.hidden.shape != expected.shape or bool(((run.hidden - expected).abs() > bound).any()):
        raise _make_error(model, "it computes more than its layers, one after another")


@contextmanager
def _refusing(model: Any) -> Iterator[None]:
    """Turn errors from the model's code into a refusal."""
    try:
        yield
    except StartupError:
        raise
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _make_error(model, f"its layers cannot be run alone: {first_line(error)}") from error
    except RuntimeError as error:  # torch errors: shapes, or memory
        raise _make_error(model, f"its layers fail when run alone: {first_line(error)}") from error


def _make_error(model: Any, why: str) -> ModelUnsupported:
    return ModelUnsupported(
        f"{type(model).__name__} cannot be calibrated: {why}; omit --calibrate",
        param="calibrate",
    )
