"""Whole-question wordings of every fact, as many different people would put them, in one table.

Written without sight of the frozen questions. Called by the corpus and by `wordings.py`.
"""

from __future__ import annotations

from random import Random

from . import asked_about_service, asked_about_use, asked_about_words
from .fact_questions import with_macros
from .grammar import expand

WORDINGS: dict[str, list[str]] = {
    key: [with_macros(pattern) for pattern in patterns]
    for part in (asked_about_use, asked_about_service, asked_about_words)
    for key, patterns in part.WORDINGS.items()
}


def wording(key: str, rng: Random) -> str:
    """One of the wordings of a fact."""
    return expand(rng.choice(WORDINGS[key]), rng)
