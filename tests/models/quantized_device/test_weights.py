"""Weights packed for a device keep every number of the quantized ones."""

from __future__ import annotations

import random

import pytest
import torch

from tests.models.quantized_device.cases import Layer, packed, random_weight
from yaie.models.quantization.device.device_weights import join, pack
from yaie.models.quantization.device.packed_layout import LEAST_BLOCK, PackedLayout
from yaie.models.quantization.device.product_tiles import choose_tile
from yaie.models.quantization.quantized_weights import QuantizedWeight


def random_layer(seed: int) -> Layer:
    torch.manual_seed(seed)
    chosen = random.Random(seed)
    kind = chosen.choice(["int4", "int8", "fp8"])
    groups = chosen.choice([1, 1, 2, 3, 7])
    size = chosen.choice([1, 4, 12, 16, 32, 64, 96, 128]) if groups > 1 else chosen.randint(1, 300)
    return Layer(
        kind,  # type: ignore[arg-type]
        chosen.randint(1, 40),
        groups * size,
        groups,
        has_points=kind != "fp8" and chosen.random() < 0.5,
        scale_dtype=chosen.choice([torch.bfloat16, torch.float16, torch.float32]),
    )


@pytest.mark.parametrize("seed", range(60))
def test_packing_keeps_every_number(seed: int) -> None:
    layer = random_layer(seed)
    weight, found = packed(layer)
    assert torch.equal(found.dequantize(torch.float32), weight.dequantize(torch.float32))
    assert found.kind == layer.kind and found.num_weights == layer.outputs * layer.inputs
    assert found.nbytes == found.packing.nbytes(
        layer.outputs, scale_bytes=found.scales.itemsize, has_points=layer.has_points
    )
    cut = layer.outputs // 2
    for first, last in ((0, cut), (cut, layer.outputs)):
        part = found.part(first, last).dequantize(torch.float32)
        assert torch.equal(part, weight.dequantize(torch.float32)[first:last])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_scales_take_16_bits_only_if_none_is_rounded(dtype: torch.dtype) -> None:
    scales = (torch.rand(6, 2) + 0.5).to(dtype).float()
    weight = QuantizedWeight(8, torch.zeros(6, 32, dtype=torch.int8), scales, None)
    found = pack(weight)
    assert found.scales.dtype == dtype
    assert torch.equal(found.scales.float().T, scales)


def test_joined_weights_are_those_of_their_parts() -> None:
    layers = [Layer("int4", 10, 64, 2, True), Layer("int4", 3, 64, 2, False, torch.float16)]
    weights = [random_weight(layer) for layer in layers]
    joined = join([pack(weight) for weight in weights])
    expected = torch.cat([weight.dequantize(torch.float32) for weight in weights])
    assert torch.equal(joined.dequantize(torch.float32), expected)


@pytest.mark.parametrize("seed", range(60))
def test_blocks_tile_the_rows(seed: int) -> None:
    layer = random_layer(seed)
    packing = PackedLayout(4 if layer.kind == "int4" else 8, layer.inputs, layer.groups)
    assert packing.width * 8 >= packing.num_inputs * packing.bits
    for rows in (1, 16, 17, 33, 65, 300):
        for outputs in (1, 64, 4096, 200_000):
            tile = choose_tile(packing, rows, outputs, num_processors=132)
            assert packing.block % tile.block == packing.width % tile.block == 0
            assert tile.block >= LEAST_BLOCK
            assert packing.is_mixed or packing.num_groups == 1 or not layer_splits(packing, tile)
            steps = packing.width // tile.block
            assert (tile.num_parts - 1) * -(-steps // tile.num_parts) < steps  # none is empty


def layer_splits(packing: PackedLayout, tile) -> bool:  # type: ignore[no-untyped-def]
    """Return whether a step has inputs of two groups."""
    starts = range(0, packing.width, tile.block)
    halves = (0, packing.width) if packing.bits == 4 else (0,)
    return any(
        (start + half) // packing.group_size
        != (start + half + tile.block - 1) // packing.group_size
        for start in starts
        for half in halves
    )


def test_a_decode_step_is_cut_until_it_fills_the_device() -> None:
    packing = PackedLayout(4, 4096, 32)
    assert choose_tile(packing, 1, 4096, 132).num_parts == 4
    assert choose_tile(packing, 1, 128_256, 132).num_parts == 1
    assert choose_tile(packing, 2048, 4096, 132).num_parts == 1
