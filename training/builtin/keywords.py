"""Heaps of keywords: what is left of a question when its grammar is ignored.

People put the same question in ways that no list of frames foresees, but they can hardly avoid its
keywords. A line names the groups of words that a question about the fact combines (`;` between
groups, `|` between words of which one is taken, `?` before a group that may be missing). The words
are shuffled and filled up with words that mean nothing here, so the model learns what matters.
"""

from __future__ import annotations

from random import Random

from . import words
from .tables import load

T = load("keywords")


def heap(key: str, rng: Random) -> str:
    """Keywords of a fact in a heap of other words."""
    chosen: list[str] = []
    for group in rng.choice(T.KEYWORDS[key]).split(";"):
        optional = group.strip().startswith("?")
        if optional and rng.random() < 0.5:
            continue
        options = [word for word in group.strip().lstrip("?").split("|") if word not in ("", "?")]
        chosen.append(rng.choice(options))
        if rng.random() < 0.15:
            chosen.append(rng.choice(options))
    if rng.random() < 0.6:
        rng.shuffle(chosen)
    out: list[str] = []
    for word in chosen:
        out += [_noise(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
        out.append(word)
    out += [_noise(rng) for _ in range(rng.choice([0, 0, 1, 2, 3]))]
    return " ".join(out)


def _noise(rng: Random) -> str:
    return rng.choice(T._SMALL) if rng.random() < 0.75 else rng.choice(words.T.FILLERS)
