"""Placement of requests on replicas, against a plain twin that walks every name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

import pytest

from yaie.kvcache.block_names import BLOCK_SIZE
from yaie.ray.radix_placement import Placement, RadixPlacement, ReplicaReport

SLOTS, TTL_S, USES_S = 64 * BLOCK_SIZE, 2.0, 6.0


def names_of(blocks: Sequence[int]) -> list[int]:
    """Return chained names, as a path has them."""
    chain = accumulate(blocks, lambda above, block: (above * 131 + block + 1) % 2**64, initial=1)
    return list(chain)[1:]


def closed(paths: Sequence[Sequence[int]]) -> set[int]:
    return {name for path in paths for name in names_of(path)}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Twin:
    """The rule, from sets and lists only."""

    def __init__(self) -> None:
        self.reports: dict[str, ReplicaReport] = {}
        self.foreign: dict[str, tuple[int, int]] = {}
        self.loads: dict[str, list[list[tuple[int, int]]]] = {}  # between reports, the last is open
        self.sent: list[tuple[int, str, set[int]]] = []  # period
        self.open: dict[str, tuple[str, int, int, list[int]]] = {}
        self.period, self.ends_s = 0, 0.0
        self.uses: list[tuple[int, list[int]]] = []  # period
        self.uses_period, self.uses_end_s = 0, 0.0

    def tick(self, now: float) -> None:
        if now >= self.uses_end_s:
            self.uses_period += 2 if now >= self.uses_end_s + USES_S else 1
            self.uses_end_s = now + USES_S
        if now < self.ends_s:
            return
        self.period += 2 if now >= self.ends_s + TTL_S else 1
        self.ends_s = now + TTL_S
        for replica, queued, _, names in self.open.values():
            if queued:
                self.sent.append((self.period, replica, set(names)))

    def load(self, replica: str) -> tuple[int, int]:
        """Return prompt tokens without a first token, and rows."""
        mine = [each for each in self.open.values() if each[0] == replica]
        return sum(each[2] for each in mine if each[1]), len(mine)

    def note_load(self, replica: str) -> None:
        self.loads.setdefault(replica, [[(0, 0)]])[-1].append(self.load(replica))

    def note_report(self, replica: str, report: ReplicaReport) -> None:
        lately = self.loads.setdefault(replica, [[(0, 0)]])
        seen = [load for part in lately[-2:] for load in part]
        self.foreign[replica] = (
            max(0, report.queued_tokens - max(tokens for tokens, _ in seen)),
            max(0, report.running_rows - max(rows for _, rows in seen)),
        )
        lately.append([self.load(replica)])
        self.reports[replica] = report

    def wait(self, replica: str, size: int) -> int:
        """Return queued tokens before a request of a size: no class has more than the request."""
        queued = [each[1] for each in self.open.values() if each[0] == replica and each[1]]
        total = self.foreign.get(replica, (0, 0))[0]
        for power in range(40):
            of_class = [each for each in queued if 2**power <= each < 2 ** (power + 1)]
            total += min(sum(of_class), len(of_class) * size)
        return total

    def own(self, names: list[int], missing: int, cached: int, num_replicas: int) -> float:
        """Return the missing tokens, each run of 128 divided among its uses."""
        total = float(missing)
        for end in range(8, len(names) + 1, 8):
            uses = sum(
                names[end - 1] in used
                for period, used in self.uses
                if period >= self.uses_period - 1
            )
            if not uses:
                break
            if end * BLOCK_SIZE > cached // 128 * 128:
                total -= 128 * uses / (num_replicas + uses)
        return total

    def cached(self, replica: str, names: list[int]) -> int:
        report = self.reports.get(replica)
        held = set(report.names) if report else set()
        for period, where, sent in self.sent:
            if where == replica and period >= self.period - 1:
                held |= sent
        count = 0
        for name in names:
            if name not in held:
                break
            count += 1
        return count * BLOCK_SIZE

    def rank(
        self, names: list[int], length: int, candidates: list[str], tried: set[str]
    ) -> list[Placement]:
        cached = {each: self.cached(each, names) for each in candidates}
        best = max(cached.values())

        def key(replica: str) -> tuple[bool, float, int]:
            report = self.reports.get(replica, ReplicaReport((), 0))
            held = len(set(report.names)) * BLOCK_SIZE
            fullness = min(1.0, held / report.num_slots) if report.num_slots else 0.0
            missing = length - cached[replica]
            rows = self.load(replica)[1] + self.foreign.get(replica, (0, 0))[1]
            own = self.own(names, missing, cached[replica], len(candidates))
            cost = self.wait(replica, missing) + 16.0 * rows + own * (1 + 7 * fullness)
            is_last = replica in tried or not report.ready
            return is_last, round(cost, 3), held

        return [
            Placement(
                each,
                "cold" if not best else "hit" if cached[each] == best else "load",
                cached[each],
            )
            for each in sorted(candidates, key=key)
        ]


@pytest.mark.parametrize("seed", range(30))
def test_every_decision_is_that_of_a_plain_twin(seed: int) -> None:
    rng, clock, twin = random.Random(seed), Clock(), Twin()
    placement = RadixPlacement(sent_ttl_s=TTL_S, uses_s=USES_S, clock=clock)
    replicas = [f"r{index}" for index in range(rng.choice([1, 2, 5, 70]))]
    hits = 0

    def path() -> list[int]:
        return [part for _ in range(rng.randrange(8)) for part in [rng.randrange(2)] * 4]

    for step in range(300):
        clock.now += rng.choice([0.0, 0.1, 0.7, 5.0])
        replica = rng.choice(replicas)
        match rng.choice(["rank", "rank", "rank", "report", "first", "end", "remove"]):
            case "rank":
                names = names_of(path())
                length = len(names) * BLOCK_SIZE + rng.randrange(1, BLOCK_SIZE)
                candidates = rng.sample(replicas, rng.randint(1, len(replicas)))
                tried = set(rng.sample(candidates, rng.randint(0, 1)))
                twin.tick(clock.now)
                ranked = placement.rank(names, length, candidates, tried)
                assert ranked == twin.rank(names, length, candidates, tried)
                hits += ranked[0].reason == "hit"
                placement.routed(f"q{step}", ranked[0], names, length)
                queued = length - ranked[0].cached_tokens
                twin.open[f"q{step}"] = (ranked[0].replica, queued, length, names)
                twin.sent.append((twin.period, ranked[0].replica, set(names)))
                twin.uses.append((twin.uses_period, names))
                twin.note_load(ranked[0].replica)
            case "report":
                held = closed([path() for _ in range(rng.randrange(6))])
                load = rng.randrange(200), rng.randrange(9)
                report = ReplicaReport(held, SLOTS, *load, ready=rng.random() < 0.9)
                twin.note_report(replica, report)
                placement.report(replica, report)
            case "first" if twin.open:
                request_id = rng.choice(list(twin.open))
                where, queued, length, names = twin.open[request_id]
                twin.open[request_id] = where, 0, length, names
                if queued:
                    twin.tick(clock.now)
                    twin.sent.append((twin.period, where, set(names)))
                placement.first_token(request_id)
            case "end" if twin.open:
                request_id = rng.choice(list(twin.open))
                del twin.open[request_id]
                placement.completed(request_id)
            case "remove" if rng.random() < 0.3:
                twin.reports.pop(replica, None)
                twin.foreign.pop(replica, None)
                twin.loads.pop(replica, None)
                twin.sent = [each for each in twin.sent if each[1] != replica]
                twin.open = {key: each for key, each in twin.open.items() if each[0] != replica}
                placement.remove(replica)
            case _:
                pass
    assert hits > 5


def test_a_sent_prompt_counts_as_held_until_it_can_be_reported() -> None:
    clock = Clock()
    placement = RadixPlacement(sent_ttl_s=TTL_S, clock=clock)
    names = names_of(range(9))
    length = len(names) * BLOCK_SIZE + 1

    def cached() -> int:
        return placement.rank(names, length, ["a"])[0].cached_tokens

    assert cached() == 0
    placement.routed("q", placement.rank(names, length, ["a", "b"])[0], names, length)
    for _ in range(9):  # it waits
        clock.now += TTL_S
        assert cached() == length - 1
    placement.first_token("q")
    placement.completed("q")
    clock.now += TTL_S
    assert cached() == length - 1
    clock.now += 2 * TTL_S
    assert cached() == 0  # no report has confirmed it


def test_cold_prompts_go_to_the_emptiest_replica() -> None:
    placement = RadixPlacement()
    for replica, paths in (("full", 8), ("half", 4), ("empty", 0)):
        held = closed([[index, *range(9)] for index in range(paths)])
        placement.report(replica, ReplicaReport(held, SLOTS))
    ranked = placement.rank(names_of([99]), 40, ["full", "half", "empty"])
    assert [each.replica for each in ranked] == ["empty", "half", "full"]
    assert {each.reason for each in ranked} == {"cold"}


def test_an_old_group_moves_to_a_fresh_replica_when_its_own_is_busy() -> None:
    placement = RadixPlacement()
    group = names_of(range(40))
    length = len(group) * BLOCK_SIZE
    placement.report("old", ReplicaReport(closed([list(range(40))]), SLOTS))
    candidates = ["old", "fresh"]
    assert placement.rank(group, length, candidates)[0] == ("old", "hit", length)
    placement.report("old", ReplicaReport(closed([list(range(40))]), SLOTS, queued_tokens=800))
    assert placement.rank(group, length, candidates)[0] == ("fresh", "load", 0)
    # On a replica that is full, a miss evicts: the request waits.
    other = closed([[each, *range(9)] for each in range(7)])
    placement.report("fresh", ReplicaReport(other, SLOTS))
    assert placement.rank(group, length, candidates)[0].replica == "old"


def test_a_replica_that_failed_or_is_not_ready_comes_last() -> None:
    placement = RadixPlacement()
    names = names_of(range(20))
    placement.report("starting", ReplicaReport(names, SLOTS, ready=False))
    placement.report("failed", ReplicaReport(names, SLOTS))
    placement.report("busy", ReplicaReport((), SLOTS, queued_tokens=10**6))
    ranked = placement.rank(names, 400, ["starting", "failed", "busy"], tried={"failed"})
    assert ranked[0].replica == "busy"
    assert len(ranked) == 3


def test_the_load_of_a_request_ends_however_it_ends() -> None:
    placement = RadixPlacement(clock=Clock())
    names: list[int] = []

    def spread() -> set[str]:
        """Send two prompts that no replica holds; even replicas share them."""
        chosen = set()
        for request_id in ("x", "y"):
            best = placement.rank(names, 100, ["a", "b"])[0]
            placement.routed(request_id, best, names, 100)
            chosen.add(best.replica)
        return chosen

    assert spread() == {"a", "b"}
    for end in (placement.completed, placement.first_token, placement.completed):
        for request_id in ("x", "y", "unknown"):
            end(request_id)
    placement.routed("z", Placement("a", "cold", 0), names, 10**6)
    placement.remove("a")
    placement.completed("z")
    assert spread() == {"a", "b"}


def test_a_hit_waits_for_its_like_and_not_for_one_long_prompt() -> None:
    group, long = names_of(range(40)), names_of([99] * 625)
    length = len(group) * BLOCK_SIZE + 60
    for prompts, expected in (([10_000], "old"), ([60] * 60, "fresh")):
        placement = RadixPlacement(clock=Clock())
        placement.report("old", ReplicaReport(group, 10**6))
        for number, size in enumerate(prompts):
            waiting = long if size > 60 else []
            placement.routed(f"q{number}", Placement("old", "cold", 0), waiting, size)
        assert placement.rank(group, length, ["old", "fresh"])[0].replica == expected


def test_a_busy_prefix_spreads_and_a_conversation_stays() -> None:
    """Both miss 640 tokens on the other replica, where less waits; the prefix has more uses."""
    for uses, expected in ((1, "old"), (60, "other")):
        placement = RadixPlacement(clock=Clock())
        names = names_of(range(40))
        placement.report("old", ReplicaReport(names, 10**6))
        for number in range(uses):
            placement.routed(f"q{number}", Placement("old", "hit", 640), names, 660)
            placement.completed(f"q{number}")
        for number in range(2):
            placement.routed(f"w{number}", Placement("old", "cold", 0), [], 200)
        assert placement.rank(names, 660, ["old", "other"])[0].replica == expected


def test_a_late_report_does_not_bring_back_a_request_that_has_ended() -> None:
    placement = RadixPlacement(clock=Clock())
    names = names_of(range(8))
    placement.report("a", ReplicaReport(names, SLOTS))
    placement.routed("q", Placement("a", "hit", 128), names, 140)
    placement.completed("q")
    placement.report("a", ReplicaReport(names, SLOTS, queued_tokens=140, running_rows=50))
    assert placement.rank(names, 140, ["a", "b"])[0].replica == "b"  # 49 rows of other routers
    placement.report("a", ReplicaReport(names, SLOTS, queued_tokens=140, running_rows=1))
    assert placement.rank(names, 140, ["a", "b"])[0].replica == "a"
