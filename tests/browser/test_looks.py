"""Looks of the page: accessibility, a phone's width, types, time of a frame, and its picture."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from rich.console import Console

from tests.browser.browser import Browser
from tests.browser.conftest import PatientServer
from tests.server.real_server import WAIT_S, Server
from yaie.base.settings import BUILTIN_MODEL
from yaie.cli.top import Picture

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
TSC = ROOT / "tests/browser/js/node_modules/.bin/tsc"
# Where pictures go: with YAIE_PICTURES=docs/pictures the picture of the documents is made again.
PICTURES = Path(os.environ.get("YAIE_PICTURES") or ROOT / "build/pictures")
HANDBOOK = (
    "Handbook, edition 14. 1. Orders. An order may be changed until it leaves the warehouse. "
    "2. Returns. Goods may be sent back within 30 days. 3. Invoices are sent by mail. "
)
SYSTEM = "You are the support assistant of Acme. Be brief and exact. "
QUESTIONS = (
    *("Where is my order 4411?", "The blue lamp arrived broken. What now?"),
    *("Do you ship to Norway?", "Please send the invoice for 4377.", "Cancel 4402 please."),
)


class Builtin(PatientServer):
    """A server of the built-in model, whose answers are English."""

    def __init__(self, log: Path) -> None:
        super().__init__(
            Path(BUILTIN_MODEL), log, YAIE_SERVED_MODEL_NAME="builtin", YAIE_AUDIT="false"
        )

    def ask(self, system: str, question: str, user: str) -> None:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        body = {"messages": messages, "max_tokens": 12, "user": user, "temperature": 0}
        answer = self.post("/v1/chat/completions", body)
        assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def busy(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the built-in model with a cache as a company's support fills it."""
    server = Builtin(tmp_path_factory.mktemp("log") / "server.log")
    try:
        server.wait_ready()
        for day, number in (("25", 3), ("26", 5)):
            system = f"{SYSTEM}Today is {day} Nov 2026. {HANDBOOK * 3}"
            for question in QUESTIONS[:number]:
                server.ask(system, question, "acme")
        for name in ("Anna Berg, 34, from Oslo", "Li Wei (28) lives in Xi'an", "Pedro, Lisbon"):
            server.ask("Extract name, age and city as JSON.", name, "etl")
        for diff in ("diff --git a/scheduler.py " * 5, "diff --git a/README.md " * 4):
            server.ask("You are a careful reviewer. List faults by severity. " * 3, diff, "ci")
        yield server
    finally:
        server.stop()


def show(browser: Browser, server: Server, theme: str, width: int) -> None:
    browser.resize(width, 900 if width > 600 else 844)
    browser.open(f"{server.url}/ui", theme)
    browser.until(lambda: browser.text("#st") == "Ready", "the page is connected")
    browser.until(browser.boxes, "the tree")


def explain_last(browser: Browser) -> None:
    browser.until(lambda: browser.run("return document.querySelector('#pick').length") > 2, "calls")
    browser.run(
        "const pick = document.querySelector('#pick');"
        "const costs = [...pick.options].map(o => Number(/([\\d,]+) computed/.exec(o.text)?.[1]"
        ".replace(',', '') || 0)); pick.selectedIndex = costs.indexOf(Math.max(...costs));"
        "pick.dispatchEvent(new Event('change'))"
    )
    browser.until(lambda: browser.text("#ex .lead"), "a verdict")


@pytest.mark.parametrize(
    ("theme", "width"), [("dark", 1280), ("light", 1280), ("dark", 390), ("light", 390)]
)
def test_the_page_fits_and_violates_no_rule_of_accessibility(
    busy: Server, browser: Browser, axe: str, theme: str, width: int
) -> None:
    show(browser, busy, theme, width)
    browser.type("#c-max_tokens", "24")
    browser.chat("What is a radix tree?")
    browser.chat("And what is a leaf?")
    browser.click("#setb")
    explain_last(browser)
    time.sleep(0.5)  # movements of the tree take a quarter of a second
    browser.picture(PICTURES / f"ui-{width}-{theme}.png")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.run(axe)
    for zoomed in (False, True):
        if zoomed:
            browser.click("#ice [role=treeitem]")
            browser.click("#mask")
            time.sleep(0.5)
        found = browser.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(arguments[0])"
        )
        told = [
            (each["id"], [node["html"][:160] for node in each["nodes"][:3]])
            for each in found["violations"]
        ]
        assert told == []


def test_the_empty_page_violates_no_rule(server: Server, browser: Browser, axe: str) -> None:
    browser.open(f"{server.url}/ui")
    browser.until(lambda: browser.text("#st") == "Ready", "the page is connected")
    browser.run(axe)
    found = browser.driver.execute_async_script("axe.run(document).then(arguments[0])")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_the_picture_of_the_documents(busy: Server, browser: Browser) -> None:
    show(browser, busy, "dark", 1280)
    browser.type("#c-max_tokens", "32")
    browser.chat("What is a radix tree?")
    browser.chat("What is a leaf?", variants=True)
    explain_last(browser)
    browser.type("#say", "And what is a root?")
    browser.until(lambda: "to compute" in browser.text("#pred"), "a forecast")
    time.sleep(0.5)
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    picture = PICTURES / "ui.png"
    browser.picture(picture)
    assert picture.stat().st_size < 300_000
    assert browser.errors() == []


def test_the_terminal_picture_of_the_documents(busy: Server) -> None:
    shown = Picture()
    with requests.get(f"{busy.url}/ui/events", stream=True, timeout=WAIT_S) as feed:
        for line in feed.iter_lines():
            if line.startswith(b"data: "):
                shown.take(json.loads(line[6:]))
            if shown.is_whole:
                break
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True)
    console.print(shown.render(30, time.time()))
    # Without the font that rich would fetch from another host.
    drawn = re.sub(
        r"@font-face \{.*?\}\s*", "", console.export_svg(title="yaie top"), flags=re.DOTALL
    )
    assert "url(http" not in drawn
    assert "Handbook" in drawn
    assert len(drawn) < 60_000
    (PICTURES / "top.svg").write_text(drawn, encoding="utf-8")


@pytest.mark.slow
def test_five_hundred_nodes_are_drawn_while_they_change(
    busy: Server, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    show(browser, busy, "dark", 1280)
    times = browser.driver.execute_async_script(
        """const done = arguments[0];
        Promise.all([import('./ui/state.js'), import('./ui/tree.js')]).then(([s, t]) => {
          const rows = [[1e6, 0, 0, 500, 500, 1, '', 1, 0, 'system', 'a', 'aaaa']];
          for (let i = 1; i < 500; i++) rows.push([1e6 + i, 1e6 + Math.floor((i - 1) / 6),
            500 * i, 40 + i, i % 40, 1, 't' + i % 9, i % 7 ? 0 : 1, i % 3, '', 'text ' + i, 'b']);
          const times = [];
          for (let turn = 0; turn < 40; turn++) {
            for (const row of rows) { row[3] += row[0] % 5 === turn % 5 ? 3 : 0; row[4] += 1; }
            const began = performance.now();
            s.takeTree({nodes: rows, held: 1, total: 500, others: 0}, true);
            t.drawTree(); t.drawLegend(); t.drawHint();
            document.body.offsetWidth;
            times.push(performance.now() - began);
          }
          done([times, document.querySelectorAll('#ice [role=treeitem]').length]);
        });"""
    )
    milliseconds, num_boxes = times
    milliseconds.sort()
    with capsys.disabled():
        print(f"\n500 nodes: p50 {milliseconds[20]:.1f} ms, p95 {milliseconds[38]:.1f} ms a frame")
    assert 15 <= num_boxes <= 100, "rows are a budget"


def test_the_scripts_have_right_types() -> None:
    if not TSC.exists() or shutil.which("node") is None:
        pytest.skip("typescript is not installed (npm ci --prefix tests/browser/js)")
    found = subprocess.run(
        [TSC, "-p", ROOT / "tests/browser/tsconfig.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout
