"""Comparison of kinds: perplexity with paired errors, and agreement of greedy answers."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.quality.measure import Figures


def compare(found: Mapping[str, Figures]) -> dict[str, dict[str, Any]]:
    """Return the figures of each kind, with ratios and agreement over the first kind's."""
    base = next(iter(found.values()))
    return {
        kind: {
            "bits_per_weight": figures.bits_per_weight,
            "perplexity": perplexity(figures.losses),
            "perplexity_half": perplexity(halves(figures.losses)),
            **_named("ratio", ratio(figures.losses, base.losses)),
            **_named("ratio_half", ratio(halves(figures.losses), halves(base.losses))),
            "identical": sum(
                ours == theirs for ours, theirs in zip(figures.answers, base.answers, strict=True)
            ),
            "common_prefix": statistics.fmean(
                common_prefix(ours, theirs)
                for ours, theirs in zip(figures.answers, base.answers, strict=True)
            ),
            "answer_tokens": statistics.fmean(map(len, figures.answers)),
            "tokens_per_s": figures.tokens_per_s,
            "prompt_tokens_per_s": figures.prompt_tokens_per_s,
        }
        for kind, figures in found.items()
    }


def halves(losses: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Return the losses behind half of each chunk: 511 of 1,024 tokens, as llama-perplexity."""
    return [chunk[(len(chunk) + 1) // 2 :] for chunk in losses]


def perplexity(losses: Sequence[Sequence[float]]) -> float:
    """Return the exponential of the mean loss over all tokens."""
    return math.exp(statistics.fmean(itertools.chain.from_iterable(losses)))


def ratio(
    losses: Sequence[Sequence[float]], base: Sequence[Sequence[float]]
) -> tuple[float, float]:
    """Return the ratio of two perplexities of one text, and its paired standard error.

    Token by token most of the loss is the text's own, and cancels in the difference.
    """
    pairs = zip(
        itertools.chain.from_iterable(losses), itertools.chain.from_iterable(base), strict=True
    )
    differences = [ours - theirs for ours, theirs in pairs]
    found = math.exp(statistics.fmean(differences))
    if len(differences) < 2:
        return found, 0.0
    return found, found * statistics.stdev(differences) / math.sqrt(len(differences))


def common_prefix(ours: Sequence[int], theirs: Sequence[int]) -> int:
    """Return the number of equal tokens before the first different one."""
    length = 0
    for left, right in zip(ours, theirs, strict=False):
        if left != right:
            break
        length += 1
    return length


def _named(name: str, found: tuple[float, float]) -> dict[str, float]:
    return {name: found[0], f"{name}_error": found[1]}
