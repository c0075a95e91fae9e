"""The table of client libraries: each client has a row with the locked version and an example."""

from __future__ import annotations

import re

import pytest

from tests.clients import document, matrix

PAGE = document.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("client", matrix.CLIENTS)
def test_each_client_has_a_row_with_its_locked_version(client: str) -> None:
    start = f"| {matrix.CLIENTS[client]} | {document.version_of(client)} |"
    (row,) = [line for line in PAGE.splitlines() if line.startswith(start)]
    assert row.count("|") == len(matrix.FEATURES) + 3
    assert "ok" in row


def test_each_reason_of_the_table_is_listed() -> None:
    table, _, _ = PAGE.partition(document.END)
    named = {int(number) for number in re.findall(r"\((\d+)\) \|", table)}
    listed = {int(number) for number in re.findall(r"^(\d+)\. ", table, re.MULTILINE)}
    assert named == listed


def test_the_table_shows_failures_and_reasons() -> None:
    outcomes = {
        "llm/chat": ("ok", ""),
        "llm/stream": ("fails", "BadRequestError: no"),
        "llm/schema": ("expected", "the model lacks it"),
    }
    *_, row, blank, first, second = document.table(outcomes).splitlines()
    assert "| ok | fails (1) | – |" in row and "| no (2) |" in row
    assert (blank, first, second) == ("", "1. BadRequestError: no", "2. the model lacks it")
