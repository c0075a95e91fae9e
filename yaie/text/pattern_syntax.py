"""Syntax of stop patterns: regular expressions as trees over sets of characters.

A subset of Python's syntax, without anything that needs memory of the text or a look around the
match. Quantifiers are counted out later, so a tree stays as small as its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from yaie.base.errors import InvalidRequest
from yaie.text.character_sets import ESCAPE, CharacterSet, WrongSet, read_class, read_escape

PARAM = "stop_regex"
MAX_DEPTH = 40  # of groups in groups
_QUANTIFIER = re.compile(r"\{([0-9]{1,6}),?\}|\{([0-9]{0,6}),([0-9]{0,6})\}")
_FLAGS = re.compile(r"\(\?([aiLmsux]*)(?:-([ims]+))?([:)])")
_COMMENT = re.compile(r"\(\?#[^)]*\)")
_NAME = re.compile(r"\(\?P<\w+>")
_OUTSIDE = "AbBZ"  # escapes that look around a match
_OTHER_WAYS = {
    "(?=": "a look ahead",
    "(?!": "a look ahead",
    "(?<": "a look behind",
    "(?>": "an atomic group",
    "(?(": "a condition",
    "(?P": "a back reference",
}


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts, one behind the other; without parts the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Several parts, one of which matches."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part, `least` to `most` times; `most` None is without a limit."""

    part: Node
    least: int
    most: int | None


Node = CharacterSet | Sequence | Choice | Repeat


def parse(pattern: str) -> Node:
    """Return the tree of a pattern. Raises `InvalidRequest` for `stop_regex`."""
    return _Parser(pattern).whole()


@dataclass(frozen=True, slots=True)
class _Flags:
    any_case: bool = False
    dot_all: bool = False
    ascii: bool = False

    def changed(self, on: str, off: str) -> _Flags:
        """Return the flags after letters of Python's were set and cleared."""
        return _Flags(
            any_case=("i" in on or self.any_case) and "i" not in off,
            dot_all=("s" in on or self.dot_all) and "s" not in off,
            ascii=("a" in on or self.ascii) and "u" not in on,
        )


class _Parser:
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        """Return the tree of the whole pattern."""
        flags = _Flags()
        if (found := _FLAGS.match(self._pattern)) and found[3] == ")":
            flags = self._set(flags, found)
            self._at = found.end()
        tree = self._choice(flags)
        if self._at < len(self._pattern):
            raise self._fault("has a ')' without a '('")
        return tree

    def _choice(self, flags: _Flags) -> Node:
        parts = [self._sequence(flags)]
        while self._ahead("|"):
            self._at += 1
            parts.append(self._sequence(flags))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self, flags: _Flags) -> Node:
        parts: list[Node] = []
        while self._at < len(self._pattern) and not (self._ahead("|") or self._ahead(")")):
            if found := _COMMENT.match(self._pattern, self._at):
                self._at = found.end()
            else:
                parts.append(self._repeated(self._atom(flags)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        bounds = self._quantifier()
        if bounds is None:
            return part
        if self._ahead("+"):
            raise self._unsupported("a possessive quantifier")
        if self._ahead("?"):  # a lazy one: the same texts match
            self._at += 1
        if self._quantifier() is not None:
            raise self._fault("repeats a repetition; group the inner repetition")
        least, most = bounds
        if most is not None and most < least:
            raise self._fault(f"has a quantifier from {least} to {most}")
        return Repeat(part, least, most)

    def _quantifier(self) -> tuple[int, int | None] | None:
        """Read a quantifier, if the pattern goes on with one."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._ahead(sign):
                self._at += 1
                return bounds
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return None
        self._at = found.end()
        if found[1] is not None:
            least = int(found[1])
            return least, None if "," in found[0] else least
        return int(found[2] or 0), int(found[3]) if found[3] else None

    def _atom(self, flags: _Flags) -> Node:
        character = self._pattern[self._at]
        if character == "(":
            return self._group(flags)
        if character == "[":
            return self._class(flags)
        if character == "\\":
            return self._escape(flags)
        if character in "^$":
            raise self._unsupported(f"{character!r}, a place in the text")
        if character in "*+?":
            raise self._fault(f"has {character!r} with nothing before it to repeat")
        self._at += 1
        if character == ".":
            newline = ((10, 10),)
            return CharacterSet(() if flags.dot_all else newline, is_negated=True)
        return CharacterSet(((ord(character),) * 2,), any_case=flags.any_case)

    def _group(self, flags: _Flags) -> Node:
        start = self._pattern[self._at : self._at + 3]
        if found := _FLAGS.match(self._pattern, self._at):
            if found[3] == ")":
                raise self._fault("sets flags after its start; write (?i:...)")
            flags = self._set(flags, found)
            self._at = found.end()
        elif found := _NAME.match(self._pattern, self._at):
            self._at = found.end()
        elif start in _OTHER_WAYS:
            raise self._unsupported(_OTHER_WAYS[start])
        elif start.startswith("(?"):
            raise self._fault(f"has an unknown group {start!r}")
        else:
            self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._fault(f"nests more than {MAX_DEPTH} groups")
        tree = self._choice(flags)
        self._depth -= 1
        if not self._ahead(")"):
            raise self._fault("has a '(' without a ')'")
        self._at += 1
        return tree

    def _set(self, flags: _Flags, found: re.Match[str]) -> _Flags:
        on, off = found[1] or "", found[2] or ""
        if "x" in on:
            raise self._unsupported("the flag x")
        if "L" in on:
            raise self._unsupported("the flag L")
        return flags.changed(on, off)

    def _escape(self, flags: _Flags) -> Node:
        found = ESCAPE.match(self._pattern, self._at)
        if found is None:
            raise self._fault("ends with a backslash")
        escape = found[0]
        if len(escape) == 2 and escape[1] in _OUTSIDE:
            raise self._unsupported(f"'{escape}', a place in the text")
        if len(escape) == 2 and escape[1] in "123456789":
            raise self._unsupported("a back reference")
        self._at = found.end()
        return self._set_of(read_escape, escape, flags)

    def _class(self, flags: _Flags) -> Node:
        start, self._at = self._at, self._class_end(self._at)
        return self._set_of(read_class, self._pattern[start : self._at], flags)

    def _set_of(
        self, read: Callable[[str], CharacterSet], source: str, flags: _Flags
    ) -> CharacterSet:
        try:
            found = read(source)
        except WrongSet as error:
            raise self._fault(str(error)) from None
        return replace(found, any_case=flags.any_case, is_ascii=flags.ascii)

    def _class_end(self, at: int) -> int:
        """Return the place behind a class. Raises `InvalidRequest` if it does not end."""
        first = at + 1 + self._pattern.startswith("^", at + 1)
        at = first
        while at < len(self._pattern):
            if self._pattern[at] == "]" and at > first:
                return at + 1
            at += 2 if self._pattern[at] == "\\" else 1
        raise self._fault("has a '[' without a ']'")

    def _ahead(self, sign: str) -> bool:
        return self._pattern.startswith(sign, self._at)

    def _unsupported(self, thing: str) -> InvalidRequest:
        return self._fault(f"has {thing}: streaming search does not support it; omit it")

    def _fault(self, fact: str) -> InvalidRequest:
        return InvalidRequest(
            f"{PARAM} {self._pattern[:60]!r} {fact} (near character {self._at})", param=PARAM
        )
