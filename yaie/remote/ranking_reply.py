"""Replies of `/v1/rerank` and `/v1/score`, as rankings and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaie.api.ranking import RankedDocument, Ranking, Scores
from yaie.remote.replies import as_whole


def read_ranking(reply: Mapping[str, Any], documents: Sequence[str]) -> Ranking:
    """Return the ranking of documents. Raises `ValueError` for another document."""
    try:
        results = [
            RankedDocument(each["index"], float(each["relevance_score"]), documents[each["index"]])
            for each in reply["results"]
        ]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("the reply is not a ranking") from error
    return Ranking(results, *_counts(reply))


def read_scores(reply: Mapping[str, Any], count: int) -> Scores:
    """Return the scores of a reply to `count` pairs. Raises `ValueError` for another document."""
    scores: list[Any] = [None] * count
    try:
        for each in reply["data"]:
            scores[each["index"]] = float(each["score"])
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("the reply is not a list of scores") from error
    if None in scores:
        raise ValueError("a pair has no score")
    return Scores(scores, *_counts(reply))


def _counts(reply: Mapping[str, Any]) -> tuple[int, int]:
    usage = reply.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, Mapping) else None
    prompt = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return as_whole(prompt) or 0, as_whole(cached) or 0
