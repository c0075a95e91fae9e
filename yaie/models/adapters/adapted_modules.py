"""Adapted modules: linear layers of a model, with adapters added to their outputs by rows.

Hooks after the modules add an adapter's low-rank product to its rows of a step. Other rows keep
their bits. Plain, quantized and packed layers alike: the product is added to what they return.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from yaie.attention.plan import IntArray
from yaie.models.adapters.adapter import Adapter, LowRank, Shapes

Range = tuple[int, int, int]  # first row, end, number of the adapter
_Hook = Callable[[nn.Module, tuple[Any, ...], torch.Tensor], None]
# Modules inside these compute other rows than the step's, or none in some steps.
_OTHER_ROWS = (".experts.",)


def adapter_ranges(adapters: IntArray) -> list[Range]:
    """Return the runs of rows with one adapter, from the adapter of each row; none for 0."""
    if not len(adapters):
        return []
    bounds = np.flatnonzero(np.diff(adapters, prepend=-1, append=-1)).tolist()
    return [
        (first, end, int(adapters[first]))
        for first, end in itertools.pairwise(bounds)
        if adapters[first]
    ]


def find_adaptable(model: nn.Module) -> dict[str, Any]:
    """Return the linear layers that adapters may change, by name."""
    head = model.get_output_embeddings()  # type: ignore[operator]
    return {
        name: module
        for name, module in model.named_modules()
        if _is_linear(module)
        and not any(part in f".{name}." for part in _OTHER_ROWS)
        and module is not head
    }


class AdaptedModules:
    """Hooks on one model's linear layers, and the adapters that they add. Implements `Adapted`."""

    def __init__(self, model: nn.Module, dtype: torch.dtype, device: torch.device) -> None:
        """`dtype`: of the adapters' weights."""
        self.dtype, self.device = dtype, device
        self._modules = find_adaptable(model)
        self._layers: dict[str, dict[int, LowRank]] = {}  # by module, then by adapter
        self._ranges: list[Range] = []  # of the step
        self._num_rows = 0
        self._unseen: dict[int, set[str]] = {}  # modules that no step has called yet, by adapter

    @property
    def shapes(self) -> Shapes:
        """See `Adapted.shapes`."""
        return {
            name: (int(each.in_features), int(each.out_features))
            for name, each in self._modules.items()
        }

    def add(self, adapter: Adapter) -> None:
        """See `Adapted.add`."""
        for name, low_rank in adapter.layers.items():
            if name not in self._layers:
                self._layers[name] = {}
                self._modules[name].register_forward_hook(self._hook(name))
            self._layers[name][adapter.number] = low_rank
        self._unseen[adapter.number] = set(adapter.layers)

    def remove(self, number: int) -> None:
        """See `Adapted.remove`."""
        for layers in self._layers.values():
            layers.pop(number, None)
        self._unseen.pop(number, None)

    def begin(self, adapters: IntArray) -> bool:
        """Begin a step with the adapter of each row; True if a row has one."""
        self._ranges, self._num_rows = adapter_ranges(adapters), len(adapters)
        return bool(self._ranges)

    def end(self) -> None:
        """End a step. Raises `RuntimeError` if the model did not call an adapted layer in it."""
        for _, _, number in self._ranges:
            missing = self._unseen.pop(number, None)
            if missing:
                self._unseen[number] = missing
                raise RuntimeError(
                    f"the model computes {sorted(missing)[0]} without calling it, so an adapter "
                    "cannot change it; merge the adapter into its base model"
                )
        self._ranges = []

    def _hook(self, name: str) -> _Hook:
        layers = self._layers[name]

        def add(module: nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
            if not self._ranges:
                return
            x = inputs[0]
            if x.shape[-2] != self._num_rows:
                raise RuntimeError(f"{name} computes {x.shape[-2]} of {self._num_rows} rows")
            for first, end, number in self._ranges:
                low_rank = layers.get(number)
                if low_rank is not None:
                    output[..., first:end, :] += low_rank.product(x[..., first:end, :])
                    if unseen := self._unseen.get(number):
                        unseen.discard(name)

        return add


def _is_linear(module: nn.Module) -> bool:
    sizes = (getattr(module, "in_features", None), getattr(module, "out_features", None))
    return all(isinstance(size, int) for size in sizes)
