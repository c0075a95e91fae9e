"""Project facts of the demonstration model, and the wordings of questions for them.

`data/facts.txt` holds under each key the answer and several kinds of wording; `ask` puts them into
the frames of `data/fact_questions.txt`:

    np     noun phrases that name the subject of the question ("the default port")
    vp     verb phrases for how-to questions ("start the server")
    name   things whose meaning or purpose is in question ("yaie serve")
    q      whole questions, for everything else

`@Y` stands for the engine, `@S` for starting something, and so on: see MACROS there. Keep answers
true to the documentation: the model repeats them by heart. `data/wordings` holds whole questions as
strangers ask them. `data/keywords.txt` holds keywords for heaps of words without grammar: groups
are separated by `;`, alternatives by `|`, and `?` marks an optional group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from .grammar import expand, inflect
from .tables import FOLDER, load
from .values import words

T = load("facts")
_Q = load("fact_questions")
_KEYWORDS = load("keywords")


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


def with_macros(pattern: str) -> str:
    """Return the pattern with its `@NAME` shorthands written out."""
    for name in sorted(T.MACROS, key=len, reverse=True):
        pattern = pattern.replace(name, T.MACROS[name])
    return pattern


def _frames(frames: list[str]) -> list[str]:
    return [frame.replace("@ABOUT", _Q.ABOUT) for frame in frames]


FRAMES = [
    ("np", _frames(_Q.NP_FRAMES), ""),
    ("vp", _frames(_Q.VP_FRAMES), ""),
    ("vp", _frames(_Q.ING_FRAMES), "ing"),
    ("vp", _frames(_Q.S_FRAMES), "s"),
    ("name", _frames(_Q.NAME_FRAMES), ""),
]
"""Kind of phrase, frames for it, and the ending that its verb takes in these frames."""


def phrases(fact: Fact, kind: str, ending: str) -> list[str]:
    """Return the fact's phrases of a kind, inflected for a frame."""
    found = [with_macros(p) for p in getattr(fact, kind)]
    return [inflect(p, ending) for p in found] if ending else found


def ask(fact: Fact, rng: Random) -> str:
    """Return a random wording of the question for a fact."""
    options = [
        (2.0 if kind == "np" else 1.2, kind, frames, ending) for kind, frames, ending in FRAMES
    ]
    options = [option for option in options if getattr(fact, option[1])]
    weights = [option[0] for option in options]
    if fact.q and rng.random() < 3.0 / (3.0 + sum(weights)):
        return expand(with_macros(rng.choice(fact.q)), rng)
    _, kind, frames, ending = rng.choices(options, weights)[0]
    phrase = rng.choice(phrases(fact, kind, ending))
    return expand(rng.choice(frames).replace("{x}", phrase), rng)


def by_key(key: str) -> Fact:
    return next(fact for fact in FACTS if fact.key == key)


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
    """Return one of the whole questions for a fact."""
    table = _MOST_NATURAL if rng.random() < 0.3 else WORDINGS
    return expand(rng.choice(table[key]), rng)


def heap(key: str, rng: Random) -> str:
    """Return keywords of a fact between random other words."""
    chosen: list[str] = []
    for group in rng.choice(_KEYWORDS.KEYWORDS[key]).split(";"):
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
    return rng.choice(_KEYWORDS._SMALL) if rng.random() < 0.75 else rng.choice(words.T.FILLERS)
