"""Whole-question wordings of every fact, as many different people would put them, in one table.

Written without sight of the frozen questions. Called by the corpus and by `wordings.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import ModuleType

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
    typed_about_cache,
    typed_about_internals,
    typed_about_service,
    typed_about_settings,
    typed_about_use,
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


TYPED = (
    typed_about_use,
    typed_about_service,
    typed_about_settings,
    typed_about_cache,
    typed_about_internals,
)
"""The most natural of them, drawn more often than their number would have it."""


def _merged(parts: Sequence[ModuleType]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for part in parts:
        for key, patterns in part.WORDINGS.items():
            table.setdefault(key, []).extend(with_macros(pattern) for pattern in patterns)
    return table


WORDINGS = _merged([*PARTS, *TYPED])
_MOST_NATURAL = _merged(TYPED)


def wording(key: str, rng: Random) -> str:
    """One of the wordings of a fact."""
    table = _MOST_NATURAL if rng.random() < 0.3 else WORDINGS
    return expand(rng.choice(table[key]), rng)
