"""`StopPatterns`: regular expressions that end an answer, searched in text that arrives.

A pattern has a subset of Python's syntax, without anything that looks around a match or remembers
text. It is translated for the `regex` module, whose partial matches tell which end of the text may
still become a match, and whose timeout bounds the search: clients choose the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from time import thread_time

import regex

from yaie.base.errors import InvalidRequest

PARAM = "stop_regex"
MAX_PATTERNS = 16
MAX_PATTERN_CHARS = 1024  # in all patterns together
MAX_DEPTH = 40  # groups inside each other
MAX_SIZE = 128  # characters and classes in all patterns; a{3} has three
MAX_MATCH_CHARS = 4096  # also the most text that is held back
TIMEOUT_S = 0.5  # processor time for the slow searches of one sequence
_SLOW_S = 0.001
_LEAST_S = 0.05  # elapsed time for one search: a busy machine may pause it
_SHORT_CHARS = 128  # held text that each push searches whole; of longer text the new end alone
_RECHECK_CHARS = 64  # until longer text is searched for a later beginning

_ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|0[0-7]{0,2}|[0-3][0-7]{2}|.)"
_TOKEN = re.compile(
    rf"""(?P<comment>\(\?\#[^)]*\))
    |(?P<flags>\(\?(?P<on>[aiLmsux]*)(?:-(?P<off>[ims]+))?(?P<end>[:)]))
    |(?P<group>\((?:\?P<[^\W\d]\w*>|(?!\?)))
    |(?P<other_group>\(\?<?.?)
    |(?P<close>\))
    |(?P<class>\[\^?\]?+(?:\\.|[^\]\\])*+\])
    |(?P<escape>{_ESCAPE})
    |(?P<quantifier>(?:[*+?]|\{{(?P<bounds>[0-9]{{1,6}}|[0-9]{{0,6}},[0-9]{{0,6}})\}})(?P<way>[+?]?))
    |(?P<character>.)""",
    re.DOTALL | re.VERBOSE,
)
_CLASS_ITEM = re.compile(rf"{_ESCAPE}|.", re.DOTALL)
_OUTSIDE = set("AbBZ")  # escapes that look around a match
_GROUP_NUMBERS = set("123456789")
_ASCII = {
    r"\d": "0-9",
    r"\D": r"\x00-/:-\U0010FFFF",
    r"\s": r"\t-\r\x20",
    r"\S": r"\x00-\x08\x0e-\x1f!-\U0010FFFF",
    r"\w": "0-9A-Z_a-z",
    r"\W": r"\x00-/:-@\[-\^`\{-\U0010FFFF",
}
_OTHER_GROUPS = {
    "(?=": "a look ahead",
    "(?!": "a look ahead",
    "(?<": "a look behind",
    "(?>": "an atomic group",
    "(?(": "a condition",
    "(?P": "a back reference",
}


class StopPatterns:
    """The compiled patterns of one request. Raises `InvalidRequest` for a wrong one."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        if sum(map(len, self.patterns)) > MAX_PATTERN_CHARS:
            raise InvalidRequest(
                f"{PARAM} may have at most {MAX_PATTERN_CHARS} characters over all patterns",
                param=PARAM,
            )
        translated = [_Translator(pattern).translate() for pattern in self.patterns]
        size = sum(size for _, size in translated)
        if len(self.patterns) > MAX_PATTERNS or size > MAX_SIZE:
            raise InvalidRequest(
                f"{PARAM} may have at most {MAX_PATTERNS} patterns and {MAX_SIZE} characters in "
                f"them, repetitions counted out; these have {size}. Shorten repetitions",
                param=PARAM,
            )
        sources = [source for source, _ in translated]
        self._each = [_compile(*each) for each in zip(self.patterns, sources, strict=True)]
        any_of_them = "|".join(sources)
        self.whole = regex.compile(f"(?:{any_of_them})")
        # This one never matches a whole text, so its partial matches include whole ones.
        self.begun = regex.compile(rf"(?:{any_of_them})[^\s\S]")
        self.ending = regex.compile(f"(?r)(?:{any_of_them})")
        self.at_end = regex.compile(rf"(?:{any_of_them})\Z")
        for pattern, compiled in zip(self.patterns, self._each, strict=True):
            if compiled.fullmatch("", timeout=TIMEOUT_S):
                raise InvalidRequest(
                    f"{PARAM} {pattern[:60]!r} matches the empty text, which would end every "
                    "answer at once; match at least one character",
                    param=PARAM,
                )

    def name_match(self, match: str, timeout_s: float) -> str:
        """Return the first pattern that matches the whole of this text."""
        for pattern, compiled in zip(self.patterns, self._each, strict=True):
            if compiled.fullmatch(match, timeout=timeout_s):
                return pattern
        raise AssertionError(f"no pattern matches {match!r}")


@lru_cache(maxsize=64)  # the sequences of a request share them
def stop_patterns(patterns: tuple[str, ...]) -> StopPatterns:
    """Return the compiled patterns. Raises `InvalidRequest` for `stop_regex`."""
    return StopPatterns(patterns)


def _compile(pattern: str, source: str) -> regex.Pattern[str]:
    try:
        return regex.compile(source)
    except regex.error as error:
        raise InvalidRequest(f"{PARAM} {pattern[:60]!r}: {error.msg}", param=PARAM) from None


class PatternSearch:
    """Search of one text that arrives in chunks."""

    def __init__(self, patterns: StopPatterns) -> None:
        self._patterns = patterns
        self._held = ""  # the end of the text, from the first character that may begin a match
        self._num_unchecked = 0  # characters since the last search for that beginning
        self._left_s = TIMEOUT_S

    @property
    def num_held(self) -> int:
        """Characters at the end of the text that may still become part of a match."""
        return len(self._held)

    def push(self, text: str, *, may_stop: bool) -> tuple[int, str, str] | None:
        """Add text; return the match that is complete first, and of several the longest.

        The match is the number of characters of `text` up to its end, itself, and its pattern.
        Without `may_stop` no match ends in `text`. Raises `InvalidRequest` after a timeout.
        """
        started = thread_time()
        try:
            return self._push(text, may_stop)
        except TimeoutError:
            raise InvalidRequest(
                f"{PARAM} took more than {TIMEOUT_S} s to search this answer; write patterns "
                "without adjacent or nested repetitions that match the same text",
                param=PARAM,
            ) from None
        finally:
            spent_s = thread_time() - started
            if spent_s > _SLOW_S:
                self._left_s = max(self._left_s - spent_s, _LEAST_S)

    def _push(self, text: str, may_stop: bool) -> tuple[int, str, str] | None:
        num_old, self._held = len(self._held), self._held + text
        patterns, timeout_s = self._patterns, self._left_s
        if may_stop and num_old <= _SHORT_CHARS:  # one search for both
            begun = patterns.whole.search(self._held, partial=True, timeout=timeout_s)
            if not begun.partial:
                return self._first_match(num_old)
        else:
            if may_stop and (match := self._first_match(num_old)):
                return match
            self._num_unchecked += len(text)
            if num_old > _SHORT_CHARS and self._num_unchecked < _RECHECK_CHARS:
                return None
            # A match that may continue where it began spares the search from there on.
            begun = patterns.begun.match(self._held, partial=True, timeout=timeout_s)
            begun = begun or patterns.begun.search(self._held, partial=True, timeout=timeout_s)
        self._num_unchecked = 0
        self._held = self._held[begun.start() :][-MAX_MATCH_CHARS:]
        return None

    def _first_match(self, num_old: int) -> tuple[int, str, str] | None:
        """Return the match that ends first after `num_old` characters of the text held back."""
        patterns, held, timeout_s = self._patterns, self._held, self._left_s
        for end in range(num_old + 1, len(held) + 1):
            begin = max(end - MAX_MATCH_CHARS, 0)
            if patterns.ending.match(held, begin, end, timeout=timeout_s):
                match = patterns.at_end.search(held, begin, end, timeout=timeout_s)[0]
                return end - num_old, match, patterns.name_match(match, timeout_s)
        return None

    def clear(self) -> None:
        """Forget the text held back."""
        self._held = ""


class _Translator:
    """One pass over a pattern in Python's syntax, into the syntax of `regex`."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._end = ")"
        self._sets_case = False
        # By group, the innermost last. `regex` has the flag `a` for a whole pattern alone.
        self._is_ascii = [False]
        self._sizes = [0]  # characters and classes, repetitions counted out
        self._last_size: int | None = None  # the part that a quantifier would repeat
        self._is_repeated = False

    def translate(self) -> tuple[str, int]:
        """Return the pattern for `regex` and its size. Raises `InvalidRequest`."""
        source = "".join(map(self._read, _TOKEN.finditer(self._pattern)))
        if len(self._sizes) > 1:
            raise self._fault("has a '(' without a ')'")
        # `regex` 2026.11 looks for the characters that a match may begin with in one case for all
        # of them, and misses some where the case differs; an empty choice makes it try each place.
        all_places = "|(?!)" if self._sets_case else ""
        return f"(?:{source}{all_places}{self._end}", self._sizes[0]

    def _read(self, token: re.Match[str]) -> str:
        self._at, text = token.start(), token[0]
        match token.lastgroup:
            case "comment":
                source = ""
            case "group":
                source = self._open("(?:", is_ascii=self._is_ascii[-1])
            case "flags":
                source = self._read_flags(token)
            case "other_group":
                raise self._refuse_pattern(
                    _OTHER_GROUPS.get(text[:3], f"an unknown group {text!r}")
                )
            case "close":
                source = self._close()
            case "quantifier":
                source = self._read_quantifier(token)
            case "class":
                source = self._add(self._read_class(text), 1)
            case "escape":
                source = self._add(self._read_escape(text), 1)
            case _:
                source = self._read_character(text)
        return source

    def _read_flags(self, token: re.Match[str]) -> str:
        on, off = token["on"], token["off"] or ""
        for flag in "xL":
            if flag in on:
                raise self._refuse_pattern(f"the flag {flag}")
        self._sets_case = self._sets_case or "i" in on + off
        is_ascii = ("a" in on or self._is_ascii[-1]) and "u" not in on
        scope = "".join(flag for flag in "ims" if flag in on and flag not in off)
        scope = f"(?{scope}-{off}:" if off else f"(?{scope}:"
        if token["end"] == ":":
            return self._open(scope, is_ascii=is_ascii)
        if self._at or off:
            raise self._fault("sets flags after its start; write (?i:...)")
        self._is_ascii[0] = is_ascii
        self._end = "))"
        return scope

    def _open(self, scope: str, *, is_ascii: bool) -> str:
        if len(self._sizes) > MAX_DEPTH:
            raise self._fault(f"nests more than {MAX_DEPTH} groups")
        self._sizes.append(0)
        self._is_ascii.append(is_ascii)
        self._last_size = None
        return scope

    def _close(self) -> str:
        if len(self._sizes) == 1:
            raise self._fault("has a ')' without a '('")
        self._is_ascii.pop()
        return self._add(")", self._sizes.pop())

    def _add(self, part: str, size: int) -> str:
        """Count a part that a quantifier may follow."""
        self._sizes[-1] += size
        self._last_size, self._is_repeated = size, False
        return part

    def _read_quantifier(self, token: re.Match[str]) -> str:
        size = self._last_size
        if size is None:
            raise self._fault(f"has {token[0]!r} with nothing before it to repeat")
        if self._is_repeated:
            raise self._fault("repeats a repetition; group the inner repetition")
        if token["way"] == "+":
            raise self._refuse_pattern("a possessive quantifier")
        self._is_repeated = True
        if token["bounds"]:
            least, comma, most = token["bounds"].partition(",")
            count = int(most or least or 0)
            if comma and not most:
                count = max(count, 1)
            self._sizes[-1] += size * (count - 1)
        return token[0]

    def _read_escape(self, escape: str, *, in_class: bool = False) -> str:
        sign = escape[1:]
        if escape in _ASCII:
            ascii_only = _ASCII[escape] if in_class else f"(?-i:[{_ASCII[escape]}])"
            return ascii_only if self._is_ascii[-1] else escape
        if not in_class and sign in _OUTSIDE:
            raise self._refuse_pattern(f"'{escape}', a place in the text")
        if not in_class and sign in _GROUP_NUMBERS:
            raise self._refuse_pattern("a back reference")
        if len(sign) == 1 and sign.isascii() and sign.isalnum() and sign not in "abfnrtv0":
            raise self._fault(f"has the unknown escape {escape!r}")
        return escape

    def _read_class(self, source: str) -> str:
        begin = 2 if source.startswith("[^") else 1
        items = _CLASS_ITEM.findall(source, begin, len(source) - 1)
        for first, sign, last in zip(items, items[1:], items[2:], strict=False):
            if sign == "-" and (first in _ASCII or last in _ASCII):
                raise self._fault("has a character class with a category as a range bound")
        return source[:begin] + "".join(map(self._read_item, items)) + "]"

    def _read_item(self, item: str) -> str:
        if len(item) > 1:
            return self._read_escape(item, in_class=True)
        return f"\\{item}" if item in "[]^" else item

    def _read_character(self, sign: str) -> str:
        if sign in "^$":
            raise self._refuse_pattern(f"{sign!r}, a place in the text")
        if sign == "[":
            raise self._fault("has a '[' without a ']'")
        if sign == "\\":
            raise self._fault("ends with a backslash")
        if sign == "|":
            self._last_size = None
            return sign
        return self._add(sign if sign == "." else regex.escape(sign), 1)

    def _refuse_pattern(self, thing: str) -> InvalidRequest:
        return self._fault(f"has {thing}: streaming search does not support it; omit it")

    def _fault(self, fact: str) -> InvalidRequest:
        return InvalidRequest(
            f"{PARAM} {self._pattern[:60]!r} {fact} (near character {self._at})", param=PARAM
        )
