"""Rotary positions of attention layers, found by evaluating the rotary module."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.models.architecture.attention_hook import LayerArguments, passing
from yaie.models.fused.operations import Rotary
from yaie.models.fused.plain import rotate
from yaie.models.native.decoder_structure import NotRecognised

_TOLERANCE = 0.03  # for keys and tables in bfloat16
_PROBED = 3  # rows


class LayerTables(NamedTuple):
    """A layer's tables, and their last positions as its attention takes them."""

    rotary: Rotary  # how it pairs elements is left open
    positions: torch.Tensor  # [probed rows]
    cosines: torch.Tensor  # [probed rows, as wide as the model's]
    sines: torch.Tensor


class RotaryTables:
    """A model's rotary cosines and sines; some have a pair per layer type."""

    def __init__(
        self, rotary: nn.Module, config: Any, num_positions: int, like: torch.Tensor
    ) -> None:
        """`like` has the model's device and dtype."""
        self._rotary = rotary
        self._num_positions = num_positions
        self._like = like
        by_kind = "layer_type" in inspect.signature(rotary.forward).parameters
        self._kinds: list[str] | None = config.layer_types if by_kind else None
        self._tables: dict[str, LayerTables] = {}

    def of_layer(self, layer: int) -> LayerTables:
        """Return a layer's tables; layers with one type share them."""
        kind = "" if self._kinds is None else self._kinds[layer]
        if kind not in self._tables:
            self._tables[kind] = self._compute(() if self._kinds is None else (kind,))
        return self._tables[kind]

    def _compute(self, kind: tuple[str, ...]) -> LayerTables:
        device = self._like.device
        with torch.inference_mode():
            positions = torch.arange(self._num_positions, device=device)
            found = self._rotary(torch.zeros(1, 1, 1, device=device), positions[None], *kind)
            if not isinstance(found, tuple):
                raise NotRecognised(f"{type(self._rotary).__name__} returns other tables")
            cosines, sines = (table[0].float() for table in found)
            last = [table[-_PROBED:].to(self._like.dtype) for table in (cosines, sines)]
            return LayerTables(Rotary(_once(cosines), _once(sines)), positions[-_PROBED:], *last)


def _once(table: torch.Tensor) -> torch.Tensor:
    """Return a table with one angle for each pair; most models have each angle twice."""
    pairs = table.shape[-1] // 2
    if torch.equal(table[:, :pairs], table[:, pairs:]):
        return table[:, :pairs].contiguous()
    if torch.equal(table[:, 0::2], table[:, 1::2]):
        return table[:, 0::2].contiguous()
    return table


def rotation_of(attention: nn.Module, spec: AttentionSpec, tables: LayerTables) -> Rotary | None:
    """Return how a layer rotates its heads, with the tables; None if it has no positions.

    The layer projects the same rows unrotated, and at the last positions.
    Raises `NotRecognised` if no known rotation explains the difference.
    """
    unrotated = torch.ones_like(tables.cosines), torch.zeros_like(tables.sines)
    before = _heads_of(attention, unrotated)
    after = _heads_of(attention, (tables.cosines, tables.sines))
    if all(torch.equal(*pair) for pair in zip(before, after, strict=True)):
        return None
    for neighbours in (False, True):
        rotary = Rotary(tables.rotary.cosines, tables.rotary.sines, neighbours)
        if rotary.width <= spec.key_width and all(
            _is_close(rotate(mine, tables.positions, rotary), theirs)
            for mine, theirs in zip(before, after, strict=True)
        ):
            return rotary
    raise NotRecognised(f"{type(attention).__name__} rotates in another way")


def _is_close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return bool((found - expected).norm() <= _TOLERANCE * expected.norm())


def _heads_of(
    attention: nn.Module, tables: tuple[torch.Tensor, torch.Tensor]
) -> list[torch.Tensor]:
    """Return a layer's queries and keys, [probed rows, heads, width] in float32."""
    projection: Any = getattr(attention, "q_proj", None) or getattr(attention, "qkv_proj", None)
    if projection is None:
        raise NotRecognised(f"{type(attention).__name__} has no plain q_proj or qkv_proj")
    shape = (1, len(tables[0]), projection.in_features)
    wave = torch.linspace(0, 300, shape[1] * shape[2], device=tables[0].device).sin()
    recorder = _Recorder()
    try:
        with torch.inference_mode(), passing(recorder) as step:
            attention(
                hidden_states=wave.view(shape).to(tables[0].dtype),
                position_embeddings=tuple(table[None] for table in tables),
                attention_mask=None,
                **step,
            )
    except (RuntimeError, TypeError, ValueError) as error:  # it takes other arguments
        raise NotRecognised(f"{type(attention).__name__} cannot be probed: {error}") from None
    return recorder.found


class _Recorder:
    """A step that records a layer's queries and keys. Implements `LayerExecutor`."""

    def __init__(self) -> None:
        self.found: list[torch.Tensor] = []

    def attend(
        self,
        module: nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        """Record the layer's queries and keys; return zeros."""
        self.found = [heads[0].transpose(0, 1).float() for heads in (queries, keys)]
        return queries.new_zeros(1, queries.shape[2], queries.shape[1], values.shape[3])
