"""Stop strings are found at the same place in pieces of any size, and never shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.text.stops import StopScanner


def plain_twin(
    text: str, stops: list[str], include: bool, first_end: int = 1
) -> tuple[str, str | None]:
    """Grow the text by one character at a time and compare its end."""
    for end in range(first_end, len(text) + 1):
        matches = [stop for stop in stops if text[:end].endswith(stop)]
        if matches:
            longest = max(matches, key=len)
            return text[: end if include else end - len(longest)], longest
    return text, None


def scanned(
    scanner: StopScanner, pieces: list[str], expected: str, shown: str = ""
) -> tuple[str, str | None]:
    """Return the text shown for pieces behind `shown`, and the stop."""
    for piece in pieces:
        safe, found = scanner.push(piece)
        shown += safe
        assert expected.startswith(shown)  # shown text is never taken back
        if found is not None:
            return shown, found
    return shown + scanner.flush(), None


ab = st.text(alphabet="ab", max_size=30)


@given(
    pieces=st.lists(st.text(alphabet="abc", max_size=5), max_size=12),
    stops=st.lists(st.text(alphabet="abc", min_size=1, max_size=5), max_size=4, unique=True),
    include=st.booleans(),
)
def test_same_as_the_plain_twin_in_any_pieces(
    pieces: list[str], stops: list[str], include: bool
) -> None:
    scanner = StopScanner(stops, include)
    expected, expected_stop = plain_twin("".join(pieces), stops, include)
    assert scanned(scanner, pieces, expected) == (expected, expected_stop)


@given(
    early=st.text(alphabet="abc", max_size=12),
    late=st.text(alphabet="abc", max_size=12),
    stops=st.lists(st.text(alphabet="abc", min_size=1, max_size=5), max_size=4, unique=True),
    include=st.booleans(),
)
def test_a_stop_string_may_begin_before_one_may_end(
    early: str, late: str, stops: list[str], include: bool
) -> None:
    scanner = StopScanner(stops, include)
    expected, expected_stop = plain_twin(early + late, stops, include, first_end=len(early) + 1)
    before, none = scanner.push(early, may_stop=False)
    after, found = scanner.push(late)
    assert none is None
    assert expected.startswith(before)
    shown = before + after + ("" if found else scanner.flush())
    assert (shown, found) == (expected, expected_stop)


class CountedText(str):
    """Text that counts the look-ups of its characters."""

    num_lookups = 0

    def __getitem__(self, place: object) -> str:
        CountedText.num_lookups += 1
        return super().__getitem__(place)  # type: ignore[index]


@pytest.mark.parametrize("num_held", [63, 1008])
def test_a_character_costs_the_same_with_any_text_held_back(num_held: int) -> None:
    # The first is held back; each of its characters may begin the second.
    stops = [CountedText("a" * num_held + "x"), CountedText("a" + "b" * num_held)]
    scanner = StopScanner(stops)
    scanner.push("a" * 1024)
    CountedText.num_lookups = 0
    for _ in range(500):
        assert scanner.push("a") == ("a", None)
    assert CountedText.num_lookups <= 8 * 500


@given(pieces=st.lists(ab, max_size=10), stop=st.text(alphabet="ab", min_size=1, max_size=6))
def test_only_the_beginning_of_a_stop_is_held_back(pieces: list[str], stop: str) -> None:
    scanner = StopScanner([stop])
    shown, seen = "", ""
    for piece in pieces:
        safe, found = scanner.push(piece)
        if found is not None:
            return
        shown, seen = shown + safe, seen + piece
        assert stop.startswith(seen[len(shown) :])
        longer = [k for k in range(len(stop)) if seen.endswith(stop[:k])]
        assert len(seen) - len(shown) == max(longer, default=0)


@pytest.mark.parametrize(
    ("stops", "text", "shown", "stop"),
    [
        (["END"], "the END of", "the ", "END"),
        (["b", "ab"], "xab", "x", "ab"),
        (["abcd", "bc"], "xabcd", "xa", "bc"),
        ([], "free", "free", None),
        (["🙂"], "smile 🙂 more", "smile ", "🙂"),
    ],
)
def test_examples(stops: list[str], text: str, shown: str, stop: str | None) -> None:
    scanner = StopScanner(stops)
    safe, found = scanner.push(text)
    assert (safe + ("" if found else scanner.flush()), found) == (shown, stop)
