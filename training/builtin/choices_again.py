"""Choices asked again with other words: "Is 7 odd or even?", then "And 8?".

The second question states only its change, so the answer depends on the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import choices
from .grammar import articles, expand, written
from .tables import load

everyday = load("choices_everyday")

T = load("choices")

Pair = tuple[str, str]


def _follow(word: str, rng: Random) -> str:
    return articles(written(rng.choice(T.AGAIN), rng, {"w": word}))


def _several(first: Pair, more: Callable[[], Pair], rng: Random) -> list[Pair]:
    """Return a full question, and one to three that depend on it."""
    return [first, *(more() for _ in range(rng.choice([1, 1, 2, 3])))]


def _parity(rng: Random) -> list[Pair]:
    def more() -> Pair:
        number = rng.randint(0, 99)
        return _follow(str(number), rng), "Odd" if number % 2 else "Even"

    return _several(choices.parity(rng), more, rng)


def _is_odd(rng: Random) -> list[Pair]:
    word = rng.choice(["odd", "even"])

    def more() -> Pair:
        number = rng.randint(0, 99)
        return _follow(str(number), rng), choices.is_parity(number, word)

    return _several(choices.asked_parity(rng.randint(0, 99), word, rng), more, rng)


def _compare(rng: Random) -> list[Pair]:
    word = rng.choice([w for w in choices.LARGER + choices.SMALLER if w != "less"])

    def pair(ask: Callable[[int, int], str]) -> Pair:
        a, b = rng.sample(range(100), 2)
        best = max(a, b) if word in choices.LARGER else min(a, b)
        return ask(a, b), str(best)

    def whole(a: int, b: int) -> str:
        return written(choices.T.COMPARES[0], rng, {"w": word, "a": str(a), "b": str(b)})

    def short(a: int, b: int) -> str:
        return _follow(f"{a} {rng.choice(['or', 'and'])} {b}", rng)

    return _several(pair(whole), lambda: pair(short), rng)


def _kinds(rng: Random) -> list[Pair]:
    name, other, word = choices.two_kinds(rng)
    back = choices.of_one_kind(other, name)
    f, s = rng.sample([name, other], 2)
    slots = {"w": choices.shown_word(word, rng), "f": choices.article(f), "s": choices.article(s)}
    asked = written(rng.choice([choices.T.KIND, *everyday.KIND]), rng, slots)

    def more() -> Pair:
        if back and rng.random() < 0.6:
            return _follow(choices.shown_word(rng.choice(back), rng), rng), other.capitalize()
        again = choices.shown_word(rng.choice(choices.of_one_kind(name, other)), rng)
        return _follow(again, rng), name.capitalize()

    return _several((asked, name.capitalize()), more, rng)


def _is_kind(rng: Random) -> list[Pair]:
    name, _other, word = choices.two_kinds(rng)

    def said(word: str, kind: str) -> str:
        return f"{'Yes' if kind == name else 'No'}, {word} names {choices.article(kind)}."

    def more() -> Pair:
        if rng.random() < 0.5:
            again = rng.choice(choices.KINDS[name])
            return _follow(choices.shown_word(again, rng), rng), said(again, name)
        away, again = _another(name, rng)
        return _follow(choices.shown_word(again, rng), rng), said(again, away)

    slots = {"w": choices.shown_word(word, rng), "f": choices.article(name), "k": name}
    asked = written(choices.known_shape(rng), rng, {"q": expand(rng.choice(T.IS_KIND), rng, slots)})
    return _several((asked, said(word, name)), more, rng)


def _another(name: str, rng: Random) -> tuple[str, str]:
    """Return another kind, and a word of that kind only."""
    while True:
        other, _, word = choices.two_kinds(rng)
        if other != name and word not in choices.of_kind(name):
            return other, word


def _reviews(rng: Random) -> list[Pair]:
    """Return reviews in sequence, under the labels of the first question."""
    good, bad = rng.choice([("positive", "negative"), ("positive", "negative"), ("good", "bad")])
    a, b = rng.sample([good, bad], 2)

    def one(shape: str) -> Pair:
        value = rng.random() < 0.5
        text = choices.everyday_review(value, rng)
        asked = written(shape, rng, {"text": text, "a": a, "b": b})
        return articles(asked), (good if value else bad).capitalize()

    return _several(
        one(rng.choice(everyday.SENTIMENT["tone"])), lambda: one(rng.choice(T.NEXT_REVIEW)), rng
    )


RUNS = [_parity, _is_odd, _compare, _kinds, _kinds, _is_kind, _is_kind, _reviews]


def run(rng: Random) -> list[Pair]:
    """Return questions about several words or numbers; only the first is complete."""
    return rng.choice(RUNS)(rng)
