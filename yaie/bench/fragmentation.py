"""Lengths of consecutive slot runs while sequences come and go in a full pool.

Kernels stream a run and gather scattered slots, so long runs are faster. The churn resembles a busy
service: dozens of sequences grow at once, prompts share prefixes, and every new token evicts an old
token. Part of `yaie bench tree`, without model or torch.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from yaie.kvcache.node import Cursor, Tokens
from yaie.kvcache.radix_tree import RadixTree

_NAMESPACE = "bench"
_SHORT_RUN = 16  # slots; less than a kernel reads at once


@dataclass(frozen=True, slots=True)
class Churn:
    """The workload: its requests, their lengths and the pool."""

    num_slots: int = 65_536
    num_live: int = 32
    num_requests: int = 4_000
    num_prefixes: int = 24
    prefix_len: int = 512
    own_len: tuple[int, int] = (16, 1_024)
    output_len: tuple[int, int] = (16, 384)

    def scaled(self, scale: float) -> Churn:
        """Return the churn with fewer requests and a smaller pool."""
        return Churn(
            num_slots=max(int(self.num_slots * scale), 8_192),
            num_live=8 if scale < 1 else self.num_live,
            num_requests=max(int(self.num_requests * scale), 50),
            num_prefixes=4 if scale < 1 else self.num_prefixes,
            prefix_len=128 if scale < 1 else self.prefix_len,
            own_len=(16, 256) if scale < 1 else self.own_len,
            output_len=(16, 96) if scale < 1 else self.output_len,
        )


def measure_fragmentation(churn: Churn, seed: int = 1) -> dict[str, Any]:
    """Measure the slot runs of ended sequences in the second half of the churn."""
    tree = RadixTree(churn.num_slots)
    rng = Random(seed)
    numbers = np.random.default_rng(seed)
    prefixes = [_tokens(numbers, churn.prefix_len) for _ in range(churn.num_prefixes)]
    live: list[tuple[Cursor, int]] = []  # and the number of tokens it still grows by
    runs: list[int] = []
    num_paths = started = ended = 0
    while ended < churn.num_requests:
        while len(live) < churn.num_live and started < churn.num_requests:
            own = _tokens(numbers, rng.randint(*churn.own_len))
            prompt = np.concatenate([rng.choice(prefixes), own])
            cursor = tree.open(_NAMESPACE, prompt)
            _compute(tree, cursor)
            live.append((cursor, rng.randint(*churn.output_len)))
            started += 1
        growing = []
        for cursor, left in live:
            if left:
                tree.append(cursor, int(numbers.integers(150_000)))
                _compute(tree, cursor)
                growing.append((cursor, left - 1))
                continue
            ended += 1
            if ended > churn.num_requests // 2:
                runs += path_runs(tree, cursor)
                num_paths += 1
            tree.close(cursor)
        live = growing
    free = [length for _, length in tree.allocator.extents]
    return {
        "requests": churn.num_requests,
        "slots": churn.num_slots,
        "evicted_tokens": tree.num_evicted_tokens,
        "runs_per_sequence": round(len(runs) / num_paths, 2),
        "mean_run": round(statistics.fmean(runs), 1),
        "tokens_in_short_runs": round(sum(r for r in runs if r < _SHORT_RUN) / sum(runs), 4),
        "free_extents": len(free),
        "largest_free_share": round(max(free, default=0) / max(sum(free), 1), 3),
    }


def path_runs(tree: RadixTree, cursor: Cursor) -> list[int]:
    """Return the lengths of consecutive slot runs on a sequence's path, across nodes."""
    runs: list[int] = []
    end = -1
    for node in tree.path(cursor):
        for start, length in node.extent_list():
            if start == end:
                runs[-1] += length
            else:
                runs.append(length)
            end = start + length
    return runs


def _compute(tree: RadixTree, cursor: Cursor) -> None:
    for node in tree.path(cursor):
        if node.num_computed < len(node.tokens):
            tree.mark_computed(node, len(node.tokens))


def _tokens(numbers: np.random.Generator, length: int) -> Tokens:
    return numbers.integers(0, 150_000, length, dtype=np.int32)
