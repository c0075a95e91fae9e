"""Radix tree costs: match, insert, evict, explain, and memory beyond keys and values.

Times are medians of single operations on a tree of the named size, with Python's garbage collector
off while the clock runs. Memory covers a whole tree with its slot allocator, allocated by Python
and numpy, from tracemalloc. Runs without model or torch.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from yaie.bench.fragmentation import Churn, measure_fragmentation
from yaie.bench.machine import describe_machine
from yaie.kvcache.explain import explain
from yaie.kvcache.node import Cursor, Tokens
from yaie.kvcache.radix_tree import RadixTree

PROMPT_LEN = 8192
EXPLAINED_LEN = 100_000
VOCABULARY = 150_000
_NAMESPACE = "bench"
_LEAVES_BELOW_A_PROMPT = 500
_LEAF_LEN = 4


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value against its goal; smaller is better."""

    name: str
    value: float
    unit: str
    goal: float
    repeats: int

    def as_json(self) -> dict[str, Any]:
        """Return the measurement with `met`: True if it meets the goal."""
        return {
            "name": self.name,
            "value": round(self.value, 3),
            "unit": self.unit,
            "goal": self.goal,
            "met": self.value <= self.goal,
            "repeats": self.repeats,
        }


def measure_tree(
    *, quick: bool = False, scale: float = 1.0, note: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Measure every cost. `quick` skips the tree with 1,000,000 leaves.

    `scale` shrinks prompts, trees and repeats alike, for tests; the report marks such results,
    since they do not compare with the goals. `note` is called with a line after each measurement.
    """
    prompt_len = max(int(PROMPT_LEN * scale), 16)
    repeats = max(int(200 * scale), 5)
    evictions = max(int(2000 * scale), 5)
    leaves = max(int(100_000 * scale), 200)
    measurements: list[Callable[[], Figure]] = [
        lambda: measure_match(prompt_len, repeats),
        lambda: measure_insert(prompt_len, repeats),
        lambda: measure_evict(leaves, "evict_100k_leaves", goal=20.0, repeats=evictions),
        lambda: measure_evict(10 * leaves, "evict_1m_leaves", goal=30.0, repeats=evictions),
        lambda: measure_explain(max(int(EXPLAINED_LEN * scale), 100), repeats // 10),
        lambda: measure_explain(max(int(EXPLAINED_LEN * scale), 100), repeats // 10, evicted=True),
        lambda: measure_token_memory(prompt_len, prompts=max(int(256 * scale), 4)),
        lambda: measure_grown_token_memory(prompt_len // 4, sequences=max(int(256 * scale), 4)),
        lambda: measure_node_memory(leaves),
    ]
    if quick:
        del measurements[3]
    figures: list[Figure] = []
    for number, measure in enumerate(measurements, 1):
        figures.append(measure())
        note(f"{number} of {len(measurements) + 1}: {figures[-1].name}")
    churn = Churn() if scale == 1.0 else Churn().scaled(scale)
    fragmentation = measure_fragmentation(churn)
    note(f"{len(measurements) + 1} of {len(measurements) + 1}: fragmentation")
    return {
        "benchmark": "tree",
        "machine": describe_machine(),
        "prompt_len": prompt_len,
        "scaled": scale != 1.0,
        "figures": [figure.as_json() for figure in figures],
        "fragmentation": fragmentation,
        "all_met": all(figure.value <= figure.goal for figure in figures),
    }


def measure_match(prompt_len: int, repeats: int) -> Figure:
    """Time the look-up of a fully cached prompt among 63 others."""
    tree = RadixTree(64 * prompt_len)
    prompts = [_random_tokens(prompt_len, seed) for seed in range(64)]
    for prompt in prompts:
        _hold(tree, prompt)
    times = [_time_us(lambda p=prompts[i % 64]: tree.match(_NAMESPACE, p)) for i in range(repeats)]  # type: ignore[misc]
    assert tree.match(_NAMESPACE, prompts[0]).num_computed == prompt_len
    return Figure("match_8192_tokens", statistics.median(times), "us", 50.0, repeats)


def measure_insert(prompt_len: int, repeats: int) -> Figure:
    """Time the opening of a sequence for a new prompt, with free slots for it."""
    tree = RadixTree(64 * prompt_len)
    times = []
    for seed in range(repeats):
        prompt = _random_tokens(prompt_len, seed)
        opened: list[Cursor] = []
        times.append(
            _time_us(lambda p=prompt, o=opened: o.append(tree.open(_NAMESPACE, p)))  # type: ignore[misc]
        )
        _mark_path_computed(tree, opened[0])
        tree.close(opened[0])
        if tree.num_free < prompt_len:
            tree.clear()
    return Figure("insert_8192_tokens", statistics.median(times), "us", 150.0, repeats)


def measure_evict(leaves: int, name: str, *, goal: float, repeats: int) -> Figure:
    """Time evicting the least recently used of this many leaves."""
    tree = _tree_of_leaves(leaves)
    gc.collect()
    before = tree.num_evicted_tokens
    times = [_time_us(lambda: tree.evict(_LEAF_LEN)) for _ in range(repeats)]
    assert tree.num_evicted_tokens - before == repeats * _LEAF_LEN
    return Figure(name, statistics.median(times), "us", goal, repeats)


def measure_explain(prompt_len: int, repeats: int, *, evicted: bool = False) -> Figure:
    """Time explaining a long prompt with 400 branches along its path, cached or evicted.

    The goal is the longest acceptable delay for another request.
    """
    prompt = _random_tokens(prompt_len, 0)
    branches = [
        np.concatenate([prompt[:at], _random_tokens(_LEAF_LEN, at)])
        for at in range(1, prompt_len, max(prompt_len // 400, 1))
    ]
    tree = RadixTree(prompt_len + len(branches) * _LEAF_LEN)
    for tokens in (prompt, *branches):
        _hold(tree, tokens)
    if evicted:
        tree.evict(tree.num_cached)
    found = explain(tree, _NAMESPACE, prompt)
    assert found.cause == ("evicted" if evicted else None)
    repeats = max(repeats, 5)
    times = [_time_us(lambda: explain(tree, _NAMESPACE, prompt)) for _ in range(repeats)]
    name = f"explain_100k_tokens_{'evicted' if evicted else 'held'}"
    return Figure(name, statistics.median(times), "us", 50_000.0, repeats)


def measure_token_memory(prompt_len: int, prompts: int) -> Figure:
    """Measure bytes per token in a full pool of long prompts, tree and allocator together."""

    def build() -> RadixTree:
        tree = RadixTree(prompts * prompt_len)
        for seed in range(prompts):
            _hold(tree, _random_tokens(prompt_len, seed))
        return tree

    size, tree = _measure_allocation(build)
    value = size / (tree.num_slots - tree.num_free)
    return Figure("memory_per_held_token", value, "bytes", 16.0, 1)


def measure_grown_token_memory(length: int, sequences: int) -> Figure:
    """Measure the same for sequences that grew in turns, one token each, as in decoding."""

    def build() -> RadixTree:
        tree = RadixTree(sequences * (length + 8))
        cursors = [tree.open(_NAMESPACE, _random_tokens(8, seed)) for seed in range(sequences)]
        for position in range(length):
            for cursor in cursors:
                tree.append(cursor, position)
        for cursor in cursors:
            _mark_path_computed(tree, cursor)
            tree.close(cursor)
        return tree

    size, tree = _measure_allocation(build)
    value = size / (tree.num_slots - tree.num_free)
    return Figure("memory_per_grown_token", value, "bytes", 16.0, 1)


def measure_node_memory(leaves: int) -> Figure:
    """Measure bytes per node in a tree of short leaves, including tokens and allocator."""
    size, tree = _measure_allocation(lambda: _tree_of_leaves(leaves))
    return Figure("memory_per_node", size / tree.num_nodes, "bytes", 1024.0, 1)


def _tree_of_leaves(leaves: int) -> RadixTree:
    """Return a tree with prompts of 8 tokens, each with 500 cached continuations of 4 tokens."""
    prompts = -(-leaves // _LEAVES_BELOW_A_PROMPT)
    tree = RadixTree(leaves * _LEAF_LEN + prompts * 8)
    tokens = np.empty(8 + _LEAF_LEN, dtype=np.int32)
    for index in range(leaves):
        prompt, continuation = divmod(index, _LEAVES_BELOW_A_PROMPT)
        tokens[:8] = prompt
        tokens[8:] = continuation
        _hold(tree, tokens)
        tree.advance(1)
    return tree


def _hold(tree: RadixTree, tokens: Tokens) -> None:
    cursor = tree.open(_NAMESPACE, tokens)
    _mark_path_computed(tree, cursor)
    tree.close(cursor)


def _mark_path_computed(tree: RadixTree, cursor: Cursor) -> None:
    for node in tree.path(cursor):
        tree.mark_computed(node, len(node.tokens))


def _random_tokens(length: int, seed: int) -> Tokens:
    return np.random.default_rng(seed).integers(0, VOCABULARY, length, dtype=np.int32)


def _time_us(operation: Callable[[], object]) -> float:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        began = time.perf_counter_ns()
        operation()
        return (time.perf_counter_ns() - began) / 1000
    finally:
        if was_enabled:
            gc.enable()


def _measure_allocation(build: Callable[[], RadixTree]) -> tuple[int, RadixTree]:
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tree = build()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before, tree
