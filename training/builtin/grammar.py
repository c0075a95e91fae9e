"""A small pattern language for wordings.

`[a|b|]` is a choice (an empty alternative makes it optional), choices nest, and the caller fills
slots such as `{name}`. One pattern stands for hundreds of sentences. A pattern can also become a
regular expression; with it the tests prove that the generator cannot write a frozen question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from random import Random

Part = str | tuple[tuple["Part", ...], ...]


@cache
def parse(pattern: str) -> tuple[Part, ...]:
    """Parse a pattern into text pieces and choices."""
    parts, end = _sequence(pattern, 0)
    if end != len(pattern):
        raise ValueError(f"unbalanced brackets in {pattern!r} at {end}")
    return parts


def _sequence(pattern: str, at: int) -> tuple[tuple[Part, ...], int]:
    parts: list[Part] = []
    text = ""
    while at < len(pattern) and pattern[at] not in "|]":
        if pattern[at] == "[":
            if text:
                parts.append(text)
                text = ""
            options: list[tuple[Part, ...]] = []
            at += 1
            while True:
                option, at = _sequence(pattern, at)
                options.append(option)
                if at >= len(pattern):
                    raise ValueError(f"unclosed bracket in {pattern!r}")
                at += 1
                if pattern[at - 1] == "]":
                    break
            parts.append(tuple(options))
        else:
            text += pattern[at]
            at += 1
    if text:
        parts.append(text)
    return tuple(parts), at


def _write(parts: tuple[Part, ...], rng: Random) -> str:
    return "".join(
        part if isinstance(part, str) else _write(rng.choice(part), rng) for part in parts
    )


def expand(pattern: str, rng: Random, slots: Mapping[str, str] | None = None) -> str:
    """Return a random sentence of the pattern with `{name}` slots filled and single spaces."""
    text = _write(parse(pattern), rng)
    if slots:
        for name, value in slots.items():
            text = text.replace("{" + name + "}", value)
    return re.sub(r" {2,}", " ", text).strip()


def filled(text: str, slots: Mapping[str, str]) -> str:
    """Return the text with its slots filled; unknown ones stay."""
    return re.sub(r"\{(\w+)\}", lambda found: slots.get(found[1], found[0]), text)


def expand_lines(pattern: str, rng: Random) -> str:
    """Return a random sentence of the pattern, with its line breaks and open slots."""
    return expand(pattern.replace("\n", "\0"), rng).replace("\0", "\n")


def inflect(pattern: str, ending: str) -> str:
    """Return a verb phrase pattern with its first verbs as "starting" (ing) or "starts" (s)."""
    inner = re.match(r"\[([^\[\]]*)\]", pattern)
    if inner:
        options = "|".join(_inflect_first(option, ending) for option in inner.group(1).split("|"))
        return f"[{options}]" + pattern[inner.end() :]
    return _inflect_first(pattern, ending)


def _inflect_first(text: str, ending: str) -> str:
    verb = re.match(r"[a-z]+", text)
    if not verb:
        return text
    word, rest = verb.group(0), text[verb.end() :]
    return (_third_person(word) if ending == "s" else _gerund(word)) + rest


DOUBLED = "run get set stop quit shut swap spin begin let put chat".split()


def _third_person(word: str) -> str:
    if word in ("have", "do"):
        return {"have": "has", "do": "does"}[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|sh|ch|x|z|o)$", word) else "s")


def _gerund(word: str) -> str:
    if word.endswith("e") and not word.endswith("ee") and word != "be":
        return word[:-1] + "ing"
    if word in DOUBLED:
        return word + word[-1] + "ing"
    return word + "ing"


_ARTICLE = re.compile(
    r"(\ba|^A) (?=[aioAEIO](?!ne\b)|e(?!u)|u(?!se|sua|ni[cfoqtv])|hour|honest|(?:8\d?|11|18)\b)"
)


def articles(text: str) -> str:
    """Return the text with "an" before vowels; a capital U counts as "you"."""
    return _ARTICLE.sub(r"\1n ", text)


def normalise(text: str) -> str:
    """Return lower-case words and figures with single spaces: equal wordings become equal."""
    return " ".join(re.findall(r"[a-z0-9_]+", text.lower()))


def to_regex(pattern: str, slots: Mapping[str, str] | None = None) -> str:
    """Return a regular expression for `normalise(sentence)` of every sentence of the pattern.

    It accepts "a" and "an", and spaces are optional, so it matches slightly more than the pattern
    writes. A slot matches the expression given for it, or any text.
    """
    given = slots or {}

    def words(text: str) -> str:
        out = ""
        for piece in re.split(r"(\{\w+\})", text):
            if re.fullmatch(r"\{\w+\}", piece):
                out += given.get(piece[1:-1], ".+?")
            else:
                for word in re.findall(r"[a-z0-9_]+|[^a-z0-9_]+", piece.lower()):
                    out += (
                        "an?"
                        if word == "a"
                        else word
                        if re.fullmatch(r"[a-z0-9_]+", word)
                        else " ?"
                    )
        return out

    def rex(parts: tuple[Part, ...]) -> str:
        return "".join(
            words(part)
            if isinstance(part, str)
            else "(?:" + "|".join(rex(option) for option in part) + ")"
            for part in parts
        )

    return " ?" + rex(parse(pattern)) + " ?"


def written(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    """Expand a pattern; keep line breaks in the pattern (as NUL) and in the slots."""
    slots = {name: value.replace("\n", "\x00") for name, value in slots.items()}
    text = "\n".join(line.strip() for line in expand(pattern, rng, slots).split("\x00"))
    return re.sub(r"\n[:.,?](?: |$)", "\n", text).strip()
