"""Seeded workloads of callers whose prompts overlap. All lengths are in tokens.

The first eight follow the SGLang paper (arXiv 2312.07104, section 6) and later ones; `anchor`
follows the closed loop of sglang issue 32911; the `flood` pair has two tenants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.schedule.sessions import Call, Segments, Session, TreeOfThoughts, Turns
from yaie.kvcache.node import Tokens

CHAT_THINK_S = 3.0  # mean, exponential
TOOL_THINK_S = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Sessions in their order of arrival, and the segments that their prompts are made of."""

    name: str
    sessions: tuple[Session, ...]
    segment_starts: tuple[int, ...]
    # Arrival of each session in seconds; None: all at once, or Poisson at the rate of a run.
    arrivals_s: tuple[float, ...] | None = None


class Maker:
    """Random lengths and the sessions made of them; one seed gives one workload.

    `scale` is that of the numbers of sessions, `lengths` that of the segments.
    """

    def __init__(self, seed: int, scale: float, *, thinks: bool, lengths: float = 1.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.segments = Segments(lengths)
        self._scale, self._thinks = scale, thinks

    def count(self, number: int) -> int:
        """Return a number of sessions, scaled."""
        return max(1, int(number * self._scale))

    def segment(self, low: int, high: int) -> Tokens:
        """Return a segment of uniformly random length."""
        return self.segments.make(self.uniform(low, high))

    def uniform(self, low: int, high: int) -> int:
        """Return a random integer of [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def lognormal(self, median: int, sigma: float, low: int, high: int) -> int:
        """Return a log-normal integer, clipped to [low, high]."""
        return int(np.clip(self.rng.lognormal(np.log(median), sigma), low, high))

    def think_s(self, mean_s: float) -> float:
        """Return a think time; 0 for a burst."""
        return float(self.rng.exponential(mean_s)) if self._thinks else 0.0

    def single(
        self, prompt: Sequence[Tokens], outputs: Sequence[Tokens], tenant: str = ""
    ) -> Session:
        """Return a session of one call."""
        return Turns([Call(tuple(prompt), tuple(outputs), tenant)])

    def chat(
        self,
        system: Sequence[Tokens],
        turns: Sequence[tuple[Tokens, Tokens]],
        mean_think_s: float,
        tenant: str = "",
    ) -> Session:
        """Return a session of turns (user, answer); each prompt holds all turns before it."""
        calls: list[Call] = []
        prompt = tuple(system)
        for user, answer in turns:
            prompt = (*prompt, user)
            think_s = self.think_s(mean_think_s) if calls else 0.0
            calls.append(Call(prompt, (answer,), tenant, think_s))
            prompt = (*prompt, answer)
        return Turns(calls)

    def shuffled(self, sessions: list[Session]) -> list[Session]:
        """Return the sessions in random order."""
        return [sessions[index] for index in self.rng.permutation(len(sessions))]


def few_shot(make: Maker) -> list[Session]:
    """57 subjects with 5 shots of 400 to 1,200 tokens, 35 questions each, 2 output tokens."""
    sessions = []
    for _ in range(57):
        shots = make.segments.make(make.lognormal(650, 0.3, 400, 1200))
        for _ in range(make.count(35)):
            sessions.append(make.single([shots, make.segment(40, 180)], [make.segments.make(2)]))
    return make.shuffled(sessions)


def _chats(
    make: Maker, count: int, user: tuple[int, int], answer: tuple[int, int], system: int = 0
) -> list[Session]:
    start = [make.segments.make(system)] if system else []
    return [
        make.chat(
            start, [(make.segment(*user), make.segment(*answer)) for _ in range(4)], CHAT_THINK_S
        )
        for _ in range(make.count(count))
    ]


def short_chat(make: Maker) -> list[Session]:
    """220 chats of 4 turns: 256 to 512 tokens in, 4 to 8 out."""
    return _chats(make, 220, (256, 512), (4, 8))


def long_chat(make: Maker) -> list[Session]:
    """84 chats of 4 turns: 256 to 512 tokens in, 128 to 256 out."""
    return _chats(make, 84, (256, 512), (128, 256))


def tree_of_thought(make: Maker) -> list[Session]:
    """42 problems of 3 levels and 3 beams, 3 samples a beam, each thought evaluated."""
    shots, question = make.segments.make(800), make.segments.make(40)

    def session() -> Session:
        samples = [tuple(make.segment(30, 50) for _ in range(3)) for _ in range(7)]
        scores = [make.segments.make(6) for _ in range(12)]
        return TreeOfThoughts((shots, make.segment(60, 140)), samples, scores, question)

    return [session() for _ in range(make.count(42))]


def self_consistency(make: Maker) -> list[Session]:
    """62 questions behind 900 shared tokens, 8 samples each."""
    shots = make.segments.make(900)
    sessions = []
    for _ in range(make.count(62)):
        length = make.uniform(40, 60)
        outputs = [make.segments.make(length) for _ in range(8)]
        sessions.append(make.single([shots, make.segment(60, 140)], outputs))
    return sessions


def agents(make: Maker) -> list[Session]:
    """70 agents of 3 kinds (1,500 tokens of tools), 8 steps with observations of 100 to 500."""
    tools = [make.segments.make(1500) for _ in range(3)]
    return [
        make.chat(
            [tools[index % 3]],
            [(make.segment(100, 500 if step else 300), make.segment(30, 60)) for step in range(8)],
            TOOL_THINK_S,
        )
        for index in range(make.count(70))
    ]


def _retrieval(make: Maker, count: int, documents: int, each: int, tenant: str) -> list[Session]:
    system = make.segments.make(200)
    texts = [make.segment(600, 1200) for _ in range(documents)]
    weights = 1 / np.arange(1, documents + 1)  # Zipf
    weights /= weights.sum()
    sessions = []
    for _ in range(make.count(count)):
        chosen = make.rng.choice(documents, each, replace=False, p=weights)
        prompt = [system, *(texts[index] for index in chosen), make.segment(30, 70)]
        sessions.append(make.single(prompt, [make.segments.make(48)], tenant))
    return sessions


def retrieval(make: Maker) -> list[Session]:
    """420 questions on 3 of 40 documents each, Zipf, in random order."""
    return _retrieval(make, 420, 40, 3, "")


def mixed(make: Maker) -> list[Session]:
    """Classification, chats, retrieval, and unshared documents of 2,000 to 16,000 tokens."""
    shots = [make.segments.make(make.lognormal(650, 0.3, 400, 1200)) for _ in range(8)]
    sessions = [
        make.single([shots[index % 8], make.segment(40, 180)], [make.segments.make(2)], "classify")
        for index in range(make.count(260))
    ]
    sessions += _chats(make, 40, (60, 300), (60, 140), system=300)
    sessions += _retrieval(make, 90, 12, 2, "retrieval")
    for _ in range(make.count(22)):
        document = make.segments.make(make.lognormal(6000, 0.6, 2000, 16000))
        sessions.append(make.single([document], [make.segments.make(64)], "batch"))
    return make.shuffled(sessions)


def anchor(make: Maker) -> list[Session]:
    """100 closed-loop clients with long-tailed conversations, 2,000 shared tokens, 1 token out."""
    system = make.segments.make(2000)
    return [_anchor_client(make, system) for _ in range(100)]


def _anchor_client(make: Maker, system: Tokens) -> Session:
    calls: list[Call] = []
    for _ in range(make.count(3)):
        prompt: tuple[Tokens, ...] = (system,)
        for turn in range(1 + min(9, int(make.rng.geometric(0.25)))):
            median, sigma, high = (500, 1.2, 20_000) if turn else (3000, 1.3, 60_000)
            user = make.segments.make(make.lognormal(median, sigma, 50 if turn else 200, high))
            answer, rest = make.segments.make(1), make.segment(100, 400)
            # The decode node writes the rest of the answer at 80 tokens a second meanwhile.
            think_s = 0.0125 * len(prompt[-1]) if turn else 0.0
            calls.append(Call((*prompt, user), (answer,), think_s=think_s))
            prompt = (*prompt, user, answer, rest)
    return Turns(calls)


def _tenants(
    make: Maker, prompt: Callable[[], list[Tokens]], rate: float, output: int = 16
) -> list[Session]:
    """600 calls of tenant `flood` at once and then `rate` a second; `polite` sends one a second."""
    polite = make.segments.make(1500)
    out = make.segments.make
    flood = [make.single(prompt(), [out(output)], "flood") for _ in range(600 + int(30 * rate))]
    calls = [make.single([polite, make.segment(50, 100)], [out(16)], "polite") for _ in range(30)]
    return [*flood, *calls]


def _tenant_arrivals(rate: float) -> tuple[float, ...]:
    later = (index / rate for index in range(int(30 * rate)))
    return (*(0.0 for _ in range(600)), *later, *(0.5 + index for index in range(30)))


def cheap_flood(make: Maker) -> list[Session]:
    """Two tenants; the flood's calls share one cached prefix."""
    shared = make.segments.make(1500)
    return _tenants(make, lambda: [shared, make.segment(50, 150)], CHEAP_RATE)


def expensive_flood(make: Maker) -> list[Session]:
    """Two tenants; the flood's calls share nothing."""
    return _tenants(make, lambda: [make.segment(1200, 1800)], EXPENSIVE_RATE)


def long_flood(make: Maker) -> list[Session]:
    """Two tenants; the flood's calls hold their places for 400 tokens of output."""
    return _tenants(make, lambda: [make.segment(100, 300)], LONG_RATE, output=400)


# Calls a second, above the capacity of the H100 model.
CHEAP_RATE, EXPENSIVE_RATE, LONG_RATE = 160.0, 22.0, 40.0
EIGHT: dict[str, Callable[[Maker], list[Session]]] = {
    "few-shot": few_shot,
    "short-chat": short_chat,
    "long-chat": long_chat,
    "tree-of-thought": tree_of_thought,
    "self-consistency": self_consistency,
    "agents": agents,
    "retrieval": retrieval,
    "mixed": mixed,
}
WORKLOADS = {
    **EIGHT,
    "anchor": anchor,
    "cheap-flood": cheap_flood,
    "expensive-flood": expensive_flood,
    "long-flood": long_flood,
}
_ARRIVALS = {"cheap-flood": CHEAP_RATE, "expensive-flood": EXPENSIVE_RATE, "long-flood": LONG_RATE}


def make_workload(
    name: str, *, seed: int = 0, scale: float = 1.0, lengths: float = 1.0, thinks: bool
) -> Workload:
    """Return a workload; `thinks` gives follow-up calls their think times (False: a burst)."""
    make = Maker(seed, scale, thinks=thinks, lengths=lengths)
    sessions = tuple(WORKLOADS[name](make))
    rate = _ARRIVALS.get(name)
    arrivals = None if rate is None else _tenant_arrivals(rate)
    starts = tuple(make.segments.starts)
    assert all(low < high for low, high in pairwise(starts))
    return Workload(name, sessions, starts, arrivals)
