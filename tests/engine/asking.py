"""Requests to an engine core over a tiny model, and their collected answers."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.tiny_model import VOCAB_SIZE
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.engine.core import EngineCore

MakeCore = Callable[..., EngineCore]
MAX_NEW = 12


def tokens_of(seed: int, length: int) -> tuple[int, ...]:
    rng = random.Random(seed)
    return tuple(rng.randrange(3, VOCAB_SIZE) for _ in range(length))


def ask(
    request_id: str, prompt: tuple[int, ...], *, max_tokens: int | None = 6, **sampling: object
) -> GenerationRequest:
    sampling = {"temperature": 0.0, "ignore_eos": True, **sampling}
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=prompt,
        sampling=SamplingParams(max_tokens=max_tokens, **sampling),  # type: ignore[arg-type]
    )


class Answers:
    """The deltas of many steps, by sequence."""

    def __init__(self) -> None:
        self.deltas: dict[tuple[str, int], list[TokenDelta]] = {}

    def take(self, deltas: list[TokenDelta]) -> None:
        for delta in deltas:
            self.deltas.setdefault((delta.request_id, delta.index), []).append(delta)

    def tokens(self, request_id: str, index: int = 0) -> list[int]:
        return [token for delta in self.deltas[(request_id, index)] for token in delta.token_ids]

    def last(self, request_id: str, index: int = 0) -> TokenDelta:
        last = self.deltas[(request_id, index)][-1]
        assert last.finish_reason is not None
        return last


def run(core: EngineCore, *requests: GenerationRequest) -> Answers:
    answers = Answers()
    for request in requests:
        core.add(request)
    while core.has_work:
        answers.take(core.step())
    return answers


def spent(core: EngineCore, before: EngineStats) -> EngineStats:
    """Return the growth of the counters."""
    return core.stats.since(before)
