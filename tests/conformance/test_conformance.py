"""Every supported architecture against transformers' own eager forward, in float32.

Each test is one way in which a paged, packed, shared batch can go wrong where a single padded
sequence does not. Plans come from a planner too simple to be wrong (`naive`).
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.conformance.case import VOCAB_SIZE
from tests.conformance.naive import NaiveCache
from tests.conformance.subject import NUM_SLOTS, TOLERANCE, Subject, close
from yaie.kvcache.pool import bytes_per_token
from yaie.models.architecture.layer_shapes import estimate_pool_shapes, pool_shapes


def run(subject: Subject, cache: NaiveCache, *sequences: list[int]) -> None:
    """Execute one step over these sequences; compare their last logits with the oracle's."""
    got = subject.executor.execute(cache.plan(sequences))
    expected = [subject.expected(path)[-1] for path in sorted({tuple(s) for s in sequences})]
    close(got, torch.stack(expected))


def test_the_oracle_depends_on_every_token(subject: Subject) -> None:
    """Proof that the tests below would notice a lost or misplaced key."""
    prompt = subject.tokens(40, seed=1)
    first = 0 if subject.case.reach is None else len(prompt) - 1 - subject.case.reach
    changed = []
    for index in range(first, len(prompt)):
        other = 3 + (prompt[index] - 3 + 17) % (VOCAB_SIZE - 3)
        changed.append([*prompt[:index], other, *prompt[index + 1 :]])
    logits = subject.expected_of_all([prompt, *changed])[:, -1]
    difference = (logits[1:] - logits[0]).abs().amax(-1)
    assert difference.min() > 20 * TOLERANCE, (
        f"token {first + int(difference.argmin())} hardly changes the logits"
    )


def test_alone(subject: Subject) -> None:
    tokens = subject.tokens(61, seed=2)
    plan = NaiveCache(NUM_SLOTS).plan([tokens], all_logits=True)
    close(subject.executor.execute(plan), subject.expected(tokens))


def test_ragged_batch(subject: Subject) -> None:
    lengths = (1, 2, 9, 33, 5, 17)
    sequences = [subject.tokens(length, seed) for seed, length in enumerate(lengths)]
    run(subject, NaiveCache(NUM_SLOTS, scattered=True), *sequences)


@pytest.mark.parametrize("chunk", [7, 32])
def test_chunked_prefill(subject: Subject, chunk: int) -> None:
    tokens = subject.tokens(61, seed=4)
    cache = NaiveCache(NUM_SLOTS)
    for end in (*range(chunk, len(tokens), chunk), len(tokens)):
        run(subject, cache, tokens[:end])


def test_decode(subject: Subject) -> None:
    cache = NaiveCache(NUM_SLOTS, scattered=True)
    sequences = [subject.tokens(length, length) for length in (3, 20, 41)]
    for _ in range(4):
        run(subject, cache, *sequences)
        for index, sequence in enumerate(sequences):
            sequence.append(5 + index)


def test_next_to_a_much_longer_neighbour(subject: Subject) -> None:
    short, long = subject.tokens(5, seed=6), subject.tokens(95, seed=7)
    run(subject, NaiveCache(NUM_SLOTS), short, long)


def test_joining_a_neighbour_far_ahead(subject: Subject) -> None:
    cache = NaiveCache(NUM_SLOTS)
    long = subject.tokens(90, seed=8)
    run(subject, cache, long)
    run(subject, cache, subject.tokens(6, seed=9), [*long, 11])


def test_prefix_hit(subject: Subject) -> None:
    cache = NaiveCache(NUM_SLOTS, scattered=True)
    first = subject.tokens(50, seed=10)
    run(subject, cache, first)
    rows = cache.plan([first[:30] + subject.tokens(12, seed=11)])
    assert rows.num_rows == 12
    cache.forget(first[:30] + subject.tokens(12, seed=11)[:1])
    run(subject, cache, first[:30] + subject.tokens(12, seed=11))


def test_whole_prompt_cached(subject: Subject) -> None:
    """Its last token is recomputed for the logits and not written again."""
    cache = NaiveCache(NUM_SLOTS)
    tokens = subject.tokens(45, seed=12)
    run(subject, cache, tokens)
    plan = cache.plan([tokens, tokens[:20]])
    assert plan.num_rows == 2
    assert len(plan.written_rows) == 0
    run(subject, cache, tokens, tokens[:20])


def test_after_eviction_and_recompute(subject: Subject) -> None:
    cache = NaiveCache(80, scattered=True)
    prompt = subject.tokens(60, seed=13)
    run(subject, cache, prompt)
    cache.forget(prompt[:25])  # its slots go to others
    run(subject, cache, subject.tokens(50, seed=14))
    cache.forget(())
    run(subject, cache, prompt)


def test_tree_of_branches(subject: Subject) -> None:
    """Tokens shared by all, by some and by one, computed in one step and then decoded."""
    cache = NaiveCache(NUM_SLOTS, scattered=True)
    trunk = subject.tokens(30, seed=15)
    boughs = [trunk + subject.tokens(13, seed=16), trunk + subject.tokens(4, seed=17)]
    leaves = [boughs[0] + subject.tokens(n, seed=20 + n) for n in (1, 6, 11)]
    leaves += [boughs[1] + subject.tokens(n, seed=30 + n) for n in (2, 7)]
    leaves.append(trunk[:11] + subject.tokens(9, seed=40))
    for step in range(3):
        run(subject, cache, *leaves)
        leaves = [[*leaf, 7 + step * 3 + index % 2] for index, leaf in enumerate(leaves)]
        leaves.append([*leaves[0][:-1], 99])


def test_step_without_logits(subject: Subject) -> None:
    tokens = subject.tokens(25, seed=50)
    cache = NaiveCache(NUM_SLOTS)
    plan = cache.plan([tokens])
    nothing = np.array([], dtype=np.int64)
    silent = type(plan)(
        **{name: getattr(plan, name) for name in plan.__dataclass_fields__}
        | {"logit_rows": nothing}
    )
    assert subject.executor.execute(silent).shape == (0, VOCAB_SIZE)
    run(subject, cache, [*tokens, 9])


def test_geometry_matches_the_config(subject: Subject) -> None:
    loaded = subject.loaded
    shapes = pool_shapes(loaded.specs)
    assert shapes == estimate_pool_shapes(loaded.model.config)
    assert loaded.metadata.kv_bytes_per_token == bytes_per_token(shapes, loaded.kv_dtype)
    assert loaded.num_slots * loaded.metadata.kv_bytes_per_token == subject.executor.pool.nbytes
