"""The reference backend against attention written out row by row in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.attention.dense import dense_attention
from tests.attention.trees import RandomTree
from yaie.attention import segment_tiles
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.registry import choose_backend
from yaie.attention.spec import AttentionSpec

PLAIN = {"num_heads": 4, "num_kv_heads": 2, "key_width": 8, "value_width": 8, "scale": 0.35}
FEATURES = {
    "plain": PLAIN,
    "one KV head per head": {**PLAIN, "num_kv_heads": 4},
    "one KV head": {**PLAIN, "num_kv_heads": 1},
    "wide keys": {**PLAIN, "key_width": 24, "value_width": 6},
    "window": {**PLAIN, "sliding_window": 9},
    "window of one": {**PLAIN, "sliding_window": 1},
    "softcap": {**PLAIN, "softcap": 2.0},
    "sinks": {**PLAIN, "has_sinks": True},
    "all at once": {
        **PLAIN,
        "value_width": 5,
        "sliding_window": 13,
        "softcap": 3.0,
        "has_sinks": True,
    },
}


def compare(
    plan: StepPlan, spec: AttentionSpec, device: str = "cpu", num_slots: int = 1024
) -> None:
    generator = torch.Generator().manual_seed(plan.num_rows)

    def random_tensor(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 2

    queries = random_tensor(plan.num_rows, spec.num_heads, spec.key_width)
    keys = random_tensor(num_slots, spec.num_kv_heads, spec.key_width)
    values = random_tensor(num_slots, spec.num_kv_heads, spec.value_width)
    sinks = random_tensor(spec.num_heads) if spec.has_sinks else None
    target = torch.device(device)
    step = choose_backend(target, "reference").prepare(plan, target)
    got = step.attend(
        spec,
        queries.to(target),
        keys.to(target),
        values.to(target),
        None if sinks is None else sinks.to(target),
    )
    expected = dense_attention(plan, spec, queries, keys, values, sinks=sinks)
    torch.testing.assert_close(got.cpu().double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("seed", range(6))
def test_random_trees(feature: str, seed: int) -> None:
    spec = AttentionSpec(layer=0, **FEATURES[feature])  # type: ignore[arg-type]
    compare(RandomTree(seed).plan(), spec)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("feature", ["plain", "all at once"])
def test_tiny_tiles(monkeypatch: pytest.MonkeyPatch, feature: str, seed: int) -> None:
    """Limits so small that every segment is cut and every batch split."""
    monkeypatch.setattr(segment_tiles, "ROWS_IN_TILE", 3)
    monkeypatch.setattr(segment_tiles, "SCORES_IN_TILE", 12)
    monkeypatch.setattr(segment_tiles, "LEAST_KEYS_IN_TILE", 2)
    monkeypatch.setattr(segment_tiles, "MOST_KEYS_IN_TILE", 5)
    monkeypatch.setattr(segment_tiles, "BATCHED_SCORES", 8)
    monkeypatch.setattr(segment_tiles, "BATCHED_KEYS", 64)
    spec = AttentionSpec(layer=0, **FEATURES[feature])  # type: ignore[arg-type]
    compare(RandomTree(seed).plan(), spec)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    plan = RandomTree(3).plan()
    spec = AttentionSpec(layer=0, **PLAIN)  # type: ignore[arg-type]
    queries = torch.randn(plan.num_rows, 4, 8).to(dtype)
    keys, values = torch.randn(1024, 2, 8).to(dtype), torch.randn(1024, 2, 8).to(dtype)
    device = torch.device("cpu")
    got = (
        choose_backend(device, "reference")
        .prepare(plan, device)
        .attend(spec, queries, keys, values, None)
    )
    assert got.dtype == dtype
    exact = dense_attention(plan, spec, queries, keys, values, sinks=None)
    # A sum near 0 is as exact as its terms.
    torch.testing.assert_close(got, exact.to(dtype), atol=1e-6, rtol=2 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("window", [None, 7])
@pytest.mark.parametrize("fold", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_tiles_hold_each_visible_key_of_each_row_once(
    seed: int, fold: float, window: int | None
) -> None:
    plan = RandomTree(seed, fold=fold).plan()
    seen: list[set[int]] = [set() for _ in range(plan.num_rows)]
    for tile in segment_tiles.make_tiles(plan, window):
        assert len(set(tile.rows.ravel().tolist())) == tile.rows.size
        for rows, positions in zip(tile.rows, tile.key_positions, strict=True):
            for row in rows.tolist():
                at = int(plan.positions[row])
                low = 0 if window is None else at - window + 1
                visible = [int(p) for p in positions if low <= p <= at]
                assert tile.needs_mask or len(visible) == len(positions)
                assert not seen[row] & set(visible)
                seen[row] |= set(visible)
    for row, found in enumerate(seen):
        at = int(plan.positions[row])
        assert found == set(range(0 if window is None else max(0, at - window + 1), at + 1))


def long_prefill(rows: int, keys: int) -> StepPlan:
    """Plan the last `rows` of one sequence of `keys` tokens."""
    slots = np.arange(keys, dtype=np.int64)
    own = slots[keys - rows :]
    return StepPlan(
        token_ids=np.zeros(rows, dtype=np.int64),
        positions=own,
        slots=own,
        written_rows=np.arange(rows),
        logit_rows=np.arange(rows),
        segments=(Segment(slots, 0, 0, rows, level=0),),
        kv_tokens_read=keys,
        kv_tokens_unshared=keys,
    )


def test_a_long_prefill_is_cut_into_bounded_tiles() -> None:
    made = segment_tiles.make_tiles(long_prefill(rows=2048, keys=32_768), None)
    assert max(tile.rows.size * tile.slots.size for tile in made) <= segment_tiles.SCORES_IN_TILE
    assert max(tile.slots.size for tile in made) <= segment_tiles.MOST_KEYS_IN_TILE
    masked = sum(tile.rows.size * tile.slots.size for tile in made if tile.needs_mask)
    assert masked <= 2 * 2048 * segment_tiles.LEAST_KEYS_IN_TILE  # only around the diagonal


def test_keys_outside_the_window_are_never_read() -> None:
    made = segment_tiles.make_tiles(long_prefill(rows=1, keys=32_768), 128)
    assert sum(tile.slots.size for tile in made) == 128
    assert not any(tile.needs_mask for tile in made)


def test_many_short_segments_become_few_tiles() -> None:
    """A decode step of 64 sequences behind one prefix costs two tiles, not 65."""
    rows = np.arange(64, dtype=np.int64)
    own = tuple(
        Segment(1000 + row * 10 + np.arange(10), 500, row, row + 1, level=1) for row in range(64)
    )
    plan = StepPlan(
        token_ids=rows,
        positions=np.full(64, 509),
        slots=1000 + rows * 10 + 9,
        written_rows=rows,
        logit_rows=rows,
        segments=(Segment(np.arange(500), 0, 0, 64, level=0), *own),
        kv_tokens_read=0,
        kv_tokens_unshared=0,
    )
    assert len(segment_tiles.make_tiles(plan, None)) == 2
    compare(plan, AttentionSpec(layer=0, **PLAIN), num_slots=2048)  # type: ignore[arg-type]
