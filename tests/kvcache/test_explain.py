"""Explanations of look-ups, against a record of every prefix that a tree ever held."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest

from tests.kvcache.paths import compute, hold, open_path
from yaie.base.queries import Explanation
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.eviction_log import EvictionLog
from yaie.kvcache.explain import explain
from yaie.kvcache.node import Cursor, Node
from yaie.kvcache.node_states import NodeStates
from yaie.kvcache.radix_tree import RadixTree

Prefix = tuple[int, ...]


class Record:
    """A plain twin: the prefixes that each namespace holds, and all that were evicted."""

    def __init__(self, tree: RadixTree) -> None:
        self.tree = tree
        self.known: dict[Hashable, set[Prefix]] = {}
        self.computed: dict[Hashable, set[Prefix]] = {}
        self.evicted: dict[tuple[Hashable, Prefix], int] = {}  # clock of the last time

    def note(self) -> None:
        """Read the whole tree; what was computed and is gone was evicted."""
        before = self.computed
        self.known, self.computed = {}, {}
        for namespace, root in self.tree.roots.items():
            self.known[namespace], self.computed[namespace] = set(), set()
            self._read(namespace, root, ())
        for namespace, prefixes in before.items():
            for prefix in prefixes - self.computed.get(namespace, set()):
                self.evicted[namespace, prefix] = self.tree.clock

    def _read(self, namespace: Hashable, node: Node, path: Prefix) -> None:
        for number, token in enumerate(node.tokens):
            path = (*path, token)
            self.known[namespace].add(path)
            if number < node.num_computed:
                self.computed[namespace].add(path)
        for child in (node.children or {}).values():
            self._read(namespace, child, path)

    def length(self, held: dict[Hashable, set[Prefix]], namespace: Hashable, prompt: Prefix) -> int:
        length = 0
        while length < len(prompt) and prompt[: length + 1] in held.get(namespace, ()):
            length += 1
        return length

    def check(self, namespace: Hashable, prompt: Prefix, elsewhere: list[Hashable]) -> str | None:
        """Compare the tree's explanation with that of the record; return the cause."""
        found = explain(self.tree, namespace, prompt, elsewhere=elsewhere, num_shown=3)
        known = self.length(self.known, namespace, prompt)
        held = self.length(self.computed, namespace, prompt)
        others = [self.length(self.computed, o, prompt) for o in elsewhere if o != namespace]
        reach = known
        while reach < len(prompt) and (namespace, prompt[: reach + 1]) in self.evicted:
            reach += 1
        assert (found.num_held, found.num_known) == (held, known)
        assert found.num_held_elsewhere == max(others, default=0)
        if reach > known:
            assert found.eviction is not None
            assert found.eviction.num_tokens == reach - known
            assert found.eviction.clock == self.evicted[namespace, prompt[: known + 1]]
        else:
            assert found.eviction is None
        reaches = {
            "not_computed_yet": known,
            "evicted": reach if reach > known else 0,
            "other_namespace": max(others, default=0),
        }
        cause, goal = None, len(prompt) - 1
        if held < goal:
            best = max(reaches.values())
            cause = next(name for name, length in reaches.items() if length == best)
            missing = goal - held
            if 2 * (min(best, goal) - held) < missing:
                cause = "never_seen"
        assert found.cause == cause
        self._check_branches(namespace, prompt[:known], found)
        return cause

    def _check_branches(self, namespace: Hashable, prefix: Prefix, found: Explanation) -> None:
        for branch in found.held:
            assert 1 <= len(branch.token_ids) <= min(3, branch.num_tokens)
            assert (*prefix, *branch.token_ids) in self.known[namespace]


def random_history(seed: int, steps: int) -> set[str | None]:
    """Let sequences live and end in a small pool; return the causes that were met."""
    rng = random.Random(seed)
    tree = RadixTree(
        rng.choice([60, 120]), make_eviction_policy(rng.choice(["lru", "adaptive"]), 60)
    )
    record = Record(tree)
    names = ["a", "b"]
    stems = [tuple(rng.randrange(4) for _ in range(60)) for _ in range(3)]
    prompts: list[tuple[str, Prefix]] = []
    live: list[Cursor] = []
    causes: set[str | None] = set()

    def prompt() -> Prefix:
        if prompts and rng.random() < 0.6:
            base = rng.choice(prompts)[1]
        else:
            base = rng.choice(stems)[: rng.randrange(5, 40)]
        tail = tuple(rng.randrange(4) for _ in range(rng.randrange(20)))
        return base[: rng.randrange(1, len(base) + 1)] + tail

    for _ in range(steps):
        kind, name, tokens = rng.random(), rng.choice(names), prompt()
        if kind < 0.5 and tree.num_available >= len(tokens):
            cursor = open_path(tree, list(tokens), name)
            record.note()
            if rng.random() < 0.7:
                compute(tree, cursor)
                tree.advance(len(tokens))
            live.append(cursor)
            prompts.append((name, tokens))
        elif kind < 0.8 and live:
            record.note()
            tree.close(live.pop(rng.randrange(len(live))))
        elif kind < 0.9 and live and tree.num_available > 1:
            cursor = rng.choice(live)
            tree.append(cursor, rng.randrange(4))
        else:
            record.note()
            tree.evict(rng.randrange(1, 40))
        record.note()
        for _ in range(2):
            if prompts and rng.random() < 0.7:
                name, asked = rng.choice(prompts)
            else:
                name, asked = rng.choice(names), prompt()
            causes.add(record.check(name, asked, names))
    tree.check()
    return causes


def test_explanations_of_random_histories_are_those_of_a_plain_record() -> None:
    causes = set().union(*(random_history(seed, 60) for seed in range(8)))
    assert causes == {None, "not_computed_yet", "evicted", "other_namespace", "never_seen"}


@pytest.mark.slow
def test_explanations_of_a_thousand_histories() -> None:
    for seed in range(1000):
        random_history(seed, 40)


def test_an_eviction_is_told_with_its_time_and_reason() -> None:
    tree = RadixTree(64)
    hold(tree, list(range(40)))
    tree.advance(40)
    tree.evict(10)
    tree.advance(5)
    found = explain(tree, "", range(40))
    assert found.cause is not None and found.eviction is not None
    assert (found.num_held, found.cause) == (30, "evicted")
    assert (found.eviction.num_tokens, found.eviction.clock) == (10, 40)
    assert (found.eviction.reason, found.clock) == ("capacity", 45)
    tree.clear()
    again = explain(tree, "", range(40)).eviction
    assert again is not None and again.num_tokens == 40
    assert (again.clock, again.reason) == (45, "flushed")


def test_a_shared_header_is_no_cause() -> None:
    tree = RadixTree(200)
    hold(tree, list(range(100)), "other")
    assert explain(tree, "", [*range(24), *[7] * 26], elsewhere=["other"]).cause == "never_seen"
    found = explain(tree, "", [*range(25), *[7] * 25], elsewhere=["other"])
    assert (found.cause, found.num_held_elsewhere) == ("other_namespace", 25)
    assert explain(tree, "", range(9), elsewhere=["other"]).cause == "other_namespace"
    assert explain(tree, "", range(9)).cause == "never_seen"  # without leave to look there


def test_tokens_elsewhere_count_up_to_a_state() -> None:
    tree = RadixTree(100)
    tree.states = NodeStates(4)
    hold(tree, list(range(40)), "other")
    assert explain(tree, "", range(40), elsewhere=["other"]).num_held_elsewhere == 0
    (node,) = tree.nodes()
    tree.states.keep(node, 30, tree.states.take())
    found = explain(tree, "", range(40), elsewhere=["other"])
    assert (found.num_held_elsewhere, found.cause) == (30, "other_namespace")


def test_a_missing_state_is_the_cause_once_all_known_tokens_are_computed() -> None:
    """Until then another request computes the rest, so `num_known` are held tokens."""
    tree = RadixTree(100)
    tree.states = NodeStates(4)
    cursor = open_path(tree, list(range(40)))
    assert cursor.node is not None
    for computed in range(40):
        cursor.node.num_computed = computed
        found = explain(tree, "", range(50))
        assert (found.num_held, found.num_known, found.cause) == (0, 40, "not_computed_yet")
    compute(tree, cursor)
    found = explain(tree, "", range(50))
    assert (found.num_held, found.num_known, found.cause) == (0, 40, "no_state")


def test_held_continuations_are_shown_by_latest_use() -> None:
    tree = RadixTree(100)
    for number in range(6):
        hold(tree, [1, 2, 10 + number, 5, 6, 7])
        tree.advance(6)
    found = explain(tree, "", [1, 2, 99], num_shown=2)
    assert [branch.token_ids for branch in found.held] == [(15, 5), (14, 5), (13, 5), (12, 5)]
    assert [branch.num_tokens for branch in found.held] == [4, 4, 4, 4]
    assert explain(tree, "", [1, 2, 10, 5, 99], num_shown=9).held[0].token_ids == (6, 7)
    assert explain(tree, "", [1, 2, 99]).held == ()


def test_the_memory_of_evicted_branches_is_bounded() -> None:
    tree = RadixTree(1000)
    tree.evicted = EvictionLog(tree.ghosts, most_bytes=20_000)
    for number in range(500):
        hold(tree, [number, *range(100, 130)])
        tree.clear()
        assert tree.evicted.num_bytes <= 20_000
    assert 40 < len(tree.evicted) < 60
    assert explain(tree, "", [499, *range(100, 130)]).cause == "evicted"
    assert explain(tree, "", [0, *range(100, 130)]).cause == "never_seen"
    tree.evicted.clear()
    assert tree.evicted.num_bytes == len(tree.evicted) == 0
