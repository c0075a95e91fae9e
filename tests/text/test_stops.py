"""Stop strings are found at the same place however the text is cut, and never shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.text.stops import StopScanner


def plain_twin(
    text: str, stops: list[str], include: bool, first_end: int = 1
) -> tuple[str, str | None]:
    """Grow the text by one character at a time and look at its end."""
    for end in range(first_end, len(text) + 1):
        matches = [stop for stop in stops if text[:end].endswith(stop)]
        if matches:
            longest = max(matches, key=len)
            return text[: end if include else end - len(longest)], longest
    return text, None


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
    wanted, wanted_stop = plain_twin("".join(pieces), stops, include)
    shown, found = "", None
    for piece in pieces:
        safe, found = scanner.push(piece)
        shown += safe
        assert wanted.startswith(shown)  # nothing is ever shown that must be taken back
        if found is not None:
            break
    else:
        shown += scanner.flush()
    assert (shown, found) == (wanted, wanted_stop)


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
    wanted, wanted_stop = plain_twin(early + late, stops, include, first_end=len(early) + 1)
    before, none = scanner.push(early, may_stop=False)
    after, found = scanner.push(late)
    assert none is None
    assert wanted.startswith(before)
    shown = before + after + ("" if found else scanner.flush())
    assert (shown, found) == (wanted, wanted_stop)


def test_text_costs_the_same_whatever_is_held_back() -> None:
    def cost_s(stop_len: int) -> float:
        # The first is held back; each of its characters may begin the second.
        scanner = StopScanner(["a" * stop_len + "x", "a" + "b" * stop_len])
        scanner.push("a" * 1024)
        began = time.perf_counter()
        for _ in range(500):
            assert scanner.push("a") == ("a", None)
        return time.perf_counter() - began

    # Sixteen times as much is held back; comparing it anew would cost sixteen times, or its square.
    assert min(cost_s(1008) for _ in range(5)) < 6 * min(cost_s(63) for _ in range(5))


@given(pieces=st.lists(ab, max_size=10), stop=st.text(alphabet="ab", min_size=1, max_size=6))
def test_no_more_is_held_back_than_could_begin_a_stop(pieces: list[str], stop: str) -> None:
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
