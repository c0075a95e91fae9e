"""The project facts that the demonstration model knows, with the wordings that ask for them.

`data/facts.txt` holds under each key the answer and several kinds of wording, which
`fact_questions.py` puts into frames:

    np     noun phrases that name the subject of the question ("the default port")
    vp     verb phrases for how-to questions ("start the server")
    name   things whose meaning or purpose is in question ("yaie serve")
    q      whole questions, for everything that no frame makes

`@Y` stands for the engine, `@S` for starting something, and so on: see MACROS there. Keep answers
true to the documentation: the model repeats them by heart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .tables import load

T = load("facts")


@dataclass(frozen=True)
class Fact:
    """One thing the model knows; `key` names it in follow-ups and yes/no questions."""

    key: str
    answer: str
    np: list[str] = field(default_factory=list)
    vp: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    q: list[str] = field(default_factory=list)


def _fact(key: str, lines: list[str]) -> Fact:
    fact = Fact(key, lines[0])
    for line in lines[1:]:
        kind, wording = line.split(": ", 1)
        getattr(fact, kind).append(wording)
    return fact


FACTS = [_fact(key, lines) for key, lines in T.FACTS.items()]
