"""`Ranking` and `Scores`: what a reranker tells about documents. It imports no numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document, its place in the given list, and its score for the query."""

    index: int
    score: float
    document: str


class Ranking(NamedTuple):
    """Documents by their score, best first, and the token counts of their call."""

    results: list[RankedDocument]
    prompt_tokens: int
    cached_tokens: int  # prompt tokens that were not computed for this call


class Scores(NamedTuple):
    """Scores of pairs of texts, in their order, and the token counts of their call."""

    scores: list[float]
    prompt_tokens: int
    cached_tokens: int  # prompt tokens that were not computed for this call
