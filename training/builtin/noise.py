"""Noise of human typing: greetings, case, punctuation, synonyms, typos, missing words.

Applied to questions about facts, greetings and off-topic requests. Text to be copied (extraction,
tool arguments) varies in case and punctuation only.
"""

from __future__ import annotations

import re
from random import Random

from .grammar import expand
from .tables import load
from .values import words

T = load("noise")

COMMANDS = "run|chat|serve|demo|bench|doctor|models"


def synonyms(text: str, rng: Random, chance: float) -> str:
    """Replace some words by others of like meaning."""

    def swap(match: re.Match[str]) -> str:
        word = match.group(0)
        options = T.SYNONYMS.get(word)
        return rng.choice(options) if options and rng.random() < chance else word

    return re.sub(r"(?<![-_/.`])\b[a-z]+\b(?![-_/.`])", swap, text)


def typo(text: str, rng: Random) -> str:
    """Make one slip of the fingers inside a word of at least four letters."""
    found = list(re.finditer(r"(?<![-_/.\w])[a-z]{4,}(?![-_/.\w])", text))
    if not found:
        return text
    word = rng.choice(found)
    at = rng.randrange(word.start() + 1, word.end() - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[at] + text[at:]
    if kind == 2:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + text[at + 1 :]


def drop_words(text: str, rng: Random, chance: float) -> str:
    """Leave out some function words, as people do in a hurry."""
    kept = [w for w in text.split(" ") if w not in T.FUNCTION_WORDS or rng.random() > chance]
    return " ".join(kept) if len(kept) >= 2 else text


def scatter(text: str, rng: Random) -> str:
    """Insert irrelevant words, so that the model looks for the relevant ones."""
    parts = text.split(" ")
    for _ in range(rng.randint(1, 4)):
        word = rng.choice(words.T.FILLERS) if rng.random() < 0.85 else words.invented(rng)
        parts.insert(rng.randint(0, len(parts)), word)
    return " ".join(parts)


def finish(text: str, rng: Random) -> str:
    """Vary case and final punctuation."""
    if not re.search(r"[.?!]$", text):
        text += rng.choice(["?", "?", "?", "", "", ".", "??", " ?"])
    roll = rng.random()
    if roll < 0.65:
        text = text[:1].upper() + text[1:]
    elif roll < 0.72:
        text = text.lower()
    elif roll < 0.73:
        text = text.upper()
    if rng.random() < 0.7:
        text = re.sub(rf"\byaie\b(?! (?:{COMMANDS})\b)", "YAIE", text)
    if rng.random() < 0.7:
        text = re.sub(r"\bi\b", "I", text)
    return text


def noisy(text: str, rng: Random) -> str:
    """Return a wording as a person might type it."""
    if rng.random() < 0.5:
        text = synonyms(text, rng, 0.4)
    if rng.random() < 0.08:
        text = drop_words(text, rng, 0.6)
    if rng.random() < 0.04:
        text = typo(text, rng)
    if rng.random() < 0.01:
        text = scatter(text, rng)
    if rng.random() < 0.22:
        text = expand(rng.choice(T.PREFIXES), rng) + " " + text
    if rng.random() < 0.12:
        text = text.rstrip("?. ") + expand("x" + rng.choice(T.SUFFIXES), rng)[1:]
    return finish(text, rng)
