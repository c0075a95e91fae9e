"""Shell completion with Tab."""

from __future__ import annotations

import os
import sys

import pytest

from yaie.cli import main


def complete(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Return what bash shows after Tab."""
    monkeypatch.setattr("yaie.cli.terminal.prepare_streams", lambda: None)
    monkeypatch.setattr(sys, "argv", ["yaie"])
    words = typed.split(" ")
    line = {"COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    for name, value in ({"_YAIE_COMPLETE": "complete_bash"} | line).items():
        monkeypatch.setitem(os.environ, name, value)
    with pytest.raises(SystemExit):
        main.main()
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("yaie serve --policy ", ["prefix-aware", "fair", "fcfs", "lpm", "priority"]),
        ("yaie serve --policy f", ["fair", "fcfs"]),
        ("yaie run --quantization ", ["int8", "int4"]),
        ("yaie serve --log-level w", ["warning"]),
        ("yaie run -m buil", ["builtin"]),
        ("yaie -m buil", ["builtin"]),
        ("yaie serve buil", ["builtin"]),
        ("yaie ser", ["serve"]),
    ],
)
def test_values_are_completed(
    typed: str,
    shown: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert complete(typed, monkeypatch, capsys) == shown
