"""Requests that are each confined to tokens of their own, run together on the real engine.

A token outside of a request's own ones would have come from another request, or from a mask that
was applied to the wrong row.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, Grammar, SamplingParams, TokenDelta
from yaie.client.core_loading import load_engine_core
from yaie.client.local_client import LocalClient
from yaie.client.submission import Submission

NUM_LANES = 64  # requests at once
FIRST_TOKEN = 10  # the ones below are special
LANE_TOKENS = 6
VOCAB_SIZE = 420
MAX_TOKENS = 120
PROMPTS = (tuple(range(10, 40)), tuple(range(10, 70)), tuple(range(10, 64)), (7, 8, 9))


@dataclass
class Lane:
    """One of the concurrent requests, renewed when it ends."""

    allowed: frozenset[int]
    submission: Submission | None = None
    num_left: dict[int, int] = field(default_factory=dict)  # choices to abort, after tokens


@dataclass
class Canary:
    """The run: its lanes, its counters and the foreign tokens found."""

    client: LocalClient
    end_token: int
    random: random.Random
    num_tokens: int = 0
    num_aborts: int = 0
    num_requests: int = 0
    foreign: list[tuple[str, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    idle: list[Lane] = field(default_factory=list)

    def run(self, num_tokens: int) -> None:
        """Keep all lanes busy until so many tokens were received, then end them."""
        lanes = [
            Lane(frozenset(range(start, start + LANE_TOKENS)))
            for start in range(FIRST_TOKEN, FIRST_TOKEN + NUM_LANES * LANE_TOKENS, LANE_TOKENS)
        ]
        assert max(lanes[-1].allowed) < VOCAB_SIZE
        self.idle = list(lanes)
        while self.num_tokens < num_tokens and not self.foreign and not self.errors:
            renewed, self.idle = self.idle, []
            self.client.send([self._renew(lane) for lane in renewed])
            self.client.wait_until(lambda: self.idle)
        self.client.close_submissions(
            [lane.submission for lane in lanes if lane.submission is not None]
        )

    def _renew(self, lane: Lane) -> Submission:
        """Give a lane its next request, of a random kind; some of its choices will be aborted."""
        draw = self.random
        n = draw.choice((1, 1, 2, 4))
        kind = draw.choice(("bias", "lark", "bias and lark"))
        ids = sorted(lane.allowed)
        sampling = SamplingParams(
            n=n,
            max_tokens=draw.randint(1, MAX_TOKENS),
            temperature=draw.choice((0.0, 0.7, 3.0)),
            top_p=draw.choice((1.0, 0.9)),
            top_k=draw.choice((0, 3)),
            repetition_penalty=draw.choice((1.0, 1.2)),
            seed=draw.choice((None, 5)),
            logprobs=draw.choice((None, 2)),
            logit_bias=dict.fromkeys(ids, 100.0) if "bias" in kind else None,
            ignore_eos=kind == "bias",
        )
        grammar = Grammar.lark(f"start: (<[{ids[0]}-{ids[-1]}]>)+") if "lark" in kind else None
        self.num_requests += 1
        request = GenerationRequest(
            request_id=f"{kind} {ids[0]} {self.num_requests}",
            prompt_token_ids=draw.choice(PROMPTS),
            sampling=sampling,
            grammar=grammar,
            tenant=draw.choice(("", "a", "b")),
            priority=draw.randrange(3),
        )
        aborted = [index for index in range(n) if draw.random() < 0.2]
        lane.num_left = {index: draw.randint(1, MAX_TOKENS // 4) for index in aborted}
        lane.submission = self.client.prepare(request, partial(self._receive, lane))
        return lane.submission

    def _receive(self, lane: Lane, delta: TokenDelta) -> None:
        if delta.error is not None:
            self.errors.append(delta.error.message)
        self.num_tokens += len(delta.token_ids)
        allowed = lane.allowed | {self.end_token}
        self.foreign += [
            (delta.request_id, token_id) for token_id in delta.token_ids if token_id not in allowed
        ]
        submission = lane.submission
        assert submission is not None
        left = lane.num_left.get(delta.index)
        if left is not None and delta.finish_reason is None:
            lane.num_left[delta.index] = left - len(delta.token_ids)
            if left <= len(delta.token_ids):
                del lane.num_left[delta.index]
                submission.abort(delta.index)
                self.num_aborts += 1
        if not submission.unfinished or delta.error is not None:
            self.idle.append(lane)


def fly(
    model: Path, num_tokens: int, seed: int = 0, **settings: object
) -> tuple[Canary, EngineStats]:
    """Run a canary over a model until it has received so many tokens; return it with the stats."""
    config = EngineConfig(model=str(model), device="cpu", **settings)  # type: ignore[arg-type]
    core = load_engine_core(config)
    client = LocalClient(core)
    (end_token,) = core.info.eos_token_ids
    canary = Canary(client, end_token, random.Random(seed))
    try:
        canary.run(num_tokens)
        return canary, client.stats
    finally:
        client.close()
