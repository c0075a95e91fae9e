"""Whole-question wordings of every fact, as many different people would put them, in one table.

Written without sight of the frozen questions. Called by the corpus and by `wordings.py`.
"""

from __future__ import annotations

from random import Random

from . import (
    asked_about_service,
    asked_about_use,
    asked_about_words,
    more_about_internals,
    more_about_service,
    more_about_use,
    more_about_words,
    put_about_engine,
    put_about_service,
    told_about_internals,
    told_about_service,
    told_about_use,
    told_about_words,
)
from .fact_questions import with_macros
from .grammar import expand

PARTS = (
    asked_about_use,
    asked_about_service,
    asked_about_words,
    more_about_use,
    more_about_service,
    more_about_words,
    more_about_internals,
    told_about_use,
    told_about_service,
    told_about_words,
    told_about_internals,
    put_about_service,
    put_about_engine,
)


def _merged() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for part in PARTS:
        for key, patterns in part.WORDINGS.items():
            table.setdefault(key, []).extend(with_macros(pattern) for pattern in patterns)
    return table


WORDINGS = _merged()


def wording(key: str, rng: Random) -> str:
    """One of the wordings of a fact."""
    return expand(rng.choice(WORDINGS[key]), rng)
