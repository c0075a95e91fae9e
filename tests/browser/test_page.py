"""The page `/ui` in Chromium: tree, playground, requests, faults of the engine, and other sites."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.browser import Browser
from tests.server.real_server import Server

pytestmark = pytest.mark.integration

START = Callable[..., Server]
ADMIN = {"Authorization": "Bearer root"}
PREFIX = list(range(20, 100))


def complete(server: Server, prompt: Any, **fields: Any) -> Any:
    body = {"prompt": prompt, "max_tokens": 2, "temperature": 0, **fields}
    answer = server.post("/v1/completions", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def open_page(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}/ui")
    browser.until(lambda: browser.text("#st") == "Ready", "the page is connected")


def check_console(browser: Browser, server: Server) -> None:
    assert browser.errors() == []
    assert browser.foreign_files(server.url) == []


def test_the_tree_has_what_prompts_share_and_loses_what_is_evicted(
    start: START, browser: Browser
) -> None:
    server = start(YAIE_ADMIN_KEY="root")
    server.wait_ready()
    open_page(browser, server)
    assert "Nothing is cached yet" in browser.text("#blank")
    for last in (101, 102):
        complete(server, PREFIX + [last] * 40)
    boxes = browser.until(
        lambda: len(found := browser.boxes()) == 3 and found, "one node with two children"
    )
    assert [box["level"] for box in boxes] == [1, 2, 2]
    assert "80 tokens · 2 uses" in boxes[0]["text"]
    complete(server, PREFIX + [103] * 90)
    browser.until(lambda: len(browser.boxes()) == 4, "a third branch appears by itself")
    assert browser.text("#hit").endswith("%")
    assert server.post("/v1/cache/flush", {}, headers=ADMIN).status_code == 200
    browser.until(lambda: not browser.boxes(), "evicted nodes are gone")
    assert "Nothing is cached yet" in browser.text("#blank")
    check_console(browser, server)


def test_a_node_is_zoomed_and_found_with_the_keyboard(server: Server, browser: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    for last in ("one", "two", "six"):
        complete(server, "The plan of the tree: " * 8 + last * 20)
    open_page(browser, server)
    browser.until(lambda: len(browser.boxes()) >= 4, "the tree")

    def press(*keys: str) -> None:
        for key in keys:
            ActionChains(browser.driver).send_keys(key).perform()

    def focused() -> str:
        text = str(
            browser.run(
                "const box = document.activeElement; return box.ariaLabel || box.textContent"
            )
        )
        return text.partition(" used ")[0]  # the age changes

    browser.run(
        "[...document.querySelectorAll('#ice [role=treeitem]')]"
        ".find(box => (box.ariaLabel || box.textContent).startsWith('The plan')).focus()"
    )
    first = focused()
    press(Keys.ARROW_RIGHT)
    child = focused()
    assert child != first
    press(Keys.ARROW_DOWN)
    assert focused() not in (first, child)
    press(Keys.ARROW_LEFT)
    assert focused() == first
    assert browser.run("return document.querySelectorAll('#ice [tabindex=\"0\"]').length") == 1
    press(Keys.ENTER)
    assert "Esc goes back" in browser.text("#path")
    press(Keys.ESCAPE)
    assert "Esc goes back" not in browser.text("#path")
    press("/")
    press(*"sixsix")
    browser.until(lambda: "1 found" in browser.text("#path"), "one node has the text")
    dim = [box for box in browser.boxes() if "dim" in box["kind"].split()]
    assert len(dim) == len(browser.boxes()) - 1
    check_console(browser, server)


def test_the_same_question_twice_shows_its_prompt_cached(server: Server, browser: Browser) -> None:
    open_page(browser, server)
    browser.type("#c-max_tokens", "4")
    browser.chat("Is this prompt cached, or is it computed now? " * 4)

    def counts() -> list[int]:
        found = browser.run(
            "return [...document.querySelectorAll('#log .strip')].pop().getAttribute('aria-label')"
        )
        words = str(found).split()
        return [int(words[0].replace(",", "")), int(words[2].replace(",", ""))]

    cached, computed = counts()
    assert computed > 40
    browser.run(
        "[...document.querySelectorAll('#log button')].find(b => b.textContent === 'Edit'"
        " && b.closest('.msg')).click()"
    )
    browser.chat("Is this prompt cached, or is it computed now? " * 4)
    total = cached + computed
    assert counts() == [total - 1, 1], "only the last token is computed"
    share = browser.run(
        "const parts = [...document.querySelectorAll('#log .strip')].pop().children;"
        "return parts[0].className + ' ' + parts[0].offsetWidth / parts[0].parentNode.offsetWidth"
    ).split()
    assert share[0] == "k"
    assert float(share[1]) > 0.9
    assert "2 of 2" in browser.text("#log"), "the edited question is a branch"
    check_console(browser, server)


def test_eight_variants_are_eight_branches(server: Server, browser: Browser) -> None:
    open_page(browser, server)
    browser.type("#c-max_tokens", "12")
    browser.chat("Say something that differs each time.", variants=True)
    assert "1 of 8" in browser.text("#log")
    browser.click("[aria-label='Next branch']")
    assert "2 of 8" in browser.text("#log")
    # The prompts of the page are what it copies.
    browser.run("navigator.clipboard.writeText = text => { window.copied = text; }")
    browser.click("[data-copy=curl]")
    copied = browser.run("return window.copied")
    assert f"curl {server.url}/v1/chat/completions" in copied
    assert "Say something" in copied
    browser.click("[data-copy=python]")
    compile(browser.run("return window.copied"), "copied", "exec")
    check_console(browser, server)


def test_a_forecast_is_what_the_prompt_then_costs(server: Server, browser: Browser) -> None:
    open_page(browser, server)
    browser.type("#c-max_tokens", "4")
    browser.chat("A first question of this test, at some length.")
    browser.type("#say", "And a second one")
    said = browser.until(
        lambda: re.search(r"(\d+) cached, (\d+) to compute", browser.text("#pred")), "a forecast"
    )
    cached, computed = said.groups()
    browser.click("#send")
    browser.until(
        lambda: browser.run("return document.querySelectorAll('#log .strip').length") == 2,
        "the second prompt's strip",
    )
    label = browser.run(
        "return [...document.querySelectorAll('#log .strip')].pop().getAttribute('aria-label')"
    )
    assert label == f"{cached} cached, {computed} computed"
    browser.until(lambda: browser.text("#send") == "Send", "the answer has ended")


def test_running_requests_are_listed_and_ended(start: START, browser: Browser) -> None:
    server = start(YAIE_ADMIN_KEY="root", YAIE_AUDIT="false")
    server.wait_ready()
    open_page(browser, server)
    reasons: list[str] = []

    def ask_until_it_is_ended() -> None:
        """Ask again where a fast machine ends the answer first."""
        while len(reasons) < 200 and "abort" not in reasons:
            answer = complete(server, PREFIX, max_tokens=1900, ignore_eos=True, user="ada")
            reasons.append(answer["choices"][0]["finish_reason"])

    thread = threading.Thread(target=ask_until_it_is_ended)
    thread.start()
    row = browser.until(lambda: browser.text("#rq tbody tr"), "the request is listed")
    assert "ada" in row
    assert "of 80" in row
    assert not browser.run("return document.querySelectorAll('#rq button').length")
    browser.click("#keyb")
    browser.type("#admin", "root")
    browser.click("#keys [type=submit]")

    def press() -> bool:
        """Press the button, if the request of now has one; an earlier one may have ended."""
        script = "const button = document.querySelector('#rq .abort'); if (button) button.click()"
        browser.run(script)
        return "abort" in reasons

    browser.until(press, "the admin key brings a button that ends a request")
    thread.join()
    assert reasons[-1] == "abort"
    browser.until(lambda: "No request" in browser.text("#rq"), "the row is gone")


def test_a_miss_is_explained_afterwards(server: Server, browser: Browser) -> None:
    days = [f"Today is day {day}. " + "The handbook says many things. " * 20 for day in "37"]
    for day in days:
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": day},
        ]
        body = {"messages": messages, "max_tokens": 2}
        assert server.post("/v1/chat/completions", body).status_code == 200
    open_page(browser, server)
    browser.until(lambda: browser.run("return document.querySelector('#pick').length") > 2, "calls")
    browser.run("const pick = document.querySelector('#pick'); pick.selectedIndex = 1")
    browser.run("document.querySelector('#pick').dispatchEvent(new Event('change'))")
    lead = browser.until(lambda: browser.text("#ex .lead"), "a verdict")
    assert "parts from the cache at token" in lead
    marks = browser.run("return [...document.querySelectorAll('#ex mark')].map(m => m.textContent)")
    assert [mark[:1] for mark in marks] == ["7", "3"]
    assert "after the part that stays" in browser.text("#ex")
    assert "In message 2 (user)." in browser.text("#ex")
    browser.click("#mask")
    assert "Text is hidden" in browser.text("#ex")
    browser.click("#mask")
    check_console(browser, server)


def test_the_death_of_the_engine_is_said(start: START, browser: Browser) -> None:
    server = start()
    server.wait_ready()
    complete(server, PREFIX + [101] * 40)
    open_page(browser, server)
    browser.until(browser.boxes, "the tree")
    browser.run(
        "window.seen = []; new MutationObserver(() => window.seen.push("
        "document.querySelector('#banner').textContent + '|' + document.body.className))"
        ".observe(document.body, {childList: true, subtree: true, attributes: true})"
    )
    os.kill(server.engine_pid(), signal.SIGKILL)
    browser.until(
        lambda: browser.run("return window.seen.some(each => each.includes('engine stopped'))"),
        "the banner",
    )
    assert browser.run("return window.seen.some(each => /stopped.*[|].*down/.test(each))")
    browser.until(lambda: browser.text("#st") == "Ready", "the engine is back")
    browser.until(lambda: not browser.text("#banner"), "the banner is gone")
    browser.until(lambda: not browser.boxes(), "its cache was lost")
    server.stop()
    browser.until(lambda: "next try" in browser.text("#st"), "the lost server is said")


def test_an_answer_tells_its_drafted_tokens(start: START, browser: Browser) -> None:
    server = start(YAIE_SPECULATE="8")
    server.wait_ready()
    open_page(browser, server)
    browser.type("#c-max_tokens", "12")
    for _ in range(2):  # the tree holds the second answer
        browser.click("#new")
        browser.chat("What is a draft?")
    assert re.search(r"\d+ of \d+ tokens drafted", browser.text("#log"))
    check_console(browser, server)


def test_hostile_text_stays_text(start: START, browser: Browser) -> None:
    attack = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
    server = start(YAIE_SERVED_MODEL_NAME=attack)
    server.wait_ready()
    tools = [{"type": "function", "function": {"name": "f", "description": attack}}]
    for text in (attack * 3, f"</script>{attack}", "javascript:window.hacked=1", f"**{attack}**"):
        messages = [{"role": "user", "content": text}]
        body = {"messages": messages, "max_tokens": 2, "user": attack, "tools": tools}
        assert server.post("/v1/chat/completions", body).status_code == 200
    open_page(browser, server)
    browser.until(lambda: len(browser.boxes()) > 3, "the tree")
    assert "<img" in browser.text("#ice")
    assert browser.text("#model") == attack
    browser.type("#c-max_tokens", "4")
    browser.chat(f"{attack} **{attack}** `{attack}` [x](javascript:window.hacked=1)")
    assert "<img" in browser.text("#log")
    browser.run("[...document.querySelectorAll('.fact button')][0]?.click()")
    for mode in ("use", "ten"):
        browser.click(f"#mode [value={mode}]")
    assert attack in browser.text("#leg") or "everyone" in browser.text("#leg")
    browser.type("#find", attack)
    browser.type("#find", "")
    strange = browser.run(
        'return document.querySelectorAll(\'img, iframe, object, a[href^="javascript"],'
        " body script').length"
    )
    assert strange == 0
    assert browser.run("return window.hacked") is None
    check_console(browser, server)
