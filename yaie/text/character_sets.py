"""Sets of characters in stop patterns: single characters, escapes and classes.

Python's `re` would walk through each range of a class to compile it; here it stays a range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# Behind a backslash.
ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|0[0-7]{0,2}|[0-3][0-7]{2}|.)", re.DOTALL
)
_CATEGORIES = "dDsSwW"
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class WrongSet(Exception):
    """A source that means no set; its text is the rest of a sentence."""


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """Characters in ranges of code points and in categories such as `\\d`; or all others."""

    ranges: tuple[tuple[int, int], ...] = ()
    categories: tuple[str, ...] = ()
    is_negated: bool = False
    any_case: bool = False
    is_ascii: bool = False  # the categories

    def test(self) -> Callable[[str], bool]:
        """Return the test of one character."""
        flags = re.ASCII if self.is_ascii else 0
        categories = [re.compile(each, flags).fullmatch for each in self.categories]
        ranges, is_negated = self.ranges, self.is_negated

        def has(character: str) -> bool:
            code = ord(character)
            if any(low <= code <= high for low, high in ranges):
                return True
            return any(is_one(character) for is_one in categories)

        if self.any_case:
            return lambda character: any(map(has, _cases(character))) != is_negated
        return lambda character: has(character) != is_negated


def read_escape(escape: str, *, in_class: bool = False) -> CharacterSet:
    """Return the set of an escape with its backslash. Raises `WrongSet`."""
    sign = escape[1]
    if sign in _CATEGORIES:
        return CharacterSet(categories=(escape,))
    if len(escape) > 2 or sign == "0":
        digits, base = (escape[2:], 16) if sign in "xuU" else (escape[1:], 8)
        code = int(digits, base)
        if code > 0x10FFFF:
            raise WrongSet(f"has the unknown escape {escape!r}")
    elif sign in _LETTERS and (sign != "b" or in_class):
        code = ord(_LETTERS[sign])
    elif sign.isascii() and sign.isalnum():
        raise WrongSet(f"has the unknown escape {escape!r}")
    else:
        code = ord(sign)
    return CharacterSet(ranges=((code, code),))


def read_class(source: str) -> CharacterSet:
    """Return the set of a class with its brackets. Raises `WrongSet`."""
    is_negated = source.startswith("[^")
    at, end = 1 + is_negated, len(source) - 1
    ranges: list[tuple[int, int]] = []
    categories: list[str] = []
    while at < end:
        item, at = _item(source, at)
        if at < end - 1 and source[at] == "-":
            last, at = _item(source, at + 1)
            ranges.append(_range(item, last))
        else:
            ranges += item.ranges
            categories += item.categories
    return CharacterSet(tuple(ranges), tuple(categories), is_negated)


def _item(source: str, at: int) -> tuple[CharacterSet, int]:
    """Return the set of a class's next character or escape, and the place behind it."""
    if source[at] != "\\":
        code = ord(source[at])
        return CharacterSet(ranges=((code, code),)), at + 1
    found = ESCAPE.match(source, at)
    assert found is not None  # the class ends behind it
    return read_escape(found[0], in_class=True), found.end()


def _range(first: CharacterSet, last: CharacterSet) -> tuple[int, int]:
    if first.categories or last.categories:
        raise WrongSet("has a character class with a category as a range bound")
    low, high = first.ranges[0][0], last.ranges[0][0]
    if low > high:
        raise WrongSet(
            f"has a character class with the reversed range {chr(low)!r} to {chr(high)!r}"
        )
    return low, high


def _cases(character: str) -> set[str]:
    upper, lower = character.upper(), character.lower()
    forms = {character, upper, lower, upper.lower(), lower.upper()}
    return {form for form in forms if len(form) == 1}
