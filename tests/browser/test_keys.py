"""Keys on the page: one is asked for and kept for the tab; others' prompts stay hidden."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.browser import Browser
from tests.server.real_server import Server

pytestmark = pytest.mark.integration


def enter(browser: Browser, key: str, admin: str = "") -> None:
    browser.run("document.querySelector('#keys').hidden = false")
    browser.type("#key", key)
    browser.type("#admin", admin)
    browser.click("#keys [type=submit]")


def test_each_key_sees_its_own_part_and_the_admin_all(
    start: Callable[..., Server], browser: Browser
) -> None:
    server = start(YAIE_API_KEY="ada-key,bob-key", YAIE_ADMIN_KEY="root")
    server.wait_until(lambda: server.get("/health").status_code == 200, "ready")
    for key, text in (("ada-key", "adas secret plan "), ("bob-key", "bobs secret plan ")):
        headers = {"Authorization": f"Bearer {key}"}
        for last in ("x", "y"):
            body = {"prompt": text * 6 + last * 30, "max_tokens": 2}
            assert server.post("/v1/completions", body, headers=headers).status_code == 200
    browser.open(f"{server.url}/ui")
    browser.until(
        lambda: "nokey" in browser.run("return document.body.className"), "a key is asked"
    )
    assert browser.boxes() == []
    enter(browser, "wrong")
    browser.until(lambda: "wrong" in browser.text("#keynote"), "a wrong key is refused")
    enter(browser, "ada-key")
    browser.until(lambda: len(browser.boxes()) >= 3, "the tree of this key")
    page = browser.run("return document.documentElement.outerHTML")
    assert "adas secret" in page
    assert "bobs" not in page
    assert "others: " in browser.text("#path")
    assert browser.run("return document.querySelector('#pick').length") == 4, "two calls"
    assert "ada-key" not in browser.run("return JSON.stringify(localStorage)")
    browser.type("#c-max_tokens", "4")
    browser.chat("Does the chat use the key?")
    assert "to first token" in browser.text("#log")
    browser.driver.refresh()
    browser.until(lambda: len(browser.boxes()) >= 3, "the tab remembers the key")
    enter(browser, "ada-key", "root")
    browser.until(lambda: "bobs secret" in browser.text("#ice"), "the admin sees everyone")
    browser.click("#mode [value=ten]")
    assert browser.run("return document.querySelectorAll('#leg .sw').length") == 4
    enter(browser, "", "root")
    browser.until(lambda: "bobs secret" in browser.text("#ice"), "the admin key alone suffices")
