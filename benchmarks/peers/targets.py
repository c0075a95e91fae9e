"""YAIE's targets compared with its peers, and the verdict on a report.

Ratios of medians of one command, for the two models of `MODEL_SHAPES`: the best peer's time over
YAIE's. A peer counts if its weights are at least as precise. Pure; used by `report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.definitions import BITS

WALL, GAP, FIRST = "wall_s", "between_tokens_p50_s", "first_token_p50_s"
_NAMES = {WALL: "wall time", GAP: "between tokens", FIRST: "first token"}


@dataclass(frozen=True, slots=True)
class Target:
    """The ratio to reach (`at_least`) on a figure of a workload at a precision."""

    workload: str
    precision: str
    figure: str
    at_least: float


TARGETS: dict[str, tuple[Target, ...]] = {
    "qwen3-0.6b-shape": (
        Target("w1", "bf16", WALL, 1.6),
        Target("w1", "int8", WALL, 3.0),
        Target("w2", "bf16", WALL, 1.6),
        Target("w2", "int8", WALL, 2.5),
        Target("w3", "bf16", WALL, 1.2),
        Target("w3", "int8", WALL, 2.2),
        Target("w4", "bf16", GAP, 1.1),
        Target("w4", "int8", GAP, 1.3),
        Target("w4", "int4", GAP, 1.5),
        Target("w5", "bf16", WALL, 2.0),
        Target("w6", "bf16", WALL, 2.0),
        Target("w6", "bf16", GAP, 2.0),
        Target("w6-8k", "bf16", GAP, 3.0),
        Target("w7", "bf16", WALL, 2.5),
    ),
    "smollm2-135m-shape": (
        Target("w1", "bf16", WALL, 1.5),
        Target("w2", "bf16", WALL, 1.5),
        Target("w3", "bf16", WALL, 1.2),
        Target("w4", "bf16", GAP, 1.2),
    ),
}
# Limit for the first token of a replay, in steps of that batch.
_REPLAY_STEPS = 1.5
_PRICE_OF_SHARING = 1.01


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one comparison. `goal` is None without a target."""

    workload: str
    yaie: str
    figure: str
    best_peer: str
    theirs: float
    ours: float
    goal: float | None

    @property
    def ratio(self) -> float:
        """The best peer's time over YAIE's."""
        return self.theirs / self.ours

    @property
    def is_met(self) -> bool | None:
        """True if the target is reached; None without a target."""
        return None if self.goal is None else self.ratio >= self.goal

    def describe(self) -> str:
        """Return one line: ratio, peer and target."""
        against = f"{self.ratio:.2f}x {self.best_peer} in {_NAMES[self.figure]}"
        if self.goal is None:
            return against
        return f"{against}, target {self.goal:g}x: {'met' if self.is_met else 'MISSED'}"


Medians = Mapping[str, Mapping[str, Mapping[str, Any]]]  # workload, peer, figure


def judge(model: str, medians: Medians, precisions: Mapping[str, str]) -> list[Verdict]:
    """Compare YAIE at each precision with the best peer on every common workload.

    `precisions` maps peers to theirs. Wall time is always compared, other figures if they have a
    target.
    """
    targets = {(t.workload, t.precision, t.figure): t.at_least for t in TARGETS.get(model, ())}
    verdicts = []
    for workload, of_peers in medians.items():
        for yaie in (name for name in of_peers if name.startswith("yaie")):
            precision = precisions[yaie]
            for figure in (WALL, GAP):
                goal = targets.get((workload, precision, figure))
                ours = of_peers[yaie].get(figure)
                best = _best(of_peers, figure, BITS[precision], precisions)
                if ours and best and (figure == WALL or goal is not None):
                    verdicts.append(Verdict(workload, yaie, figure, *best, ours, goal))
    return verdicts


def price_of_sharing(medians: Medians) -> tuple[float, bool] | None:
    """Return YAIE's wall time over its time with the cache off, where prompts share no prefix.

    The second value is True if tree, planning and scheduling stay within their share. None if a
    figure is missing.
    """
    on, off = (medians.get("w3", {}).get(name) for name in ("yaie", "yaie-unshared"))
    if not on or not off:
        return None
    ratio = on[WALL] / off[WALL]
    return ratio, ratio <= _PRICE_OF_SHARING


def _best(
    of_peers: Mapping[str, Mapping[str, Any]], figure: str, bits: int, precisions: Mapping[str, str]
) -> tuple[str, float] | None:
    """Return the peer with the smallest figure and weights of at least so many bits."""
    values = [
        (name, figures[figure])
        for name, figures in of_peers.items()
        if not name.startswith("yaie")
        and BITS[precisions[name]] >= bits
        and figures.get(figure) is not None
    ]
    return min(values, key=lambda pair: pair[1], default=None)


def first_token_in_steps(medians: Medians) -> list[tuple[str, float, bool]]:
    """Return each YAIE's median first token of the replay in steps, and the verdict."""
    found = []
    for name, figures in medians.get("w7", {}).items():
        first, gap = figures.get(FIRST), figures.get(GAP)
        if name.startswith("yaie") and first and gap:
            found.append((name, first / gap, first / gap <= _REPLAY_STEPS))
    return found
