"""The table of features: every id once, tests that exist, and right counts."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "internals" / "feature-table.md"
# Numbers of the optional features, which have no row.
_OPTIONAL = {
    0: {12, 27, 47, 54, 55, 57, 61, 63, 65},
    1: {6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 23, 24, 25, 28, 29,
        62, 63, 64, 65, 66, 67, 72, 73, 74, 75, 76, 77, 78},
    2: {3, 4, 5, 6, 24},
    3: {28, 49, 52, 57},
    4: set(),
}  # fmt: skip
_LAST = {0: 65, 1: 78, 2: 26, 3: 58, 4: 36}
_ROW = re.compile(r"^\| (S\d-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
_COUNTS = re.compile(r"(?<=<!-- counts -->\n).*(?=<!-- end -->)", re.DOTALL)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


class Row(NamedTuple):
    """One feature."""

    id: str
    feature: str
    state: str
    tests: str

    @property
    def kind(self) -> str:
        """The state without what is lacking."""
        return self.state.partition(":")[0]


def rows() -> list[Row]:
    return [Row(*found) for found in _ROW.findall(PAGE.read_text(encoding="utf-8"))]


def counts() -> str:
    """Return the sentence on the states."""
    found = Counter(row.kind for row in rows())
    works, part, missing = (found[kind] for kind in ("works", "in part", "missing"))
    return f"{works} work, {part} work in part, {missing} are missing.\n"


@functools.cache
def functions_of(path: str) -> set[str]:
    """Return the names of a file's functions."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_feature_has_one_row() -> None:
    ids = [
        f"S{system}-{number}"
        for system, last in _LAST.items()
        for number in range(1, last + 1)
        if number not in _OPTIONAL[system]
    ]
    assert len(ids) == 212
    assert [row.id for row in rows()] == ids


def test_every_state_is_one_of_three() -> None:
    for row in rows():
        assert re.fullmatch(r"works|missing|in part: .+", row.state), row
        assert _TEST.search(row.tests) or row.kind != "works", row


def test_every_named_test_exists() -> None:
    for row in rows():
        named = _TEST.findall(row.tests)
        shown = "<br>".join(f"`{path}::{name}`" for path, name in named)
        assert row.tests.strip() == shown, row
        for path, name in named:
            assert (ROOT / path).exists(), row
            assert name.startswith("test_") and name in functions_of(path), row


def test_every_fault_has_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "guides" / "reliability.md").read_text(encoding="utf-8")
    rows_of_faults = [line for line in text.splitlines() if "`tests/" in line]
    assert len(rows_of_faults) > 40
    for path, name in _TEST.findall(text):
        assert name in functions_of(path), name


def test_the_counts_are_those_of_the_rows() -> None:
    found = _COUNTS.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == counts(), "run python -m tests.test_feature_table"


if __name__ == "__main__":
    PAGE.write_text(_COUNTS.sub(counts(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
