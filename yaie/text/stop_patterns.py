"""`StopPatterns`: regular expressions that end an answer, searched in text that arrives.

One position automaton (Glushkov) for all patterns of a request: a state is a character of a
pattern, and a set of states is the bits of an integer. A character of the text costs at most one
step for each state, without backtracking, so clients may choose the patterns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from yaie.base.errors import InvalidRequest
from yaie.text.character_sets import CharacterSet
from yaie.text.pattern_syntax import PARAM, Choice, Node, Repeat, parse
from yaie.text.pattern_syntax import Sequence as Parts

MAX_PATTERNS = 16
MAX_PATTERN_CHARS = 1024  # of all patterns of a request
MAX_STATES = 128  # of all patterns of a request; a{3} has three
_MAX_REMEMBERED = 4096  # characters, and sets of states


@dataclass(frozen=True, slots=True)
class _Fragment:
    """Part of an automaton: the states that it may begin and end with."""

    first: int
    last: int
    is_nullable: bool


class StopPatterns:
    """Automaton of one request's patterns. Its sequences share it."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        if sum(map(len, self.patterns)) > MAX_PATTERN_CHARS:
            raise InvalidRequest(
                f"{PARAM} may have at most {MAX_PATTERN_CHARS} characters over all patterns",
                param=PARAM,
            )
        trees = [parse(pattern) for pattern in patterns]
        num_states = sum(map(_num_states, trees))
        if len(self.patterns) > MAX_PATTERNS or num_states > MAX_STATES:
            raise InvalidRequest(
                f"{PARAM} may have at most {MAX_PATTERNS} patterns and {MAX_STATES} characters in "
                f"them, repetitions counted out; these have {num_states}. Shorten repetitions",
                param=PARAM,
            )
        self._follow: list[int] = []  # by state: the states of the next character
        self._states_of: dict[CharacterSet, int] = {}
        self.first = 0
        self.last_of: list[int] = []  # by pattern: the states that complete it
        for pattern, tree in zip(self.patterns, trees, strict=True):
            whole = self._built(tree)
            if whole.is_nullable:
                raise InvalidRequest(
                    f"{PARAM} {pattern[:60]!r} matches the empty text, which would end every "
                    f"answer at once; match at least one character",
                    param=PARAM,
                )
            self.first |= whole.first
            self.last_of.append(whole.last)
        self.last = _union(self.last_of)
        self.growing = _union(1 << state for state, after in enumerate(self._follow) if after)
        self._tests = [(each.test(), states) for each, states in self._states_of.items()]
        self._matching: dict[str, int] = {}
        self._after: dict[int, int] = {}

    def matching(self, character: str) -> int:
        """Return the states whose character this is."""
        found = self._matching.get(character)
        if found is None:
            if len(self._matching) >= _MAX_REMEMBERED:
                self._matching.clear()
            found = _union(states for has, states in self._tests if has(character))
            self._matching[character] = found
        return found

    def after(self, states: int) -> int:
        """Return the states that may follow any of these."""
        found = self._after.get(states)
        if found is None:
            if len(self._after) >= _MAX_REMEMBERED:
                self._after.clear()
            found = _union(self._follow[state] for state in _bits(states))
            self._after[states] = found
        return found

    def _built(self, node: Node) -> _Fragment:
        """Add the states of a tree; return its fragment."""
        if isinstance(node, CharacterSet):
            state = 1 << len(self._follow)
            self._follow.append(0)
            self._states_of[node] = self._states_of.get(node, 0) | state
            return _Fragment(state, state, False)
        if isinstance(node, Choice):
            parts = [self._built(part) for part in node.parts]
            return _Fragment(
                _union(part.first for part in parts),
                _union(part.last for part in parts),
                any(part.is_nullable for part in parts),
            )
        if isinstance(node, Repeat):
            return self._repeated(node)
        whole = _Fragment(0, 0, True)
        for part in node.parts:
            whole = self._joined(whole, self._built(part))
        return whole

    def _repeated(self, node: Repeat) -> _Fragment:
        if node.most == 0 or not _num_states(node.part):
            return _Fragment(0, 0, True)
        whole = _Fragment(0, 0, True)
        for number in range(max(node.least, node.most or 1)):
            part = self._built(node.part)
            if node.most is None and number + 1 >= node.least:
                self._link(part.last, part.first)
            if number >= node.least:
                part = _Fragment(part.first, part.last, True)
            whole = self._joined(whole, part)
        return whole

    def _joined(self, one: _Fragment, other: _Fragment) -> _Fragment:
        self._link(one.last, other.first)
        return _Fragment(
            one.first | (other.first if one.is_nullable else 0),
            other.last | (one.last if other.is_nullable else 0),
            one.is_nullable and other.is_nullable,
        )

    def _link(self, last: int, first: int) -> None:
        for state in _bits(last):
            self._follow[state] |= first


@lru_cache(maxsize=64)  # the sequences of a request share them
def stop_patterns(patterns: tuple[str, ...]) -> StopPatterns:
    """Return the automaton of patterns. Raises `InvalidRequest` for `stop_regex`."""
    return StopPatterns(patterns)


class PatternSearch:
    """Search of one text: the matches in progress, each with its first character."""

    def __init__(self, patterns: StopPatterns) -> None:
        self._patterns = patterns
        self._num_read = 0  # characters
        # Where matches in progress begin, earliest first, and their states. A state is listed
        # once, with the earliest beginning: it goes on in the same way from each of them.
        self._begun: list[tuple[int, int]] = []

    @property
    def num_held(self) -> int:
        """Characters at the end of the text that may still become part of a match."""
        return self._num_read - self._begun[0][0] if self._begun else 0

    def push(self, character: str) -> tuple[int, str] | None:
        """Add a character; return the longest match that it completes: its length and pattern.

        None if no match ends here.
        """
        patterns = self._patterns
        matching = patterns.matching(character)
        found: tuple[int, str] | None = None
        begun: list[tuple[int, int]] = []
        seen = 0
        self._num_read += 1
        for begin, states in (*self._begun, (self._num_read - 1, 0)):
            after = patterns.after(states) if states else patterns.first
            reached = after & matching & ~seen
            if not reached:
                continue
            seen |= reached
            if found is None and reached & patterns.last:
                at = next(i for i, last in enumerate(patterns.last_of) if reached & last)
                found = self._num_read - begin, patterns.patterns[at]
            if growing := reached & patterns.growing:
                begun.append((begin, growing))
        self._begun = begun
        return found

    def clear(self) -> None:
        """Forget the matches in progress."""
        self._begun = []


def _num_states(node: Node) -> int:
    """Return the number of states of a tree, repetitions counted out."""
    if isinstance(node, CharacterSet):
        return 1
    if isinstance(node, Choice | Parts):
        return sum(map(_num_states, node.parts))
    most = max(node.least, 1) if node.most is None else node.most
    return most * _num_states(node.part)


def _union(sets: Iterator[int] | Sequence[int]) -> int:
    union = 0
    for each in sets:
        union |= each
    return union


def _bits(states: int) -> Iterator[int]:
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states ^= lowest
