"""All wordings of the facts as strangers ask for them, from the files of `data/wordings`."""

from __future__ import annotations

from random import Random

from .fact_questions import with_macros
from .grammar import expand
from .tables import FOLDER, load


def _merged(pattern: str) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for path in sorted((FOLDER / "wordings").glob(pattern)):
        for key, patterns in load(f"wordings/{path.stem}").WORDINGS.items():
            table.setdefault(key, []).extend(with_macros(pattern) for pattern in patterns)
    return table


WORDINGS = _merged("*.txt")
# The most natural ones are drawn more often than their number would have it.
_MOST_NATURAL = _merged("*_typed_*.txt")


def wording(key: str, rng: Random) -> str:
    """Draw one of the wordings of a fact."""
    table = _MOST_NATURAL if rng.random() < 0.3 else WORDINGS
    return expand(rng.choice(table[key]), rng)
