"""The cost model of attention: bytes counted by hand, and the choices that follow from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.attention.trees import RandomTree, decode_step
from yaie.attention.cost_model import (
    DeviceTraits,
    LayerTraffic,
    Method,
    MethodChoice,
    choose_attention,
)
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec

LLAMA_8B = AttentionSpec(
    layer=0, num_heads=32, num_kv_heads=8, key_width=128, value_width=128, scale=0.1
)
TRAFFIC = LayerTraffic.of(LLAMA_8B, itemsize=2)
H200 = DeviceTraits()


def choice_of(plan: StepPlan, device: DeviceTraits = H200) -> MethodChoice:
    return choose_attention(plan, {TRAFFIC: 1}, device)


def test_a_layer_moves_the_bytes_of_its_heads() -> None:
    assert TRAFFIC.key_bytes == 8 * 256 * 2
    assert TRAFFIC.partial_bytes == 2 * 32 * 129 * 4  # about the bytes of eight tokens


def test_bytes_are_those_of_rows_tiles_and_blocks() -> None:
    found = choice_of(decode_step(num_rows=64, shared=1000, own=24)).estimates
    own = 64 * 24 * TRAFFIC.key_bytes
    partials = 2 * 64 * TRAFFIC.partial_bytes
    shared = 1000 * TRAFFIC.key_bytes
    assert found["decode"].num_bytes == own + 64 * shared
    assert found["cascade"].num_bytes == own + 2 * shared + partials  # 32 rows a tile
    assert found["tree"].num_bytes == own + 4 * shared + partials  # 16 rows a block


@pytest.mark.parametrize(
    ("rows", "shared", "own", "expected"),
    [
        (1, 0, 4096, "decode"),  # one sequence: no launch to spare
        (256, 0, 1024, "decode"),  # nothing shared
        (2, 32, 1024, "decode"),  # too short for a second launch
        (64, 896, 128, "tree"),
        (256, 896, 128, "cascade"),  # its larger tiles read the prefix fewer times
        (512, 60_000, 128, "cascade"),
    ],
)
def test_choices(rows: int, shared: int, own: int, expected: Method) -> None:
    assert choice_of(decode_step(rows, shared, own)).method == expected


def test_a_prefix_pays_from_a_length_that_falls_with_the_rows() -> None:
    def break_even(rows: int) -> int:
        return next(
            keys
            for keys in range(0, 100_000, 16)
            if choice_of(decode_step(rows, keys, 64)).method != "decode"
        )

    lengths = [break_even(rows) for rows in (2, 8, 32)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 300
    assert lengths[0] > 3000


def test_a_large_cache_favours_reading_again() -> None:
    plan = decode_step(num_rows=8, shared=2000, own=64)
    small, large = (
        choice_of(plan, DeviceTraits(cache_bytes=size)).estimates["decode"].seconds
        for size in (0, 1 << 30)
    )
    assert large < small


def test_only_available_methods_are_chosen() -> None:
    plan = decode_step(64, 896, 128)
    found = choose_attention(plan, {TRAFFIC: 1}, H200, available=("decode",))
    assert found.method == "decode"
    assert list(found.estimates) == ["decode"]


def test_estimates_are_sums_over_layers() -> None:
    plan = decode_step(64, 896, 128)
    windowed = replace(TRAFFIC, window=100)
    one, other = (choose_attention(plan, {each: 1}, H200) for each in (TRAFFIC, windowed))
    both = choose_attention(plan, {TRAFFIC: 3, windowed: 2}, H200)
    for method, found in both.estimates.items():
        mine, others = one.estimates[method], other.estimates[method]
        assert found.num_bytes == 3 * mine.num_bytes + 2 * others.num_bytes
        assert found.num_launches == 3 * mine.num_launches + 2 * others.num_launches
        assert found.seconds == pytest.approx(3 * mine.seconds + 2 * others.seconds)


def test_a_window_hides_keys_and_forbids_a_cascade() -> None:
    """64 rows at position 1,023 see keys from 924 on, all of them their own."""
    plan = decode_step(num_rows=64, shared=896, own=128)
    found = choose_attention(plan, {replace(TRAFFIC, window=100): 1}, H200).estimates
    assert found["decode"].num_bytes == 64 * 100 * TRAFFIC.key_bytes
    assert found["cascade"] == found["decode"]
    assert found["tree"].num_bytes == 64 * (100 * TRAFFIC.key_bytes + TRAFFIC.partial_bytes)
    wide = choose_attention(plan, {replace(TRAFFIC, window=1024): 1}, H200)
    assert wide.estimates == choice_of(plan).estimates


def test_a_cascade_of_nothing_shared_is_decode() -> None:
    found = choice_of(decode_step(num_rows=5, shared=0, own=40)).estimates
    assert found["cascade"] == found["decode"]
    assert found["decode"].num_launches == 1


@pytest.mark.parametrize("seed", range(10))
def test_the_choice_is_the_cheapest(seed: int) -> None:
    found = choice_of(RandomTree(seed).plan())
    assert found.estimate.seconds == min(each.seconds for each in found.estimates.values())
    assert all(each.num_bytes > 0 for each in found.estimates.values())
