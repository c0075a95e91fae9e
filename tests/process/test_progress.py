"""Progress: reports on one line of a terminal or a notebook, and nothing elsewhere."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.process import progress
from yaie.process.progress import log_progress, report, report_each, show_progress


class Terminal(io.StringIO):
    """A terminal of one wide line after another; `screen` is what can be read on it."""

    def __init__(self) -> None:
        super().__init__()
        self.has_drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if text.strip():
            self.has_drawn.set()
        return written

    @property
    def screen(self) -> list[str]:
        lines = []
        for line in self.getvalue().split("\n"):
            seen = ""
            for text in line.split("\r"):
                seen = text + seen[len(text) :]
            lines.append(seen.rstrip())
        return lines


class Notebook(Terminal):
    """Stand-in for the stream that ipykernel puts in the place of standard error."""

    def isatty(self) -> bool:
        return False


Notebook.__module__ = "ipykernel.iostream"


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FIRST_S", "_EVERY_S", "_LOGGED_S", "_LEAST_S"):
        monkeypatch.setattr(progress, name, 0.001)


def use(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> Terminal:
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def wait_for(text: str, read: Callable[[], str]) -> None:
    pause = threading.Event()
    for _ in range(10_000):
        if text in read():
            return
        pause.wait(0.001)
    raise TimeoutError(f"no {text!r} in {read()!r}")


@pytest.mark.parametrize("kind", [Terminal, Notebook])
def test_a_line_names_the_stage_its_parts_and_its_seconds(
    monkeypatch: pytest.MonkeyPatch, kind: type[Terminal]
) -> None:
    terminal = use(monkeypatch, kind())
    with show_progress("importing"):
        wait_for("\rimporting · 0 s", terminal.getvalue)
        for layer in report_each(range(1200), "packing", 1200):
            if layer == 1100:
                wait_for("\rpacking: 1,100 of 1,200 layers · 0 s", terminal.getvalue)
    assert terminal.screen == [""]


def test_what_follows_a_stage_without_a_name_is_not_overwritten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = use(monkeypatch, Terminal())
    with show_progress("asking the hub"):
        wait_for("asking", terminal.getvalue)
        report("")
        assert terminal.screen == [""]
        terminal.write("a bar of another library")
        threading.Event().wait(0.05)
        assert terminal.screen == ["a bar of another library"]


def test_a_log_record_has_its_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use(monkeypatch, Terminal())
    make_record = logging.getLogRecordFactory()
    log, handler = logging.getLogger("test.progress"), logging.StreamHandler(terminal)
    log.addHandler(handler)
    try:
        with show_progress("reading weights"):
            for number in range(20):
                wait_for("reading", lambda: terminal.screen[-1])
                log.warning("warning %d", number)
    finally:
        log.removeHandler(handler)
    assert terminal.screen == [*(f"warning {number}" for number in range(20)), ""]
    assert logging.getLogRecordFactory() is make_record


def test_a_pipe_a_closed_stream_and_an_unwanted_line_get_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe, terminal = io.StringIO(), Terminal()
    for stream, wanted in ((pipe, True), (None, True), (terminal, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with show_progress("reading", wanted=wanted):
            report("reading", 1, 2)
            assert not [each for each in threading.enumerate() if each.name == "progress"]
    assert pipe.getvalue() == terminal.getvalue() == ""


def test_a_model_inside_a_command_adds_to_the_command_s_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = use(monkeypatch, Terminal())
    with show_progress("importing"):
        with show_progress("reading"):
            report("packing")
            wait_for("packing", terminal.getvalue)
        report("comparing")
        wait_for("comparing", terminal.getvalue)
    assert "reading" not in terminal.getvalue()


def test_the_line_is_erased_where_the_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use(monkeypatch, Terminal())
    with pytest.raises(KeyboardInterrupt), show_progress("reading"):
        wait_for("reading", terminal.getvalue)
        raise KeyboardInterrupt
    assert terminal.screen == [""]
    report("later")
    assert progress._shown is None


def test_a_server_logs_what_it_does_where_it_is_wanted(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("test.progress")
    with caplog.at_level(logging.INFO), log_progress(log, "reading", wanted=False):
        report("reading", 1, 2)
    assert not caplog.records
    with caplog.at_level(logging.INFO), log_progress(log, "importing", wanted=True):
        report("reading", 1, 2)
        wait_for("reading: 1 of 2 layers · 0 s", lambda: caplog.text)
        report("")
    assert all(record.getMessage() for record in caplog.records)


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N", "Zs"])), max_size=20))
def test_each_drawing_replaces_the_last_one(texts: list[str]) -> None:
    terminal = Terminal()
    line = progress._Line(terminal)
    for text in texts:
        line.draw(text)
        assert terminal.screen == [text[:79].rstrip()]
    line.erase()
    assert terminal.screen == [""]
    assert terminal.getvalue().endswith("\r") or not "".join(texts).strip()
