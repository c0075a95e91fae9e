"""Faults of a packed decoder, each as a change of what the comparison at load sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from yaie.attention.plan import StepPlan
from yaie.models.native import native_decoder
from yaie.models.native.decoder_structure import DecoderParts

Fault = Callable[[pytest.MonkeyPatch], None]


def _change_parts(change: Callable[[DecoderParts], DecoderParts]) -> Fault:
    def inject(monkeypatch: pytest.MonkeyPatch) -> None:
        pack: Any = native_decoder._pack_decoder

        def pack_changed(loaded: Any, parts: DecoderParts, *rest: Any, **options: Any) -> Any:
            return pack(loaded, change(parts), *rest, **options)

        monkeypatch.setattr(native_decoder, "_pack_decoder", pack_changed)

    return inject


def _swap_layers(parts: DecoderParts) -> DecoderParts:
    middle = len(parts.layers) // 2
    layers = list(parts.layers)
    layers[middle - 1 : middle + 1] = reversed(layers[middle - 1 : middle + 1])
    return replace(parts, layers=tuple(layers))


def _shift_rows(choose: Callable[[DecoderParts], Any]) -> Fault:
    """Shift the rows of one weight by one."""

    def change(parts: DecoderParts) -> DecoderParts:
        module = choose(parts)
        module.weight.data = module.weight.data.roll(1, 0)
        return parts

    return _change_parts(change)


def _change_tables(change: Callable[[torch.Tensor, torch.Tensor], tuple[Any, Any]]) -> Fault:
    def inject(monkeypatch: pytest.MonkeyPatch) -> None:
        tables = native_decoder.rotary_tables
        monkeypatch.setattr(native_decoder, "rotary_tables", lambda *given: change(*tables(*given)))

    return inject


def _halve_positions(table: torch.Tensor, first: int) -> torch.Tensor:
    """Give each position from `first` on the angles of half of it."""
    rows = torch.arange(len(table))
    return table[torch.where(rows < first, rows, rows // 2)]


def _garble_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kernel that computes the last of an odd number of rows wrongly."""
    execute = native_decoder.NativeDecoder.execute

    def execute_garbled(self: native_decoder.NativeDecoder, plan: StepPlan) -> torch.Tensor:
        logits = execute(self, plan)
        logits[-1] = logits[-1].roll(1)
        return logits

    monkeypatch.setattr(native_decoder.NativeDecoder, "execute", execute_garbled)


FAULTS: dict[str, Fault] = {
    "swapped layers": _change_parts(_swap_layers),
    "wrong queries": _shift_rows(lambda parts: parts.layers[0].qkv.modules[0]),
    "wrong output projection": _shift_rows(lambda parts: parts.layers[-1].output.modules[0]),
    "wrong down projection": _shift_rows(lambda parts: parts.layers[0].mlp.down.modules[0]),
    "wrong rope": _change_tables(
        lambda cosines, sines: (_halve_positions(cosines, 0), _halve_positions(sines, 0))
    ),
    "wrong rope far away": _change_tables(
        lambda cosines, sines: (_halve_positions(cosines, 64), _halve_positions(sines, 64))
    ),
    "wrong sign of the sines": _change_tables(lambda cosines, sines: (cosines, -sines)),
    "one wrong row": _garble_last_row,
}
