"""Random operations on the tree and on the plain model: `python -m tests.kvcache.fuzz`.

Prints one line of JSON. Ends with status 1 if any seed failed; each failure names the seed and
the operation, and `--first-seed SEED --seeds 1` with the same operations repeats it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from yaie.base.errors import InvariantViolated

from .model import Key
from .pair import Mismatch, Pair

POLICIES = ("adaptive", "lru")
_OPERATIONS = {
    "append": 40,
    "open": 14,
    "fork": 3,
    "draft": 10,
    "mark": 16,
    "close": 8,
    "preempt": 3,
    "resume": 4,
    "evict": 5,
    "clear": 0.3,
    "match": 6,
    "advance": 4,
}


@dataclass
class Outcome:
    """The operations of one seed, and its first fault."""

    seed: int
    operations: int = 0
    refused: int = 0
    evicted_tokens: int = 0
    evicted_nodes: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    error: str | None = None
    caught_by: str | None = None


class Fuzzer:
    """The random choices of one seed."""

    def __init__(self, seed: int, check_every: int) -> None:
        self.random = random.Random(seed)
        num_slots = self.random.choice((4, 12, 24, 40, 64))
        self.pair = Pair(num_slots, self.random.choice(POLICIES), check_every)
        self.alphabet = self.random.choice((2, 2, 3, 5))
        self.namespaces = ["", "tenant", "adapter"][: self.random.choice((1, 1, 2, 3))]
        self.max_live = self.random.choice((1, 3, 6, 10))
        self.longest = max(2, num_slots // self.random.choice((1, 2, 4)))
        self.preempted: list[Key] = []
        self.by_kind: Counter[str] = Counter()

    def run(self, operations: int) -> None:
        kinds = self.random.choices(
            list(_OPERATIONS), weights=list(_OPERATIONS.values()), k=operations
        )
        for kind in kinds:
            self.by_kind[kind] += 1
            getattr(self, f"_{kind}")()
        self.pair.compare_all()

    def _tokens(self, length: int) -> bytes:
        return bytes(self.random.randrange(self.alphabet) for _ in range(length))

    def _prompt(self) -> Key:
        """Return a new path, or a cached one, often cut and continued differently."""
        namespace = self.random.choice(self.namespaces)
        path = b""
        if self.pair.model.held and self.random.random() < 0.7:
            # Now and then another namespace: equal tokens there must not be found.
            owner, path = self.random.choice(list(self.pair.model.held))
            namespace = owner if self.random.random() < 0.8 else namespace
            path = path[: self.random.randint(0, len(path))] if self.random.random() < 0.5 else path
        return namespace, path + self._tokens(self.random.randint(0, self.longest))

    def _live(self) -> int | None:
        live = self.pair.model.live
        return self.random.choice(list(live)) if live else None

    def _open(self) -> None:
        if len(self.pair.model.live) < self.max_live:
            self.pair.open(*self._prompt())
        else:
            self._match()

    def _fork(self) -> None:
        number = self._live()
        if number is not None and len(self.pair.model.live) < self.max_live:
            self.pair.fork(number)

    def _append(self) -> None:
        number = self._live()
        if number is None:
            self._open()
        elif not self.pair.append(number, self.random.randrange(self.alphabet)):
            self._preempt()

    def _draft(self) -> None:
        ahead = self._live()
        if ahead is not None and len(self.pair.model.live) < self.max_live:
            namespace, path = self.pair.model.live[ahead]
            self.pair.open(namespace, path[: -self.random.randint(1, 3)])  # it may catch up
        guesses: dict[int, tuple[bytes, int]] = {}
        for number, (_, path) in self.pair.model.live.items():
            if self.random.random() < 0.7:  # as before most steps with drafts
                self.pair.mark(number, len(path))
            tokens = self._tokens(self.random.choice((0, 1, 3, self.longest)))
            guesses[number] = tokens, self.random.choice((0, 1, len(tokens)))
        self.pair.draft(guesses)

    def _mark(self) -> None:
        number = self._live()
        if number is None:
            self._open()
            return
        length = len(self.pair.model.live[number][1])
        whole = self.random.random() < 0.6
        self.pair.mark(number, length if whole else self.random.randint(0, length))

    def _close(self) -> None:
        number = self._live()
        if number is not None:
            self.pair.close(number)

    def _preempt(self) -> None:
        number = self._live()
        if number is not None:
            self.preempted.append(self.pair.close(number))

    def _resume(self) -> None:
        if self.preempted and len(self.pair.model.live) < self.max_live:
            self.pair.open(*self.preempted.pop(self.random.randrange(len(self.preempted))))

    def _evict(self) -> None:
        self.pair.evict(self.random.randint(0, max(1, self.pair.tree.num_slots // 4)))

    def _clear(self) -> None:
        self.pair.evict(self.pair.tree.num_slots)

    def _match(self) -> None:
        self.pair.match(*self._prompt())

    def _advance(self) -> None:
        self.pair.advance(self.random.randint(1, 50))


def run_seed(seed: int, operations: int, check_every: int = 1) -> Outcome:
    """Run one seed to its end or to its first fault."""
    fuzzer = Fuzzer(seed, check_every)
    outcome = Outcome(seed)
    try:
        fuzzer.run(operations)
    except Mismatch as error:
        outcome.caught_by, outcome.error = "oracle", str(error)
    except InvariantViolated as error:
        outcome.caught_by, outcome.error = "check", error.message
    except Exception as error:  # a crash is a finding too; the report must name its seed
        outcome.caught_by, outcome.error = "crash", f"{type(error).__name__}: {error}"
    outcome.operations = fuzzer.pair.num_operations
    outcome.refused = fuzzer.pair.num_refused
    outcome.evicted_tokens = fuzzer.pair.tree.num_evicted_tokens
    outcome.evicted_nodes = fuzzer.pair.tree.num_evicted_nodes
    outcome.by_kind = fuzzer.by_kind
    return outcome


def summarise(outcomes: list[Outcome], elapsed_s: float) -> dict[str, object]:
    by_kind: Counter[str] = Counter()
    for outcome in outcomes:
        by_kind += outcome.by_kind
    return {
        "seeds": len(outcomes),
        "operations": sum(by_kind.values()),
        "by_kind": dict(sorted(by_kind.items())),
        "refused": sum(outcome.refused for outcome in outcomes),
        "evicted_nodes": sum(outcome.evicted_nodes for outcome in outcomes),
        "evicted_tokens": sum(outcome.evicted_tokens for outcome in outcomes),
        "elapsed_s": round(elapsed_s, 1),
        "failures": [
            {
                "seed": outcome.seed,
                "operation": outcome.operations,
                "caught_by": outcome.caught_by,
                "error": outcome.error,
            }
            for outcome in outcomes
            if outcome.error is not None
        ],
    }


def run(
    seeds: int, operations: int, *, first_seed: int = 0, check_every: int = 8, processes: int = 0
) -> dict[str, object]:
    """Run `operations` in all, spread over seeds and processes (0: one a core)."""
    begin = time.perf_counter()
    per_seed = [operations // seeds + (i < operations % seeds) for i in range(seeds)]
    numbers = range(first_seed, first_seed + seeds)
    processes = processes or os.cpu_count() or 1
    if processes == 1:
        outcomes = [run_seed(n, k, check_every) for n, k in zip(numbers, per_seed, strict=True)]
    else:
        with ProcessPoolExecutor(processes) as executor:
            outcomes = list(executor.map(run_seed, numbers, per_seed, [check_every] * seeds))
    return summarise(outcomes, time.perf_counter() - begin)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kvcache.fuzz", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--operations", type=int, default=1_000_000, help="over all seeds")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--check-every", type=int, default=8, help="audit every k-th operation")
    parser.add_argument("--processes", type=int, default=0, help="0: as many as there are cores")
    given = parser.parse_args(arguments)
    summary = run(
        given.seeds,
        given.operations,
        first_seed=given.first_seed,
        check_every=given.check_every,
        processes=given.processes,
    )
    sys.stdout.write(json.dumps(summary) + "\n")
    return 1 if summary["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
