"""Stop patterns are found where Python's `re` finds them, in any pieces and bounded time."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.test_stops import scanned
from yaie.base.errors import InvalidRequest
from yaie.text.stop_patterns import (
    MAX_MATCH_CHARS,
    MAX_PATTERN_CHARS,
    MAX_PATTERNS,
    TIMEOUT_S,
    PatternSearch,
    StopPatterns,
)
from yaie.text.stops import StopScanner

LEAVES = (
    "a", "b", "c", ".", "[ab]", "[^a]", "[a-c]", r"\w", r"\s", r"\W", r"\.", r"\x61",
    r"[\x61-\u00e8\d]", r"[\b-b-]",
    "[]a]", "[^]a]", "[^^a]", r"[\]b]", "é",
)  # fmt: skip
QUANTIFIERS = ("*", "+", "?", "*?", "{2}", "{1,2}", "{,2}", "{2,}", "{0}")


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.sampled_from(["({})", "(?:{})", "(?P<n>{})", "(?i:{})", "(?s:{})"])
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.builds(lambda part, sign: f"(?:{part}){sign}", parts, st.sampled_from(QUANTIFIERS)),
        st.builds(lambda form, part: form.format(part), group, parts),
    )


expressions = st.recursive(st.sampled_from(LEAVES), _joined, max_leaves=6).filter(
    lambda each: each.count("(?P<n>") < 2
)
texts = st.text(alphabet="abcABé \n.^]", max_size=6)


def plain_twin(
    text: str, stops: list[str], patterns: list[str], include: bool, first_end: int = 1
) -> tuple[str, str | None]:
    """Compare all pieces of the text, those that end first before others, the longest first."""
    for end in range(first_end, len(text) + 1):
        for begin in range(end):
            found = [stop for stop in stops if stop == text[begin:end]]
            found += [each for each in patterns if re.compile(each).fullmatch(text[begin:end])]
            if found:
                return text[: end if include else begin], found[0]
    return text, None


def usable(patterns: list[str]) -> bool:
    try:
        StopPatterns(patterns)
    except InvalidRequest:
        return False
    return True


@given(
    pieces=st.lists(texts, max_size=6),
    early=texts,
    stops=st.lists(st.text(alphabet="abc", min_size=1, max_size=3), max_size=2, unique=True),
    patterns=st.lists(expressions, min_size=1, max_size=3, unique=True).filter(usable),
    include=st.booleans(),
)
def test_same_as_the_plain_twin_in_any_pieces(
    pieces: list[str], early: str, stops: list[str], patterns: list[str], include: bool
) -> None:
    scanner = StopScanner(stops, include, patterns)
    whole = early + "".join(pieces)
    expected, expected_stop = plain_twin(whole, stops, patterns, include, len(early) + 1)
    shown, found = scanner.push(early, may_stop=False)
    assert found is None
    assert scanned(scanner, pieces, expected, shown) == (expected, expected_stop)


@given(pattern=st.text(alphabet="ab()[]{}?*+|^$\\.,-:<=!Pi019\n", max_size=12))
def test_any_text_is_a_pattern_of_python_or_refused(pattern: str) -> None:
    if usable([pattern]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("^a", "'^', a place in the text"),
        ("a$", "'$', a place in the text"),
        (r"\bend", r"'\b', a place in the text"),
        ("(?=a)b", "a look ahead"),
        ("(?!a)b", "a look ahead"),
        ("(?<=a)b", "a look behind"),
        (r"(a)\1", "a back reference"),
        ("(?P<n>a)(?P=n)", "a back reference"),
        ("(?>a)", "an atomic group"),
        ("a++", "a possessive quantifier"),
        ("(?x)a b", "the flag x"),
        ("a(?i)b", "sets flags after its start"),
        ("(a", "'(' without a ')'"),
        ("a)", "')' without a '('"),
        ("[a", "'[' without a ']'"),
        ("a**", "repeats a repetition"),
        ("*a", "nothing before it to repeat"),
        ("a{3,2}", "min repeat greater than max repeat"),
        ("a\\", "ends with a backslash"),
        (r"\q", "has the unknown escape"),
        ("[z-a]", "bad character range"),
        ("(" * 41 + "a" + ")" * 41, "more than 40 groups"),
        ("a*", "matches the empty text"),
        ("", "matches the empty text"),
        ("a{999999}", "999999"),
        (r"[\d-z]", "a category as a range bound"),
        (r"\U00110000", "bad"),
        (r"\x1", "has the unknown escape"),
        ("((a{0,16}){0,16}){0,16}", "4096"),
        ("a" * (MAX_PATTERN_CHARS + 1), f"at most {MAX_PATTERN_CHARS} characters"),
    ],
)
def test_other_patterns_are_refused_by_name(pattern: str, fault: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        StopPatterns([pattern])
    assert caught.value.param == "stop_regex"
    assert fault in caught.value.message


def test_the_number_of_patterns_is_bounded() -> None:
    with pytest.raises(InvalidRequest, match=f"at most {MAX_PATTERNS} patterns"):
        StopPatterns(["a"] * (MAX_PATTERNS + 1))


@pytest.mark.parametrize("pattern", ["(a|aa)*b{90}", r"\w+[!?]", "a.*[bc]"])
def test_a_long_text_stays_within_the_budget(pattern: str) -> None:
    search = PatternSearch(StopPatterns([pattern]))
    for _ in range(3000):
        assert search.push("aaaa", may_stop=True) is None
        assert search.num_held <= MAX_MATCH_CHARS + 64


def test_a_pattern_that_backtracks_for_long_ends_in_an_error() -> None:
    search = PatternSearch(StopPatterns(["(a?){60}a{60}b"]))
    started = time.process_time()
    with pytest.raises(InvalidRequest, match=r"stop_regex took more than 0\.5 s") as caught:
        for _ in range(1000):
            search.push("a", may_stop=True)
    assert caught.value.param == "stop_regex"
    assert time.process_time() - started < 5


def test_a_match_has_a_largest_length() -> None:
    scanner = StopScanner([], patterns=["(?s)<a>.*</a>"])
    inner = "x" * (MAX_MATCH_CHARS - len("<a></a>"))
    assert scanner.push(f"1<a>{inner}</a>") == ("1", "(?s)<a>.*</a>")
    scanner = StopScanner([], patterns=["(?s)<a>.*</a>"])
    assert scanner.push(f"1<a>{inner}x")[1] is None
    assert scanner.push("</a>")[1] is None


@pytest.mark.parametrize(
    ("patterns", "text", "shown", "stop"),
    [
        ([r"\d{4}"], "in 1999, or", "in ", r"\d{4}"),
        ([r"\n\s*\n"], "one\n \ntwo", "one", r"\n\s*\n"),
        ([r"</?(a|b)>"], "x <c> <b> y", "x <c> ", "</?(a|b)>"),
        (["(?i)end"], "The END", "The ", "(?i)end"),
        (["ab+", "b"], "xabb", "x", "ab+"),
        (["🙂|x"], "smile 🙂 more", "smile ", "🙂|x"),
        (["a{,2}b", "{}"], "aab", "", "a{,2}b"),
    ],
)
def test_examples(patterns: list[str], text: str, shown: str, stop: str) -> None:
    assert StopScanner([], patterns=patterns).push(text) == (shown, stop)


def test_only_a_beginning_of_a_match_is_held_back() -> None:
    scanner = StopScanner([], patterns=["ab+c"])
    assert scanner.push("xxa") == ("xx", None)
    assert scanner.push("bbbb") == ("", None)
    assert scanner.push("d") == ("abbbbd", None)


def test_pauses_between_searches_are_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine pauses threads; only processor time counts."""
    search = PatternSearch(StopPatterns(["a+b"]))
    whole = search._push

    def paused(text: str, may_stop: bool) -> object:
        time.sleep(0.002)
        return whole(text, may_stop)

    monkeypatch.setattr(search, "_push", paused)
    for _ in range(5):
        search.push("aa", may_stop=True)
    assert search._left_s == TIMEOUT_S
